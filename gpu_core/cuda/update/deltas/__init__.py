"""Deltas: a batch's entries per direction, grouped by row, in order."""
