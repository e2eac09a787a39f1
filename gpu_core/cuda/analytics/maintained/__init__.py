"""CUDA implementations of results that are maintained from batch to batch."""
