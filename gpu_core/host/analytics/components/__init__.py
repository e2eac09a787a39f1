"""Numba implementations of components, communities and core numbers."""
