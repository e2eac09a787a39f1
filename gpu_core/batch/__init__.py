"""What goes in: checked rows, their net effect (`UpdateBatch`), its forms on the way to a GPU."""
