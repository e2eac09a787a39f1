"""Algorithms, timed as users call them: beside other packages, after a batch, as own programs."""
