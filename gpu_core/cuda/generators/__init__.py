"""Graphs that grow in the memory of a GPU: twins of `gpu_core/generators/`."""
