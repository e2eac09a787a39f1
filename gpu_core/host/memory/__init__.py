"""The image in host memory: arena, relocation, dictionary, capacities of rows."""
