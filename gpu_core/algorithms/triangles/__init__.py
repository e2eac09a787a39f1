"""Triangles, clustering coefficients and common neighbors."""
