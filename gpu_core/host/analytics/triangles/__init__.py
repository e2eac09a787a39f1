"""Numba implementations of triangles, clustering and common neighbors."""
