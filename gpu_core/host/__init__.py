"""The host engine: the arena image in host memory, with Numba kernels."""
