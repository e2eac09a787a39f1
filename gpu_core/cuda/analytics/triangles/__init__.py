"""CUDA twins of triangles, clustering and common neighbors."""
