"""The state directory: what a run keeps, and what the next one goes on from."""
