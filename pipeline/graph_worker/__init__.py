"""The worker that holds the graph: its actor, and what reaches it and leaves it."""
