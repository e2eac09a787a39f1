"""Updates and PageRank of the aimGraph thesis, kept only to compare with (``graphtide study``)."""
