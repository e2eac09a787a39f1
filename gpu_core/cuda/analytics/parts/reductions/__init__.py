"""One number, or a few, out of a value for every vertex."""
