"""The update log: its files found, put in order, and read as rows that a graph can take."""
