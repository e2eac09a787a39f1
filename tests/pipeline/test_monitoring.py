"""Numbers of the graph among the metrics of workers, where there is nobody to tell."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from distributed import Client

from dask_processes import cluster_of_others
from graphtide.pipeline.monitoring import worker_metrics
from graphtide.pipeline.monitoring.worker_metrics import graph_metrics
from workers import worker_pids


def test_a_client_that_has_given_up_its_scheduler_ends_without_another_error(
    client: Client,
) -> None:
    """Of a scheduler that went away the run says so in a sentence; this must not take its place."""
    with graph_metrics(client):
        client.close()
        assert client.scheduler is None


@pytest.mark.parametrize("dies", [False, True])
def test_a_worker_that_is_stopped_or_dies_as_it_is_told_ends_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies: bool
) -> None:
    """Dask would wait for its answer without an end, and fail with it."""
    monkeypatch.setattr(worker_metrics, "_REGISTER_SECONDS", 100.0 if dies else 0.5)
    with (
        cluster_of_others(tmp_path, {"0": None}, nannies=False) as (address, _),
        Client(address, set_as_default=False) as client,
    ):
        pid = worker_pids(address)["0"]
        os.kill(pid, signal.SIGSTOP)
        if dies:
            threading.Timer(0.5, os.kill, (pid, signal.SIGKILL)).start()
        begin = time.monotonic()
        with graph_metrics(client):
            assert time.monotonic() - begin < 50
        if not dies:
            os.kill(pid, signal.SIGKILL)
