"""The CUDA engine. Rooms, files and functions are named as in ``host/``."""
