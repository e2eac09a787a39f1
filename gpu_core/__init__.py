"""The graph in memory: arena, layouts, engines, updates, queries, algorithms. Plain values in."""
