"""Graphs of other libraries and of other files, in and out."""
