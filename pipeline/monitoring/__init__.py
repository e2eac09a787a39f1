"""Monitoring of a run: progress, limits, metrics, the page on Dask's dashboard."""
