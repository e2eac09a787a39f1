"""Host twins of centralities."""
