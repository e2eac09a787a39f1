"""CUDA twins of centralities."""
