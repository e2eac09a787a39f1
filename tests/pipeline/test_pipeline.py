"""Whole runs on a real local cluster."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from distributed import Future

import graphtide
from graphtide.config.settings import RunSettings, load_settings
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.errors import StateError
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.gpu_core.kind import FIRST_BATCH
from graphtide.io.log.log_listing import listing_of
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.log.plan import BatchPlan
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.state.checkpoint import newest_checkpoint
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.plan_files import write_plan
from graphtide.io.state.reports import read_reports
from graphtide.io.state.state_settings import StateSettings
from graphtide.pipeline import run_loop
from graphtide.pipeline.graph_client import client
from graphtide.pipeline.graph_client.in_flight import TasksInFlight
from graphtide.pipeline.graph_worker import batch_results
from graphtide.pipeline.graph_worker.pinned import Arrays
from graphtide.pipeline.graph_worker.shared_arrays import ArraysAddress, open_arrays
from graphtide.pipeline.ingest import run
from graphtide.pipeline.monitoring.progress import Progress
from graphtide.pipeline.workers.cluster import open_cluster
from memory_files import memory_files
from small_log import (
    BATCH_ROWS,
    BATCHES,
    FILES,
    ROWS,
    WAYS,
    expected_hash,
    files_below,
    rows_of,
    write_file,
)
from waiting import wait_until
from worker_jobs import hold_actors

pytestmark = pytest.mark.usefixtures("no_memory_file_remains")


@WAYS
def test_a_run_gives_the_graph_of_the_log(
    log: Path, tmp_path: Path, run_settings: Callable[..., RunSettings], handover: str
) -> None:
    progress: list[Progress] = []
    made = run_settings(analytics_every=25, checkpoint_every=20, handover=handover)
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
    assert len({id(name) for name in summary.readers}) == 1, "a text for each batch stays in memory"
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
    assert checkpoint.manifest["handover"] == {handover: BATCHES}
    assert {each.stage for each in progress} >= {"start", "apply", "analytics", "checkpoint"}


def test_checkpoints_that_fall_due_by_the_clock_come_beside_results_of_each_batch(
    log: Path,
    tmp_path: Path,
    run_settings: Callable[..., RunSettings],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The client of a busy machine releases its task long after the run has dropped it."""
    monkeypatch.setattr(Future, "__del__", lambda _: None)
    made = run_settings(
        batch_rows=ROWS // 4, analytics=["pagerank"], analytics_every=1, checkpoint_every="1ms",
        keep_checkpoints="all", window=1,
    )  # fmt: skip
    summary = run(str(log / "0000.parquet"), str(tmp_path / "state"), made)

    assert summary.state_hash == expected_hash(files=1)
    state = StateDirectory(tmp_path / "state")
    assert state.result_ids() == [0, 1, 2, 3]
    kept = state.checkpoint_ids()
    assert len(kept) > 1
    for batch_id in kept:
        then = graphtide.open(state.path, batch_id)
        assert then.graph.num_edges == summary.reports[batch_id].num_edges


@pytest.mark.parametrize("ids", ["any", "dense"])
def test_a_client_that_cannot_open_the_copy_is_sent_it(
    log: Path,
    tmp_path: Path,
    run_settings: Callable[..., RunSettings],
    monkeypatch: pytest.MonkeyPatch,
    ids: str,
) -> None:
    asked: list[ArraysAddress] = []

    def elsewhere(address: ArraysAddress) -> Arrays:
        asked.append(address)
        return open_arrays(replace(address, pid=2**22 + 1))

    monkeypatch.setattr(client, "open_arrays", elsewhere)
    summary = run(str(log), str(tmp_path / "state"), run_settings(ids=ids, checkpoint_every=40))
    assert len(asked) == 2
    assert summary.state_hash == expected_hash()


@pytest.mark.parametrize("way", ["opened", "sent", "dask"])
def test_columns_of_many_vertices_come_through_shared_memory_or_are_sent(
    tmp_path: Path,
    run_settings: Callable[..., RunSettings],
    monkeypatch: pytest.MonkeyPatch,
    way: str,
) -> None:
    """The client opens them, or cannot, or they are to come by Dask."""
    log, count = tmp_path / "log", 40_000
    ids = np.arange(count)
    for number in range(2):
        ends = {"src": ids, "dst": ids[::-1] * (1 - number)}
        write_file(log, number, {"op": np.ones(count, np.int8), **ends})
    asked: list[ArraysAddress] = []

    def opened(address: ArraysAddress) -> Arrays:
        asked.append(address)
        return open_arrays(replace(address, pid=2**22 + 1) if way == "sent" else address)

    forget, released = TasksInFlight.submit_and_forget, []

    def submitted(tasks: TasksInFlight, kind: str, *given: Any) -> None:
        released.append(kind)
        forget(tasks, kind, *given)

    monkeypatch.setattr(TasksInFlight, "submit_and_forget", submitted)
    monkeypatch.setattr(batch_results, "open_arrays", opened)
    # PageRank has 0.6 MB, clustering twice as much.
    made = run_settings(
        analytics=["pagerank", "clustering"], analytics_every=1, batch_rows=count, directed=False,
        handover="dask" if way == "dask" else "ring", result_floats="float32",
    )  # fmt: skip
    state = Path(run(str(log), str(tmp_path / "state"), made).folder)
    shared = 0 if way == "dask" else 2
    assert len(asked) == released.count("release_columns") == shared
    graph = graphtide.DynamicGraph(directed=False)
    for batch, dst in enumerate((ids[::-1], np.zeros(count, np.int64))):
        graph.insert_edges(ids, dst)
        found = graphtide.read_results(state, "clustering", batch).columns
        for name, expected in graph.clustering().columns.items():
            np.testing.assert_array_equal(found[name], expected.astype(found[name].dtype))
        assert len(graphtide.read_results(state, "pagerank", batch)) == count


def test_convert_gpu_asks_for_no_gpu(
    log: Path, tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    summary = run(str(log), str(tmp_path / "state"), run_settings(convert="gpu", analytics=[]))
    assert summary.state_hash == expected_hash()


def test_a_second_run_has_nothing_to_do_and_a_third_applies_what_is_new(
    log: Path, tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    state = str(tmp_path / "state")
    first = run(str(log), state, run_settings())
    before = files_below(tmp_path / "state")
    second = run(str(log), state, run_settings())
    assert second.nothing_to_do
    assert (second.batches_applied, second.rows) == (0, 0)
    assert (second.state_hash, second.results) == (first.state_hash, first.results)
    assert files_below(tmp_path / "state") == before, "a run with nothing to do wrote something"

    write_file(log, FILES)
    third = run(str(log), state, run_settings())
    assert not third.nothing_to_do
    assert [report.batch_id for report in third.reports] == list(range(BATCHES, 80))
    assert third.state_hash == expected_hash(FILES + 1)


def test_a_later_run_goes_on_with_the_pages_that_the_first_batch_decided_on(
    log: Path, tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    settings = run_settings(layout="chain", mean_degree=FIRST_BATCH, analytics=[])
    state = StateDirectory(tmp_path / "state")
    degrees = []
    for file in range(FILES, FILES + 2):
        summary = run(str(log), str(state.path), settings)
        assert summary.state_hash == expected_hash(file)
        checkpoint = newest_checkpoint(state)
        assert checkpoint is not None
        degrees.append(checkpoint.manifest["mean_degree"])
        write_file(log, file)
    first = {name: column[:BATCH_ROWS] for name, column in rows_of(0).items()}
    graph = DynamicGraph(layout="chain", mean_degree=FIRST_BATCH)
    graph.apply(UpdateBatch.from_rows(first["op"], first["src"], first["dst"]))
    assert degrees == [graph.kind.mean_degree] * 2


def test_a_log_that_moved_goes_on_and_another_one_is_refused(
    log: Path, tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    state = str(tmp_path / "state")
    run(str(log), state, run_settings())
    copy = tmp_path / "copy"
    shutil.copytree(log, copy)
    write_file(copy, FILES)
    moved = run(str(copy), state, run_settings())
    assert [report.batch_id for report in moved.reports] == list(range(BATCHES, 80))
    assert moved.state_hash == expected_hash(FILES + 1)
    assert any("has moved" in note for note in moved.notes)
    assert run(str(copy), state, run_settings()).nothing_to_do
    with pytest.raises(StateError, match=r"made with log: .*copy.*asks for log: .*log"):
        run(str(log), state, run_settings())


@pytest.mark.parametrize(
    "overrides",
    [{"directed": False}, {"ids": "dense", "layout": "chain"}, {"batch_rows": 333, "window": 1}],
    ids=["undirected", "dense-chain", "window-of-one"],
)
def test_the_graph_does_not_depend_on_how_it_is_cut_and_kept(
    log: Path,
    tmp_path: Path,
    run_settings: Callable[..., RunSettings],
    overrides: dict[str, Any],
) -> None:
    summary = run(str(log), str(tmp_path / "state"), run_settings(**overrides))
    assert summary.state_hash == expected_hash(directed=overrides.get("directed", True))


def test_results_asked_for_later_are_computed_from_the_checkpoint(
    log: Path, tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    state = str(tmp_path / "state")
    first = run(str(log), state, run_settings(analytics=[]))
    assert first.results == []
    second = run(str(log), state, run_settings())
    assert not second.nothing_to_do
    assert second.batches_applied == 0
    assert len(second.results) == 2
    assert run(str(log), state, run_settings()).nothing_to_do


def test_an_empty_log_file_plans_nothing(
    tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    nothing = {"src": np.empty(0, np.int64), "dst": np.empty(0, np.int64)}
    write_file(tmp_path / "log", 0, nothing)
    summary = run(str(tmp_path / "log"), str(tmp_path / "state"), run_settings())
    assert summary.nothing_to_do
    assert (summary.watermark, summary.checkpoint) == (-1, None)


def test_a_graph_is_made_for_the_rows_to_come(
    log: Path,
    tmp_path: Path,
    run_settings: Callable[..., RunSettings],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = []
    start = run_loop.start_generation

    def noting(*arguments: Any, **keywords: Any) -> Any:
        expected.append(arguments[3].arguments.graph_arguments["expected_edges"])
        return start(*arguments, **keywords)

    monkeypatch.setattr(run_loop, "start_generation", noting)
    first = run(str(log), str(tmp_path / "state"), run_settings())
    write_file(log, FILES)
    run(str(log), str(tmp_path / "state"), run_settings())
    assert 0 < first.num_edges < FILES * ROWS
    assert expected == [FILES * ROWS, first.num_edges + ROWS]


def test_a_graph_is_released_whoever_still_refers_to_its_actor(log: Path, tmp_path: Path) -> None:
    with open_cluster(load_settings({"workers": 1, "dashboard": False})) as cluster:
        cluster.client.run(hold_actors)
        address = cluster.address
        wanted = load_settings({"scheduler": address, "batch_rows": BATCH_ROWS})
        summary = run(str(log), str(tmp_path / "state"), wanted)
        assert summary.state_hash == expected_hash()
        wait_until(lambda: not memory_files())


def write_numbered_files(folder: Path) -> list[str]:
    """Twelve files of an edge each, but that number 10 deletes what number 2 inserts."""
    folder.mkdir()
    names = [f"part.{number}.parquet" for number in range(12)]
    for number, name in enumerate(names):
        edges = {2: (1, 8), 10: (-1, 8), 11: (1, 9)}
        op, dst = edges.get(number, (1, 100 + number))
        write_log_file(str(folder / name), pa.table({"op": [op], "src": [7], "dst": [dst]}))
    return names


def test_files_are_applied_in_the_order_of_their_numbers(
    tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    names = write_numbered_files(tmp_path / "log")
    summary = run(str(tmp_path / "log"), str(tmp_path / "state"), run_settings())
    assert summary.files == names
    assert summary.num_edges == 10
    assert not any("as text" in note for note in summary.notes)


def test_a_state_that_was_planned_in_the_order_of_text_goes_on_with_its_plan(
    tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    names = write_numbered_files(tmp_path / "log")
    log = UpdateLog(str(tmp_path / "log"))
    state = StateDirectory(tmp_path / "state")
    wanted = run_settings()
    state.create_or_open(StateSettings(wanted.graph.identity(), log.address, {}, None))
    by_text = sorted(listing_of(log).files, key=lambda file: file.name)
    write_plan(state, BatchPlan().extended(by_text, BATCH_ROWS))
    summary = run(log.address, str(state.path), wanted)
    assert summary.files == sorted(names)
    assert summary.num_edges == 11, "10 deletes before 2 inserts"
    assert any("part.2.parquet after part.11.parquet" in note for note in summary.notes)
    write_log_file(str(tmp_path / "log" / "part.12.parquet"), pa.table({"src": [7], "dst": [3]}))
    summary = run(log.address, str(state.path), wanted)
    assert (summary.batches_applied, summary.num_edges) == (1, 12)
