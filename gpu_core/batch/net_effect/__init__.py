"""What rows come to: the last row of each edge, rows that deletes override, weights of repeats."""
