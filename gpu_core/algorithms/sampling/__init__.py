"""Random walks and samples of neighbors."""
