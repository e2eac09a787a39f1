"""A cluster of this machine closes, with all its workers: `pipeline/workers/own_cluster.py`."""

import asyncio
import gc
import os
import signal
import weakref
from dataclasses import replace

import psutil
import pytest
from distributed import Client, Nanny, SpecCluster
from distributed.core import Status
from distributed.nanny import WorkerProcess

from graphtide.config.settings import RunSettings, load_settings
from graphtide.gpu_core.errors import ClusterError
from graphtide.pipeline.workers import local_cluster as local_cluster_module
from graphtide.pipeline.workers import own_cluster
from graphtide.pipeline.workers.local_cluster import local_cluster
from waiting import wait_until

#: A cluster that waits for what never comes would exceed the time limit of a test.
LONG = 1000.0


@pytest.fixture
def settings() -> RunSettings:
    return load_settings({"workers": 1, "dashboard": False, "engine": "host"})


class Deafness:
    """Of Nannies, which then never hear that their workers have started; as Dask before 2026.8.

    There a worker's word was lost where the one before it had died while it was started.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_on = False
        #: How many starts it has met.
        self.met = 0
        self._hear = WorkerProcess._wait_until_connected

        async def hear(process: WorkerProcess, *words: object) -> object:
            return await self._hear_perhaps(process, *words)

        monkeypatch.setattr(WorkerProcess, "_wait_until_connected", hear)

    async def _hear_perhaps(self, process: WorkerProcess, *words: object) -> object:
        if not self.is_on:
            return await self._hear(process, *words)
        self.met += 1
        while process.status == Status.starting:
            await asyncio.sleep(0.01)
        return None


@pytest.fixture
def deafness(monkeypatch: pytest.MonkeyPatch) -> Deafness:
    monkeypatch.setattr(own_cluster, "CLOSE_SECONDS", LONG)
    return Deafness(monkeypatch)


def address_of(cluster: SpecCluster, name: str) -> str | None:
    """Where the scheduler has a worker."""
    workers = cluster.scheduler_info["workers"].items()
    return next((address for address, worker in workers if worker["name"] == name), None)


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_worker_that_its_nanny_takes_for_starting_ends_with_its_cluster(
    settings: RunSettings, deafness: Deafness
) -> None:
    with local_cluster(settings) as (cluster, _):
        before, nanny = address_of(cluster, "cpu-0"), cluster.workers["cpu-0"]
        deafness.is_on = True
        os.kill(nanny.pid, signal.SIGKILL)
        wait_until(lambda: address_of(cluster, "cpu-0") not in (before, None))
        pid = nanny.pid
        assert nanny.process.status == Status.starting
    assert not is_running(pid)
    assert cluster.status == Status.closed


def test_a_start_that_fails_beside_such_a_worker_is_tried_again(
    settings: RunSettings, deafness: Deafness, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Nanny] = []
    lost: list[int] = []

    class FailsAtFirst(Nanny):
        def __init__(self, *words: object, **options: object) -> None:
            super().__init__(*words, **options)
            made.append(self)

        async def start_unsafe(self) -> Nanny:
            if len(lost) or self.name != "cpu-0":
                return await super().start_unsafe()
            graph = next(each for each in made if each.name == "graph-0")
            while graph.status != Status.running:
                await asyncio.sleep(0.01)
            deafness.is_on = True
            os.kill(graph.pid, signal.SIGKILL)
            while not deafness.met:
                await asyncio.sleep(0.01)
            deafness.is_on = False
            lost.append(graph.pid)
            raise RuntimeError

    monkeypatch.setattr(local_cluster_module, "Nanny", FailsAtFirst)
    with local_cluster(settings) as (cluster, _):
        assert not is_running(lost[0])
        assert {*cluster.workers} == {"graph-0", "cpu-0"}
        assert address_of(cluster, "cpu-0") is not None


@pytest.mark.parametrize("how", ["breaks off", "waits for ever"])
def test_a_close_that_is_given_up_leaves_no_worker_and_hides_no_error(
    settings: RunSettings, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(own_cluster, "CLOSE_SECONDS", LONG if how == "breaks off" else 0.2)
    pids: list[int] = []

    async def close(*_: object, **__: object) -> None:
        assert how != "breaks off"
        await asyncio.Event().wait()

    def fail() -> None:
        with local_cluster(settings) as (cluster, _):
            pids.extend(each.pid for each in cluster.workers.values())
            monkeypatch.setattr(cluster.workers["cpu-0"], "close", close)
            msg = "what the run failed with"
            raise ClusterError(msg)

    with pytest.raises(ClusterError, match="what the run failed with"):
        fail()
    assert len(pids) == 2
    assert not any(map(is_running, pids))


def test_a_process_keeps_nothing_of_a_cluster_that_has_ended(settings: RunSettings) -> None:
    """A run on a schedule (``--every``) starts one each time, in one process for weeks."""

    def ended_cluster() -> list[weakref.ref[object]]:
        with local_cluster(replace(settings, dashboard=True)) as (cluster, _):
            with Client(cluster.address_here(), set_as_default=False) as client:
                client.submit(os.getpid).result()
            return [weakref.ref(each) for each in (cluster.scheduler, *cluster.workers.values())]

    def is_gone() -> bool:
        gc.collect()
        return all(each() is None for each in ended)

    ended = ended_cluster()
    wait_until(is_gone, seconds=20)
