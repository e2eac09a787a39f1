"""Entry points of users: the command line and its flows. The only layer that prints."""
