"""The client of one generation of the graph: its start, its tasks, and what answers mean."""
