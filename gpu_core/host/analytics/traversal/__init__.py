"""Host twins of traversals."""
