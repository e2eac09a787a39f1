"""The image in device memory: arena, free runs, relocation, dictionary, scratch."""
