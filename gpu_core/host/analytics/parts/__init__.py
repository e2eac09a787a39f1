"""Building blocks that several host algorithms share."""
