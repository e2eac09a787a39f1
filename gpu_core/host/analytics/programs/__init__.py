"""Host twins of Edge-Vertex programs that users write."""
