"""Rows that a batch changes: planned, merged and written, by lists of launches."""
