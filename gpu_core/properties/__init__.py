"""Properties of the user's own: columns of edges and of vertices, in a table beside the graph."""
