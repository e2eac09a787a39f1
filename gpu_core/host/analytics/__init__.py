"""Numba implementations of the algorithms."""
