"""CUDA implementations of components, communities and core numbers."""
