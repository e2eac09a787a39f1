"""Rows as an update plans and writes them, one at a time."""
