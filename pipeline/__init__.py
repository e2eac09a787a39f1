"""The Dask pipeline: cluster, actor, tasks, schedule, recovery. Prints nothing."""
