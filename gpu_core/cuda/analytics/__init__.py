"""CUDA implementations of the algorithms."""
