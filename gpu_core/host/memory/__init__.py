"""The image in host memory: arena, relocation, dictionary, restore, verification."""
