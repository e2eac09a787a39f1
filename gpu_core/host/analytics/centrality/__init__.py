"""Numba implementations of centralities."""
