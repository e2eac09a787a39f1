"""Text files of a log, CSV and JSON lines, plain or packed."""
