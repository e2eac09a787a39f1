"""CUDA implementations of traversals."""
