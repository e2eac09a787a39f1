"""Apply a batch to the image in device memory."""
