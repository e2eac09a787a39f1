"""Vertices that most entries name: which they are, and their values in shared memory."""
