"""Rows of a log in the order of a column."""
