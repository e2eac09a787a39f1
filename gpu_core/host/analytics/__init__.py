"""Inner loops of the algorithms on the host."""
