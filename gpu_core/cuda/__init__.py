"""The CUDA engine: twins of the functions of ``host/``, same file and function names."""
