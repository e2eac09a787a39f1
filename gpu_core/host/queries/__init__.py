"""What is read of a graph in host memory: queries, rows, CSR copies, epochs, checks."""
