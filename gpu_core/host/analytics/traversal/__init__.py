"""Numba implementations of traversals."""
