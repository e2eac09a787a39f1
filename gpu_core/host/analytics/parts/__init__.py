"""What several algorithms are made of on the host."""
