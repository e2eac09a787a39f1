"""Updates and PageRank of the thesis on aimGraph, for comparison: no graph of a user is kept so."""
