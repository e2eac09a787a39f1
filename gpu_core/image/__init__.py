"""The arena image, one truth for every engine: fields, regions, sizes, free runs, accounts."""
