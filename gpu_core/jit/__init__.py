"""What every Numba kernel shares: compilation and its cache, threads, prefetches."""
