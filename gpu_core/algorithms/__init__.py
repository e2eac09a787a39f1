"""Algorithms over a dynamic graph, written once for every layout and engine."""
