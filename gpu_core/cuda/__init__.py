"""The CUDA engine. Folders, files and functions are named as in ``host/``."""
