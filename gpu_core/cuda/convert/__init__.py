"""Raw rows of edges to batches on the device, and batches on their way there."""
