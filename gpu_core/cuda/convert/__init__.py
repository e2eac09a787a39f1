"""Conversion of raw edge rows to batches on the device, and the upload of batches."""
