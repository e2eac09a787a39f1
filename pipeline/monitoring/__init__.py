"""What those see who watch a run: progress, limits, metrics, the page on Dask's dashboard."""
