"""Apply a batch, or a checkpoint, to the image in host memory."""
