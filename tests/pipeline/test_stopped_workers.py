"""Workers that are stopped rather than dead: noticed soon, and busy ones are left in peace."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dask_processes import cluster_of_others
from graphtide import ClusterError
from graphtide.config.settings import load_settings
from graphtide.pipeline.ingest import run
from graphtide.pipeline.monitoring.progress import Progress
from graphtide.pipeline.run_summary import RunSummary
from graphtide.pipeline.workers import cluster as clusters
from graphtide.pipeline.workers import stopped_workers
from graphtide.pipeline.workers.cluster import open_cluster
from graphtide.pipeline.workers.stopped_workers import (
    SeenFor,
    is_stopped,
)
from made_state import apply_log
from small_log import BATCH_ROWS, BATCHES, WAYS, expected_hash, write_file
from waiting import PATIENCE, wait_until
from worker_jobs import compile_for, hold_the_interpreter
from workers import worker_pids

pytestmark = pytest.mark.usefixtures("no_memory_file_remains")


def stops(pid: int) -> tuple[list[float], Callable[[Progress], None]]:
    """When it was stopped, and a function for progress that does so once, at half of the run."""
    when: list[float] = []

    def stop_once(progress: Progress) -> None:
        if progress.batches_done >= BATCHES // 2 and not when:
            os.kill(pid, signal.SIGSTOP)
            when.append(time.monotonic())

    return when, stop_once


def has_ended(pid: int) -> bool:
    try:
        return " Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


@pytest.fixture(scope="module")
def local() -> Iterator[str]:
    """A cluster of this process, which watches the processes of its workers."""
    with open_cluster(load_settings({"workers": 2, "dashboard": False})) as cluster:
        yield cluster.client.scheduler.address


@WAYS
@pytest.mark.parametrize("victim", ["graph-0", "cpu-0"])
def test_a_stopped_worker_of_this_machine_is_replaced(
    local: str,
    log: Path,
    tmp_path: Path,
    victim: str,
    handover: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sooner than for users; what then becomes of the run is the same."""
    monkeypatch.setattr(stopped_workers, "STOPPED_SECONDS", 1.0)
    # The run, to which the cluster is one of others, would end the worker as well, a little later.
    monkeypatch.setattr(stopped_workers, "SILENT_SECONDS", 1000.0)
    summary = run_with_a_stop(local, log, tmp_path, victim, handover)
    assert summary.state_hash == expected_hash()


def run_with_a_stop(
    address: str, log: Path, tmp_path: Path, victim: str, handover: str = "auto"
) -> RunSummary:
    """Run on a cluster of which a worker is stopped half-way; it is gone.

    Where it is not noticed, Dask gives it up after five minutes.
    """
    pid = worker_pids(address)[victim]
    when, stop_once = stops(pid)
    overrides = {"checkpoint_every": 20, "handover": handover, "batch_rows": BATCH_ROWS}
    wanted = load_settings({**overrides, "scheduler": address, "start_timeout": "400s"})
    summary = run(str(log), str(tmp_path / "state"), wanted, stop_once)
    assert time.monotonic() - when[0] < PATIENCE
    wait_until(lambda: has_ended(pid))
    return summary


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster that Dask's own commands have started."""
    workers = {"graph": "GPU=1", "cpu-0": "CPU=1", "cpu-1": "CPU=1"}
    with cluster_of_others(tmp_path_factory.mktemp("others"), workers) as (address, _):
        yield address


@pytest.mark.parametrize("victim", ["graph", "cpu-0"])
def test_a_stopped_worker_of_a_cluster_of_others_is_restarted(
    others: str,
    log: Path,
    tmp_path: Path,
    victim: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sooner than for users; heartbeats come every 2 s."""
    monkeypatch.setattr(stopped_workers, "SILENT_SECONDS", 8.0)
    monkeypatch.setattr(stopped_workers, "_SILENT_INTERVALS", 4)
    summary = run_with_a_stop(others, log, tmp_path, victim)
    assert summary.state_hash == expected_hash()


def test_a_worker_that_stops_while_a_checkpoint_is_on_its_way_is_given_up(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody ends it, so that what is sent to it never fails."""
    monkeypatch.setattr(stopped_workers, "SILENT_SECONDS", 5.0)
    monkeypatch.setattr(stopped_workers, "_SILENT_INTERVALS", 2)
    state = tmp_path / "state"
    apply_log(log, state, 20, batch_rows=BATCH_ROWS)
    write_file(log, 9)
    with cluster_of_others(tmp_path, {"graph": "GPU=1", "0": "CPU=1"}, nannies=False) as (at, _):
        pid, stages = worker_pids(at)["graph"], list[str]()

        def stop_as_the_graph_starts(progress: Progress) -> None:
            stages.append(progress.stage)
            if stages == ["start", "start"]:
                os.kill(pid, signal.SIGSTOP)

        wanted = {"scheduler": at, "batch_rows": BATCH_ROWS, "start_timeout": "1s"}
        with pytest.raises(ClusterError, match="no worker of the cluster can hold the graph"):
            run(str(log), str(state), load_settings(wanted), stop_as_the_graph_starts)
        assert stages[1] == "start"
        os.kill(pid, signal.SIGKILL)


def test_busy_workers_are_left_in_peace(local: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One computes in Python all the time, one compiles, for longer than they may be silent."""
    monkeypatch.setattr(stopped_workers, "STOPPED_SECONDS", 1.0)
    monkeypatch.setattr(stopped_workers, "SILENT_SECONDS", 6.0)
    monkeypatch.setattr(stopped_workers, "_SILENT_INTERVALS", 1)
    pids = worker_pids(local)
    with open_cluster(load_settings({"scheduler": local})) as cluster:
        jobs = (hold_the_interpreter, compile_for, hold_the_interpreter)
        tasks = [
            cluster.client.submit(job, 9.0, workers=[name], pure=False)
            for name, job in zip(pids, jobs, strict=True)
        ]
        cluster.client.gather(tasks)
    assert worker_pids(local) == pids


def test_users_wait_as_long_as_the_documentation_says() -> None:
    """The tests above wait for less."""
    watch = stopped_workers
    assert watch.STOPPED_SECONDS == 10
    intervals = watch._SILENT_INTERVALS * watch.heartbeat_seconds(3)
    assert max(watch.SILENT_SECONDS, intervals) == 12
    # Until the sentence, where the graph's worker of others is stopped and none takes its place.
    for_successors = clusters._OF_OTHERS_AGAIN * load_settings({}).start_timeout_seconds
    assert 12 + watch._ASK_SECONDS + for_successors <= 30


def test_time_counts_only_while_somebody_looks() -> None:
    seen: SeenFor[int] = SeenFor()
    assert seen.look([7], 100.0) == {7: 0.0}
    assert seen.look([7, 8], 101.0) == {7: 1.0, 8: 0.0}
    # This process was stopped itself.
    assert seen.look([7, 8], 900.0) == {7: 3.0, 8: 2.0}
    assert seen.look([8], 900.5) == {8: 2.5}
    assert seen.look([7, 8], 901.0) == {7: 0.0, 8: 3.0}


def test_a_stopped_process_is_told_from_others() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with process:
        assert not is_stopped(process.pid)
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: is_stopped(process.pid))
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: not is_stopped(process.pid))
        process.kill()
    assert not is_stopped(process.pid)
