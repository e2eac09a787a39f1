"""CUDA twins of traversals."""
