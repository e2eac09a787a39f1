"""CUDA implementation of the programs and operators that users write."""
