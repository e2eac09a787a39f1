"""A cluster that Dask's own commands have started: its processes are none of this one's workers."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from distributed import Client

from waiting import PATIENCE


@contextmanager
def cluster_of_others(
    folder: Path, workers: Mapping[str, str | None], *, nannies: bool = True
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start a scheduler and workers; its address, and its process.

    Parameters
    ----------
    folder
        Where they work.
    workers
        Resources of each worker by its name, such as ``CPU=1``; None: it has none.
    nannies
        Whether somebody starts workers again.
    """
    processes: list[subprocess.Popen[str]] = []
    try:
        scheduler = _start(folder, "scheduler", "--host", "127.0.0.1", "--port", "0")
        processes.append(scheduler)
        assert scheduler.stderr is not None
        address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line)
        for name, resources in workers.items():
            options = [address, "--nthreads", "1", "--name", name]
            options += ["--resources", resources] if resources else []
            options += [] if nannies else ["--no-nanny"]
            processes.append(_start(folder, "worker", *options, is_silent=True))
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(len(workers), timeout=PATIENCE)
        yield address, scheduler
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.communicate(timeout=PATIENCE)


def _start(
    folder: Path, role: str, *options: str, is_silent: bool = False
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", f"distributed.cli.dask_{role}", "--no-dashboard", *options],
        cwd=folder, text=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL if is_silent else subprocess.PIPE,
    )  # fmt: skip
