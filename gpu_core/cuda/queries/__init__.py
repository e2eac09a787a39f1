"""What is read of a graph in device memory: queries, rows, CSR copies, epochs."""
