"""``graphtide study``: what the papers measured, measured here, with their figures beside ours."""
