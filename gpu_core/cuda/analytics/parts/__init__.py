"""Building blocks that several CUDA algorithms share."""
