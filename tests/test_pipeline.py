"""Runs on a real local cluster: whole, interrupted, refused, and on clusters of others."""

import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from distributed import Client, KilledWorker, LocalCluster, Nanny

from commands import ctrl_c_is_heard
from graphtide.config.settings import RunSettings, load_settings
from graphtide.gpu_core.batch import UpdateBatch
from graphtide.gpu_core.errors import (
    ArenaFullError,
    BatchError,
    ClusterError,
    ConvergenceError,
    SettingsError,
    StateError,
    UpdateLogError,
)
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.io.checkpoint import newest_checkpoint
from graphtide.io.results import read_reports
from graphtide.io.state import StateDirectory
from graphtide.io.update_log import write_log_file
from graphtide.pipeline import cluster as cluster_module
from graphtide.pipeline import ingest, monitoring, recovery
from graphtide.pipeline.actor import Arrays, Copy, GraphActor, GraphStoppedError
from graphtide.pipeline.cluster import choose_roles, open_cluster
from graphtide.pipeline.ingest import Progress, RunSummary, run
from graphtide.pipeline.recovery import GraphLostError, explain, start_generation
from graphtide.pipeline.run_files import RunFiles
from graphtide.pipeline.shared_arrays import ArraysAddress, open_arrays
from graphtide.pipeline.tasks import GraphGoneError
from memory_files import memory_files
from waiting import wait_until
from worker_jobs import a_second, hold_actors, wait_for_ever, workers_connected_to
from workers import worker_pids

ROWS = 1_000
FILES = 3
BATCH_ROWS = 50
BATCHES = FILES * ROWS // BATCH_ROWS

#: Both ways of the hand-over.
WAYS = pytest.mark.parametrize("handover", ["dask", "ring"])

#: Few enough edges that repeats and deletes of what is there are common.
VERTICES = 60


def rows_of(seed: int, rows: int = ROWS) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {
        "op": random.choice(np.array([1, 1, 1, -1], np.int8), rows),
        "src": random.integers(0, VERTICES, rows),
        "dst": random.integers(0, VERTICES, rows),
    }


def write_file(log: Path, number: int, columns: dict[str, Any] | None = None) -> None:
    log.mkdir(exist_ok=True)
    table = pa.table(rows_of(number) if columns is None else columns)
    write_log_file(str(log / f"{number:04d}.parquet"), table)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    for number in range(FILES):
        write_file(tmp_path / "log", number)
    return tmp_path / "log"


def expected_hash(files: int = FILES, **arguments: Any) -> str:
    """The graph of the log, by the library alone, in one batch."""
    graph = DynamicGraph(**arguments)
    columns = [rows_of(number) for number in range(files)]
    op, src, dst = (np.concatenate([each[name] for each in columns]) for name in columns[0])
    graph.apply(UpdateBatch.from_rows(op, src, dst, **arguments))
    return graph.state_hash()


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """A local cluster for all tests that do not care whose it is."""
    with open_cluster(load_settings({"workers": 1, "dashboard": False})) as cluster:
        yield cluster.client.scheduler.address


@pytest.fixture
def settings(scheduler: str) -> Callable[..., RunSettings]:
    def make(**overrides: Any) -> RunSettings:
        wanted = {"scheduler": scheduler, "batch_rows": BATCH_ROWS, **overrides}
        return load_settings({name: value for name, value in wanted.items() if value is not None})

    return make


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(autouse=True)
def _no_memory_file_remains() -> Iterator[None]:
    """Whatever the end of a run: its ring is gone, also from workers that live on."""
    yield
    wait_until(lambda: not memory_files())


# -- whole runs


@WAYS
def test_a_run_gives_the_graph_of_the_log(
    log: Path, tmp_path: Path, settings: Callable[..., RunSettings], handover: str
) -> None:
    progress: list[Progress] = []
    made = settings(analytics_every=25, checkpoint_every=20, handover=handover)
    summary = run(str(log), str(tmp_path / "state"), made, progress.append)

    assert summary.state_hash == expected_hash()
    assert (summary.batches_applied, summary.watermark) == (BATCHES, BATCHES - 1)
    assert summary.rows == FILES * ROWS
    assert [report.batch_id for report in summary.reports] == list(range(BATCHES))
    assert all(
        set(report.seconds) == {"read", "convert", "transfer", "apply"}
        for report in summary.reports
    )
    assert summary.readers == ["cpu-0"] * BATCHES
    last = summary.reports[-1]
    assert (summary.num_vertices, summary.num_edges) == (last.num_vertices, last.num_edges)
    assert {path.name for path in summary.results} == {"pagerank.parquet", "clustering.parquet"}

    state = StateDirectory(tmp_path / "state")
    assert state.result_ids() == [24, 49, 59]
    assert state.checkpoint_ids() == [39, 59]
    assert [report.batch_id for report in read_reports(state)] == list(range(BATCHES))
    done = [each.batches_done for each in progress]
    assert done == sorted(done)
    assert done[-1] == BATCHES
    checkpoint = newest_checkpoint(state)
    assert checkpoint is not None
    assert checkpoint.manifest["handover"] == {handover: 20}
    assert {each.stage for each in progress} >= {"start", "apply", "analytics", "checkpoint"}


@pytest.mark.parametrize("ids", ["any", "dense"])
def test_a_client_that_cannot_open_the_copy_is_sent_it(
    log: Path,
    tmp_path: Path,
    settings: Callable[..., RunSettings],
    monkeypatch: pytest.MonkeyPatch,
    ids: str,
) -> None:
    asked: list[ArraysAddress] = []

    def elsewhere(address: ArraysAddress) -> Arrays:
        asked.append(address)
        return open_arrays(replace(address, pid=2**22 + 1))

    monkeypatch.setattr(ingest, "open_arrays", elsewhere)
    summary = run(str(log), str(tmp_path / "state"), settings(ids=ids, checkpoint_every=40))
    assert len(asked) == 2
    assert summary.state_hash == expected_hash()


def test_convert_gpu_asks_for_no_gpu(
    log: Path, tmp_path: Path, settings: Callable[..., RunSettings]
) -> None:
    summary = run(str(log), str(tmp_path / "state"), settings(convert="gpu", analytics=[]))
    assert summary.state_hash == expected_hash()


def test_a_second_run_has_nothing_to_do_and_a_third_applies_what_is_new(
    log: Path, tmp_path: Path, settings: Callable[..., RunSettings]
) -> None:
    state = str(tmp_path / "state")
    first = run(str(log), state, settings())
    before = files_below(tmp_path / "state")
    second = run(str(log), state, settings())
    assert second.nothing_to_do
    assert (second.batches_applied, second.rows) == (0, 0)
    assert (second.state_hash, second.results) == (first.state_hash, first.results)
    assert files_below(tmp_path / "state") == before, "a run with nothing to do wrote something"

    write_file(log, FILES)
    third = run(str(log), state, settings())
    assert not third.nothing_to_do
    assert [report.batch_id for report in third.reports] == list(range(BATCHES, 80))
    assert third.state_hash == expected_hash(FILES + 1)


def test_a_log_that_moved_goes_on_and_another_one_is_refused(
    log: Path, tmp_path: Path, settings: Callable[..., RunSettings]
) -> None:
    state = str(tmp_path / "state")
    run(str(log), state, settings())
    copy = tmp_path / "copy"
    shutil.copytree(log, copy)
    write_file(copy, FILES)
    moved = run(str(copy), state, settings())
    assert [report.batch_id for report in moved.reports] == list(range(BATCHES, 80))
    assert moved.state_hash == expected_hash(FILES + 1)
    assert any("has moved" in note for note in moved.notes)
    assert run(str(copy), state, settings()).nothing_to_do
    with pytest.raises(StateError, match=r"made with log: .*copy.*asks for log: .*log"):
        run(str(log), state, settings())


@pytest.mark.parametrize(
    "overrides",
    [{"directed": False}, {"ids": "dense", "layout": "chain"}, {"batch_rows": 333, "window": 1}],
    ids=["undirected", "dense-chain", "window-of-one"],
)
def test_the_graph_does_not_depend_on_how_it_is_cut_and_kept(
    log: Path,
    tmp_path: Path,
    settings: Callable[..., RunSettings],
    overrides: dict[str, Any],
) -> None:
    summary = run(str(log), str(tmp_path / "state"), settings(**overrides))
    assert summary.state_hash == expected_hash(directed=overrides.get("directed", True))


def test_results_asked_for_later_are_computed_from_the_checkpoint(
    log: Path, tmp_path: Path, settings: Callable[..., RunSettings]
) -> None:
    state = str(tmp_path / "state")
    first = run(str(log), state, settings(analytics=[]))
    assert first.results == []
    second = run(str(log), state, settings())
    assert not second.nothing_to_do
    assert second.batches_applied == 0
    assert len(second.results) == 2
    assert run(str(log), state, settings()).nothing_to_do


def test_an_empty_log_file_plans_nothing(
    tmp_path: Path, settings: Callable[..., RunSettings]
) -> None:
    nothing = {"src": np.empty(0, np.int64), "dst": np.empty(0, np.int64)}
    write_file(tmp_path / "log", 0, nothing)
    summary = run(str(tmp_path / "log"), str(tmp_path / "state"), settings())
    assert summary.nothing_to_do
    assert (summary.watermark, summary.checkpoint) == (-1, None)


def test_a_graph_is_made_for_the_rows_to_come(
    log: Path, tmp_path: Path, settings: Callable[..., RunSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = []
    start = ingest.start_generation

    def noting(*arguments: Any, **keywords: Any) -> Any:
        expected.append(arguments[3]["expected_edges"])
        return start(*arguments, **keywords)

    monkeypatch.setattr(ingest, "start_generation", noting)
    first = run(str(log), str(tmp_path / "state"), settings())
    write_file(log, FILES)
    run(str(log), str(tmp_path / "state"), settings())
    assert 0 < first.num_edges < FILES * ROWS
    assert expected == [FILES * ROWS, first.num_edges + ROWS]


def test_the_graph_worker_is_connected_to_cpu_workers_that_are_ready_before_the_first_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recovery, "warm_conversion", a_second)
    with open_cluster(load_settings({"workers": 2, "dashboard": False})) as cluster:
        begin = time.monotonic()
        roles = start_generation(cluster, 0, "met", {}, {}, 0, None, 8, 60).roles
        assert time.monotonic() - begin > 1
        graph = roles.graph_address
        connected = cluster.client.run(workers_connected_to, workers=[graph])[graph]
    assert connected >= set(roles.cpu_addresses)


def test_a_cpu_worker_that_dies_while_it_gets_ready_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recovery, "warm_conversion", wait_for_ever)
    with open_cluster(load_settings({"workers": 1, "dashboard": False})) as cluster:
        pid = worker_pids(cluster.client.scheduler.address)["cpu-0"]
        threading.Timer(1, os.kill, (pid, signal.SIGKILL)).start()
        begin = time.monotonic()
        start_generation(cluster, 0, "alone", {}, {}, 0, None, 8, 60)
        assert time.monotonic() - begin < 20


# -- what cannot be applied


def newest_hash(state: Path) -> tuple[int, str]:
    checkpoint = newest_checkpoint(StateDirectory(state))
    assert checkpoint is not None
    return checkpoint.batch_id, checkpoint.manifest["state_hash"]


def test_a_row_that_cannot_be_read_ends_the_run_with_all_before_it_kept(
    log: Path, tmp_path: Path, settings: Callable[..., RunSettings]
) -> None:
    columns: dict[str, Any] = rows_of(1)
    columns["src"] = pa.array(columns["src"], mask=np.arange(ROWS) == 777)
    write_file(log, 1, columns)
    with pytest.raises(UpdateLogError, match=r"0001\.parquet.*row 777"):
        run(str(log), str(tmp_path / "state"), settings())
    graph = DynamicGraph()
    for number, end in ((0, ROWS), (1, 750)):
        op, src, dst = (values[:end] for values in rows_of(number).values())
        graph.apply(UpdateBatch.from_rows(op, src, dst))
    assert newest_hash(tmp_path / "state") == (ROWS // BATCH_ROWS + 14, graph.state_hash())


def test_a_file_that_was_mended_before_any_of_it_was_applied_is_planned_anew(
    log: Path, tmp_path: Path, settings: Callable[..., RunSettings]
) -> None:
    columns: dict[str, Any] = rows_of(2)
    columns["src"] = pa.array(columns["src"], mask=np.arange(ROWS) == 7)
    write_file(log, 2, columns)
    with pytest.raises(UpdateLogError, match=r"0002\.parquet.*row 7"):
        run(str(log), str(tmp_path / "state"), settings())
    write_file(log, 2)
    summary = run(str(log), str(tmp_path / "state"), settings())
    assert summary.reports[0].batch_id == 2 * ROWS // BATCH_ROWS
    assert summary.state_hash == expected_hash()
    write_file(log, 1, rows_of(77))
    with pytest.raises(UpdateLogError, match=r"0001\.parquet has changed since it was planned"):
        run(str(log), str(tmp_path / "state"), settings())


def test_a_batch_that_the_graph_refuses_ends_the_run_with_all_before_it_kept(
    log: Path, tmp_path: Path, settings: Callable[..., RunSettings]
) -> None:
    vertices: dict[str, Any] = {
        "src": np.arange(VERTICES),
        "dst": pa.nulls(VERTICES, pa.int64()),
    }
    write_file(log, 0, vertices)
    columns = rows_of(1)
    columns["op"][:] = 1
    columns["dst"][777] = 4_711
    columns["src"][777] = 1
    write_file(log, 1, columns)
    state = tmp_path / "state"
    with pytest.raises(BatchError, match="4711"):
        run(str(log), str(state), settings(create_vertices=False))
    kept = newest_hash(state)
    assert kept[0] == 2 + 15 - 1, "the batch before the refused one was not kept"
    with pytest.raises(BatchError, match="4711"):
        run(str(log), str(state), settings(create_vertices=False))
    assert newest_hash(state) == kept


def test_an_arena_that_is_too_small_ends_the_run(
    log: Path, tmp_path: Path, settings: Callable[..., RunSettings]
) -> None:
    columns = {"src": np.arange(200_000), "dst": np.arange(200_000) + 1}
    write_file(log, 1, columns)
    wanted = settings(batch_rows=200_000, arena_bytes="1MiB", max_arena_bytes="1MiB")
    with pytest.raises(ArenaFullError):
        run(str(log), str(tmp_path / "state"), wanted)
    assert newest_hash(tmp_path / "state") == (0, expected_hash(1))


def test_a_worker_that_dies_before_it_has_started_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    dying = {"cls": Nanny, "options": {"nthreads": 1, "preload": ["import os; os._exit(1)"]}}
    monkeypatch.setattr(cluster_module, "_cpu_worker", lambda _number: dying)
    wanted = load_settings({"workers": 1, "dashboard": False})
    with pytest.raises(ClusterError, match="did not start"), open_cluster(wanted):
        pass


def test_a_graph_is_let_go_whoever_still_refers_to_its_actor(log: Path, tmp_path: Path) -> None:
    with open_cluster(load_settings({"workers": 1, "dashboard": False})) as cluster:
        cluster.client.run(hold_actors)
        address = cluster.client.scheduler.address
        wanted = load_settings({"scheduler": address, "batch_rows": BATCH_ROWS})
        summary = run(str(log), str(tmp_path / "state"), wanted)
        assert summary.state_hash == expected_hash()
        wait_until(lambda: not memory_files())


def test_results_that_do_not_converge_end_the_run_and_are_due_again(
    log: Path, tmp_path: Path, settings: Callable[..., RunSettings]
) -> None:
    state = str(tmp_path / "state")
    with pytest.raises(ConvergenceError):
        run(str(log), state, settings(pagerank={"max_iter": 1}))
    summary = run(str(log), state, settings())
    assert len(summary.results) == 2
    assert summary.state_hash == expected_hash()


def test_a_log_or_state_that_cannot_be_used_leaves_nothing_behind(
    log: Path, tmp_path: Path, settings: Callable[..., RunSettings]
) -> None:
    state = tmp_path / "state"
    with pytest.raises(UpdateLogError, match="none"):
        run(str(tmp_path / "none"), str(state), settings())
    assert not state.exists()
    run(str(log), str(state), settings())
    before = files_below(state)
    with pytest.raises(StateError, match="directed"):
        run(str(log), str(state), settings(directed=False))
    with pytest.raises(SettingsError):
        settings(batch_rows=-1)
    assert files_below(state) == before


# -- deaths


@WAYS
@pytest.mark.parametrize("victim", ["graph-0", "cpu-0"])
def test_a_worker_that_is_killed_changes_nothing(
    log: Path,
    tmp_path: Path,
    settings: Callable[..., RunSettings],
    scheduler: str,
    victim: str,
    handover: str,
) -> None:
    pids = worker_pids(scheduler)
    stages: list[str] = []

    def kill_once(progress: Progress) -> None:
        stages.append(progress.stage)
        if progress.batches_done >= BATCHES // 2 and victim in pids:
            os.kill(pids.pop(victim), signal.SIGKILL)

    state = tmp_path / "state"
    wanted = settings(checkpoint_every=20, analytics_every=15, handover=handover)
    summary = run(str(log), str(state), wanted, kill_once)
    assert victim not in pids, "nobody was killed"
    assert ("recover" in stages) == (victim == "graph-0")
    assert summary.state_hash == expected_hash()
    assert [report.batch_id for report in summary.reports] == list(range(BATCHES))
    assert [report.batch_id for report in read_reports(StateDirectory(state))] == list(
        range(BATCHES)
    )

    undisturbed = tmp_path / "undisturbed"
    run(str(log), str(undisturbed), wanted)
    assert files_below(state / "results") == files_below(undisturbed / "results")


RUN_IN_A_PROCESS = """
import sys
import time
from graphtide.config.settings import load_settings
from graphtide.io.state import StateDirectory
from graphtide.pipeline.ingest import run

def main():
    log, state, scheduler, handover = sys.argv[1:]
    settings = {"batch_rows": 50, "checkpoint_every": 10, "analytics_every": 15, "workers": 1}
    settings["handover"] = handover
    if scheduler:
        del settings["workers"]
        settings["scheduler"] = scheduler

    def tell(progress):
        if progress.batches_done < 30:
            return
        while not StateDirectory(state).checkpoint_ids():
            time.sleep(0.01)  # another thread writes it
        print("half", flush=True)
        sys.stdin.readline()  # wait here for the end

    run(log, state, load_settings({**settings, "dashboard": False}), tell)

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def half_a_run(tmp_path: Path, log: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a run in a process and a group of its own; it waits when half of it is done.

    By then at least one checkpoint is on disk, and not the last one.
    """
    program = tmp_path / "half.py"
    program.write_text(RUN_IN_A_PROCESS)
    started: list[subprocess.Popen[str]] = []

    def start(scheduler: str, handover: str = "auto") -> subprocess.Popen[str]:
        with ctrl_c_is_heard():
            process = subprocess.Popen(
                [sys.executable, str(program), log, tmp_path / "state", scheduler, handover],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def children_of(group: int) -> list[str]:
    """Processes of a process group that have not ended."""
    there = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[2]) == group and fields[0] != "Z":
                there.append(folder.name)
    return there


def finish(log: Path, tmp_path: Path, settings: Callable[..., RunSettings]) -> RunSummary:
    """Go on after half a run, and compare with a run that nothing happened to."""
    wanted = settings(checkpoint_every=10, analytics_every=15)
    summary = run(str(log), str(tmp_path / "state"), wanted)
    whole = run(str(log), str(tmp_path / "whole"), wanted)
    assert summary.state_hash == whole.state_hash == expected_hash()
    ours, theirs = (files_below(tmp_path / name / "results") for name in ("state", "whole"))
    assert ours == theirs, "results differ after a restart"
    assert len(read_reports(StateDirectory(tmp_path / "state"))) == BATCHES
    return summary


@WAYS
def test_a_killed_run_goes_on_from_its_newest_checkpoint(
    log: Path,
    tmp_path: Path,
    settings: Callable[..., RunSettings],
    half_a_run: Callable[..., subprocess.Popen[str]],
    handover: str,
) -> None:
    process = half_a_run("", handover)
    assert bool(memory_files()) == (handover == "ring")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not children_of(process.pid))
    summary = finish(log, tmp_path, settings)
    assert 0 < summary.batches_applied < BATCHES


def test_ctrl_c_closes_the_cluster_quietly_and_keeps_the_state(
    log: Path,
    tmp_path: Path,
    settings: Callable[..., RunSettings],
    half_a_run: Callable[..., subprocess.Popen[str]],
) -> None:
    process = half_a_run("")
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert errors.count("Traceback") == 1, errors
    assert errors.rstrip().endswith("KeyboardInterrupt")
    wait_until(lambda: not children_of(process.pid))
    summary = finish(log, tmp_path, settings)
    assert 0 < summary.batches_applied < BATCHES


def test_a_state_in_use_is_refused(
    log: Path,
    tmp_path: Path,
    settings: Callable[..., RunSettings],
    scheduler: str,
    half_a_run: Callable[..., subprocess.Popen[str]],
) -> None:
    half_a_run(scheduler)
    with pytest.raises(StateError, match="in use"):
        run(str(log), str(tmp_path / "state"), settings())


def test_a_write_in_progress_is_finished_when_the_run_is_interrupted(
    log: Path,
    tmp_path: Path,
    settings: Callable[..., RunSettings],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, never = threading.Event(), threading.Event()
    write = RunFiles.write_checkpoint

    def slow_write(files: RunFiles, batch_id: int, copy: Copy, arrays: Arrays) -> None:
        begun.set()
        never.wait(0.5)  # longer than it takes to leave the run
        write(files, batch_id, copy, arrays)

    def interrupt(_progress: Progress) -> None:
        if begun.is_set():
            raise KeyboardInterrupt

    monkeypatch.setattr(RunFiles, "write_checkpoint", slow_write)
    with pytest.raises(KeyboardInterrupt):
        run(str(log), str(tmp_path / "state"), settings(checkpoint_every=10), interrupt)
    assert StateDirectory(tmp_path / "state").checkpoint_ids() == [9]


def test_errors_of_tasks_say_whether_the_graph_is_lost() -> None:
    assert isinstance(explain(GraphGoneError("no graph"), "load"), GraphLostError)
    last = SimpleNamespace(address="tcp://127.0.0.1:1")
    assert isinstance(explain(KilledWorker("apply", last, 3), "load"), GraphLostError)
    assert isinstance(explain(KilledWorker("load", last, 3), "load"), ClusterError)
    error = UpdateLogError("row 3")
    assert explain(error, "load") is error


# -- clusters of others


def test_a_cluster_without_resources(log: Path, tmp_path: Path) -> None:
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0
    ) as cluster:
        overrides = {"scheduler": cluster.scheduler_address, "batch_rows": BATCH_ROWS}
        wanted = load_settings({**overrides, "graph_worker": "1"})
        summary = run(str(log), str(tmp_path / "state"), wanted)
    assert summary.state_hash == expected_hash()


def test_the_numbers_of_the_graph_are_among_the_metrics_of_its_worker(
    log: Path, tmp_path: Path, settings: Callable[..., RunSettings], scheduler: str
) -> None:
    with Client(scheduler, set_as_default=False) as client:

        def metrics() -> list[dict[str, int] | None]:
            workers = client.scheduler_info(n_workers=-1)["workers"].values()
            return [worker["metrics"].get("graph") for worker in workers]

        def wait_for_the_last_batch(progress: Progress) -> None:
            if progress.batches_done == BATCHES:
                wait_until(lambda: any(each and each["batches"] == BATCHES for each in metrics()))
                assert {} in metrics(), "a worker without a graph has numbers of one"

        run(str(log), str(tmp_path / "state"), settings(), wait_for_the_last_batch)
        wait_until(lambda: metrics() == [None, None])


def test_no_scheduler_at_the_address(log: Path, tmp_path: Path) -> None:
    wanted = load_settings({"scheduler": "tcp://127.0.0.1:9", "start_timeout": "1s"})
    with pytest.raises(ClusterError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        run(str(log), str(tmp_path / "state"), wanted)


def test_a_worker_with_another_version_is_refused(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphtide.pipeline.cluster.version", lambda _name: "999.0")
    with (
        pytest.raises(ClusterError, match=r"has graphtide .*, this process has 999\.0"),
        open_cluster(load_settings({"scheduler": scheduler})),
    ):
        pass


def worker(name: object, threads: int = 1, **resources: float) -> dict[str, Any]:
    return {"name": name, "nthreads": threads, "resources": resources}


def test_roles_follow_the_resources_that_workers_declare() -> None:
    workers = {"a:1": worker("c0", CPU=1), "a:2": worker("g", GPU=1), "a:3": worker("c1", CPU=1)}
    roles = choose_roles(workers, None)
    assert (roles.graph_name, roles.graph_address, roles.cpu_workers) == ("g", "a:2", 2)
    assert roles.cpu_pin == {"resources": {"CPU": 1}}


def test_roles_without_resources_are_pinned_by_name() -> None:
    workers = {"a:1": worker(0), "a:2": worker(1), "a:3": worker(2)}
    roles = choose_roles(workers, "1")
    assert roles.graph_pin == {"workers": [1]}
    assert roles.cpu_pin == {"workers": [0, 2]}
    assert choose_roles(workers, None).graph_name == "0"


def test_loads_are_as_many_as_the_workers_take_at_once() -> None:
    """A worker of four threads reads four batches, unless it declares that it has room for less."""
    graph = worker("g", 9)
    assert (
        choose_roles({"a:1": worker("c0", 4), "a:2": graph, "a:3": worker("c1")}, "g").cpu_tasks
        == 5
    )
    declared = {"a:1": worker("c0", 4, CPU=2), "a:2": graph, "a:3": worker("c1", 1, CPU=8)}
    assert choose_roles(declared, "g").cpu_tasks == 3


@pytest.mark.parametrize(
    ("workers", "name", "message"),
    [
        ({}, None, r"no worker of the cluster can hold the graph \(there are: none\)"),
        ({"a:1": worker("c", CPU=1)}, None, r"can hold the graph \(there are: c\)"),
        ({"a:1": worker("w")}, "v", r"no worker of the cluster is called v \(there are: w\)"),
        ({"a:1": worker("g", GPU=1)}, None, "only worker g holds the graph, and none is left"),
        ({"a:1": worker("w")}, "w", "only worker w holds the graph, and none is left"),
    ],
    ids=["none", "cpu-only", "no-such-name", "gpu-only", "one"],
)
def test_a_cluster_that_is_too_small_is_refused(
    workers: dict[str, Any], name: str | None, message: str
) -> None:
    with pytest.raises(ClusterError, match=message):
        choose_roles(workers, name)


# -- the actor, without Dask


def one_edge(batch_id: int, src: int = 1) -> UpdateBatch:
    return UpdateBatch.from_rows(None, np.array([src]), np.array([batch_id + 100]))


def test_the_actor_applies_batches_in_order_whatever_the_order_they_come_in() -> None:
    actor = GraphActor({}, 5, None)
    assert actor.apply(7, one_edge(7), {}).boundary == 5
    assert actor.apply(6, one_edge(6), {}).boundary == 5
    assert actor.apply(7, one_edge(70), {}).boundary == 5, "a second copy of a batch that waits"
    assert actor.apply(5, one_edge(5), {}).boundary == 8
    assert actor.apply(6, one_edge(60), {}).boundary == 8, "a batch that is applied already"
    copy = actor.copy(8)
    assert [report.batch_id for report in copy.reports] == [5, 6, 7]
    graph = DynamicGraph()
    graph.insert_edges([1, 1, 1], [105, 106, 107])
    assert copy.state_hash == graph.state_hash()
    assert actor.copy(8).reports == []
    actor.apply(8, one_edge(8), {})
    assert monitoring.numbers() == {"batches": 9, "early": 0, "vertices": 5, "edges": 4}


def test_the_actor_shares_a_copy_until_the_next_batch_is_applied() -> None:
    actor = GraphActor({}, 0, None)
    actor.apply(0, one_edge(0), {})
    address = actor.copy(1, share=True).arrays
    assert isinstance(address, ArraysAddress)
    opened, sent = open_arrays(address), actor.copied_arrays(1)
    assert opened["vertex_ids"].tolist() == sent["vertex_ids"].tolist() == [1, 100]
    actor.apply(2, one_edge(2), {})
    open_arrays(address)
    actor.apply(1, one_edge(1), {})
    with pytest.raises(FileNotFoundError):
        open_arrays(address)
    assert opened["vertex_ids"].tolist() == [1, 100], "who has opened it has lost it"


def test_the_actor_keeps_its_graph_after_a_refused_batch() -> None:
    actor = GraphActor({"create_vertices": False}, 0, None)
    vertex = UpdateBatch.from_rows(
        None, np.array([1]), np.array([0]), dst_valid=np.array([False]), create_vertices=False
    )
    bad = UpdateBatch.from_rows(None, np.array([1]), np.array([2]), create_vertices=False)
    actor.apply(2, vertex, {})
    actor.apply(1, bad, {})
    notice = actor.apply(0, vertex, {})
    assert (notice.boundary, notice.failed_batch, notice.is_broken) == (1, 1, False)
    assert isinstance(notice.error, BatchError)
    assert actor.apply(1, vertex, {}) == notice, "a batch was applied after one that failed"
    assert actor.copy(1).num_vertices == 1


def test_a_worker_logs_in_a_sentence_why_its_graph_has_stopped() -> None:
    actor = GraphActor({"ids": "dense"}, 0, None)
    notice = actor.apply(0, UpdateBatch.from_rows(None, np.array([1]), np.array([-1])), {})
    error = pickle.loads(pickle.dumps(GraphStoppedError(notice)))
    assert error.notice == notice
    assert str(error) == f"batch 0 cannot be applied: {notice.error}"
    assert "id -1 cannot be a vertex index" in repr(error)
    assert "Notice" not in repr(error), "the notice, whose error is pickled, is logged"


def test_the_actor_does_not_trust_a_graph_after_an_unknown_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(_graph: DynamicGraph, _batch: UpdateBatch) -> None:
        raise ZeroDivisionError

    actor = GraphActor({}, 0, None)
    monkeypatch.setattr(DynamicGraph, "apply", broken)
    assert actor.apply(0, one_edge(0), {}).is_broken
