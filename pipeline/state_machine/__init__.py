"""The decisions of a run, without Dask, files or clocks: events in, instructions out."""
