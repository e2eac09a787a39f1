"""Headers that kernels of any folder include."""
