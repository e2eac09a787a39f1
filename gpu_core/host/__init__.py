"""The host engine: the arena image in host memory, worked on by Numba kernels."""
