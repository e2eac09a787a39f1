"""Workers of this machine come back, whatever becomes of their start."""

import os
import signal
from collections.abc import Iterator

import dask
import pytest
from distributed import SpecCluster

from graphtide.config.settings import load_settings
from graphtide.pipeline.workers import lost_workers
from graphtide.pipeline.workers.cluster_start import fork_server
from graphtide.pipeline.workers.local_cluster import local_cluster
from waiting import wait_until


@pytest.fixture(scope="module")
def local() -> Iterator[SpecCluster]:
    """A cluster of a user who wants Dask to give up workers that are away for a moment."""
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1ms"}),
        local_cluster(load_settings({"workers": 1, "dashboard": False})) as (cluster, _),
    ):
        yield cluster


def addresses(cluster: SpecCluster) -> dict[str, str]:
    """Name -> address of each worker that the scheduler has."""
    workers = cluster.scheduler_info["workers"]
    return {str(worker["name"]): address for address, worker in workers.items()}


def has_others(cluster: SpecCluster, before: dict[str, str]) -> bool:
    """Whether each of these workers is there again."""
    now = addresses(cluster)
    return now.keys() == before.keys() and not {*now.values()} & {*before.values()}


def test_a_nanny_is_not_closed_while_it_starts_its_worker_again(local: SpecCluster) -> None:
    before, nanny = addresses(local), local.workers["cpu-0"]
    os.kill(nanny.pid, signal.SIGKILL)
    wait_until(lambda: addresses(local).get("cpu-0", before["cpu-0"]) != before["cpu-0"])
    assert local.workers["cpu-0"] is nanny


def test_workers_whose_start_fails_are_started_again(
    local: SpecCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they are forked from dies, and so does the next one, which they wait for."""
    monkeypatch.setattr(lost_workers, "LOST_SECONDS", 0.2)
    before, server = addresses(local), fork_server()
    assert server is not None
    os.kill(server, signal.SIGKILL)
    wait_until(lambda: fork_server() not in (server, None))
    second = fork_server()
    assert second is not None
    os.kill(second, signal.SIGKILL)
    wait_until(lambda: has_others(local, before))
