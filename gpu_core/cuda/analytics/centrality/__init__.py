"""CUDA implementations of centralities."""
