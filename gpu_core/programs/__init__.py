"""Edge-Vertex programs: small functions of the user's, run over all edges of a graph."""
