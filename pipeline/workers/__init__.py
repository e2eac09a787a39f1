"""Clusters and their processes: how they start, what they import, how they end."""
