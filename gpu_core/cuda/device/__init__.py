"""One CUDA device: arrays, kernels and their compilation, launches, streams, sorting."""
