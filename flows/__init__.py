"""What a user starts: the command line and its flows. The only layer that prints."""
