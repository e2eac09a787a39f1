"""The columns of a log: which there are, of what types, and what their values become."""
