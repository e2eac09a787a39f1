"""The client of one generation of the graph: its tasks, and what their answers mean for the run."""
