"""What every Numba kernel shares: compilation, its cache and its folder, threads, prefetches."""
