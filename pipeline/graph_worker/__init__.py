"""The worker that holds the graph: its actor, what reaches it and leaves it, its generations."""
