"""Numba implementations of random walks and neighbor sampling."""
