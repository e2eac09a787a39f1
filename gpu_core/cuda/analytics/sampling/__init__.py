"""CUDA twins of random walks and samples."""
