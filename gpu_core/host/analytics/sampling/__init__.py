"""Host twins of random walks and samples."""
