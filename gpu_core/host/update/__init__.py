"""Apply a batch to the image in host memory."""
