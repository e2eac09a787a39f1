"""Default settings, their schema, and their typed view. Imports no other layer but gpu_core."""
