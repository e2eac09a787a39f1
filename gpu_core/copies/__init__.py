"""Copies of a graph at one moment, for users and for checkpoints; their hash; what differs."""
