"""Host twins of what a graph maintains from batch to batch."""
