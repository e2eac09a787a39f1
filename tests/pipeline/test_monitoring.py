"""Numbers of the graph among the metrics of workers, where there is nobody to tell."""

import asyncio
import gc
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

from dask_processes import cluster_of_others
from graphtide.pipeline.monitoring import worker_metrics
from graphtide.pipeline.monitoring.worker_metrics import graph_metrics
from waiting import wait_until
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


def test_what_a_scheduler_cannot_answer_in_time_is_no_error_that_it_prints(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It tries to reach a dead worker for longer than a run waits for that."""
    monkeypatch.setattr(worker_metrics, "_REGISTER_SECONDS", 0.05)
    tries = 0

    async def broadcast(**_: object) -> None:
        nonlocal tries
        await asyncio.sleep(0.3)
        tries += 1
        msg = "timed out"
        raise OSError(msg)

    with (
        LocalCluster(1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        monkeypatch.setattr(cluster.scheduler, "broadcast", broadcast)
        with graph_metrics(client):
            wait_until(lambda: tries == 1)
            client.scheduler_info()
            gc.collect()
        wait_until(lambda: tries == 2)
    gc.collect()
    assert not [record for record in caplog.records if record.name == "asyncio"]
