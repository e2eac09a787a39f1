"""aimGraph's own structure and kernels, beside ours: distributions of work, PageRank, triangles."""
