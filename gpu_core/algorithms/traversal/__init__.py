"""Distances from sources: in hops and by weight."""
