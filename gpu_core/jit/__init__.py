"""What Numba kernels share: compilation, its cache and folder, threads, prefetches, draws."""
