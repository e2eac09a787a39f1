"""A scheduler of others that goes away in the middle of a run."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import FIRST, replayed, write_log
from graphtide import ClusterError, DynamicGraph
from graphtide.config.settings import load_settings
from graphtide.io.checkpoint import newest_checkpoint
from graphtide.io.state import StateDirectory
from graphtide.pipeline import cluster as cluster_module
from graphtide.pipeline.ingest import run
from graphtide.pipeline.progress import Progress
from waiting import PATIENCE

BATCH_ROWS = 50


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
    for process in started:
        process.communicate(timeout=PATIENCE)


def cluster_of(processes: list[subprocess.Popen[str]], folder: Path) -> str:
    """Start a scheduler and two workers in processes of their own; returns the address."""
    dask = [sys.executable, "-P", "-m", "distributed.cli.dask_"]
    quiet = {"cwd": folder, "text": True, "stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    scheduler = subprocess.Popen([*dask[:-1], dask[-1] + "scheduler", *options], **quiet)
    processes.append(scheduler)
    assert scheduler.stderr is not None
    address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line)
    for number in range(2):
        options = [address, "--nthreads", "1", "--no-dashboard", "--name", str(number)]
        worker = [*dask[:-1], dask[-1] + "worker", *options]
        processes.append(subprocess.Popen(worker, **(quiet | {"stderr": subprocess.DEVNULL})))
    return address


def test_a_scheduler_that_goes_away_is_told_and_the_state_is_kept(
    processes: list[subprocess.Popen[str]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log, state = str(write_log(tmp_path / "log", FIRST)), str(tmp_path / "state")
    wanted = {"batch_rows": BATCH_ROWS, "analytics": [], "checkpoint_every": 2}
    address = cluster_of(processes, tmp_path)

    def kill_at_half(progress: Progress) -> None:
        if progress.batches_done >= progress.batches_total // 2:
            processes[0].kill()

    # The client looks for its scheduler for as long as it would wait for the first answer.
    connect = cluster_module._client
    monkeypatch.setattr(cluster_module, "_client", lambda target, _seconds: connect(target, 3))
    settings = load_settings({**wanted, "scheduler": address})
    with (
        caplog.at_level(logging.ERROR),
        pytest.raises(ClusterError, match=rf"scheduler at {address} went away.*run again"),
    ):
        run(log, state, settings, kill_at_half)
    assert not [record for record in caplog.records if record.name == "distributed.client"]
    kept = newest_checkpoint(StateDirectory(Path(state)))
    assert kept is not None
    summary = run(log, state, load_settings({**wanted, "workers": 1, "dashboard": False}))
    assert 0 < summary.batches_applied
    checkpoint = newest_checkpoint(StateDirectory(Path(state)))
    assert checkpoint is not None
    edges = DynamicGraph.from_checkpoint_arrays(checkpoint.arrays(), engine="host").edges()
    pairs = list(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
    assert pairs == replayed(list(FIRST.values()), directed=True)
