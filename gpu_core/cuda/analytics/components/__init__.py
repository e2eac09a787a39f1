"""CUDA twins of components, communities and cores."""
