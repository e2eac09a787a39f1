"""Graph generators that run on a GPU: twins of `gpu_core/generators/`."""
