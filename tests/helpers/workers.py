"""Workers of a cluster, by their names."""

import os

from distributed import Client


def worker_pids(scheduler: str) -> dict[str, int]:
    """Name -> number of the process of each worker of a scheduler."""
    with Client(scheduler, set_as_default=False) as client:
        pids = client.run(os.getpid)
        workers = client.scheduler_info(n_workers=-1)["workers"]
        return {str(workers[address]["name"]): pid for address, pid in pids.items()}
