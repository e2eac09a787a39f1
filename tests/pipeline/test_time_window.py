"""``--window``: a graph of what was seen of late, exact after every batch of any run."""

import os
import signal
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import graphtide
from commands import graphtide_here
from graphtide import BatchReport, DynamicGraph, SettingsError
from graphtide.config.settings import RunSettings, load_settings
from graphtide.gpu_core.errors import ArenaFullError, EngineError
from graphtide.io.log.batch_times import TimeRange
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.reports import read_reports
from graphtide.pipeline.ingest import run
from graphtide.pipeline.monitoring.progress import Progress
from graphtide.pipeline.replay import PastGraphs
from graphtide.pipeline.time_window import TimeWindow
from graphtide.pipeline.verify import verify_state
from made_state import apply_log, random_rows, write_rows
from model_checks import edges_of, model_of
from oracles import Row
from workers import worker_pids

BATCH_ROWS, WINDOW = 30, 70
#: A time that would have every edge leave.
FAR = 10**12


def timed_rows(number: int, count: int) -> list[Row]:
    """Rows of one file: times go up, and back a little; those that mean nothing are far away.

    A file begins before the end of the last one, so its first batches do not say what time it is.
    """
    draw, rows = np.random.default_rng(number), []
    for at, row in enumerate(random_rows(number, count)):
        late = int(draw.integers(0, 90)) if draw.random() < 0.2 else 0
        counts = row.op > 0 and row.dst is not None
        rows.append(row._replace(ts=80 * number + at - late if counts else FAR))
    return rows


FILES = [timed_rows(number, count) for number, count in enumerate((140, 110))]


def batches_of(files: list[list[Row]]) -> list[list[Row]]:
    return [rows[at : at + BATCH_ROWS] for rows in files for at in range(0, len(rows), BATCH_ROWS)]


def model_batches(kind: dict[str, Any]) -> list[tuple[int, list[tuple[Any, ...]]]]:
    """Edges that leave with each batch, and those that are there after it."""
    model, clock, after = model_of(kind), -FAR, []
    for rows in batches_of(FILES):
        model.apply(rows)
        clock = max([clock, *(row.ts for row in rows if row.op > 0 and row.dst is not None)])
        gone = [edge for edge, value in model.edges.items() if value.last < clock - WINDOW]
        for edge in gone:
            del model.edges[edge]
        after.append((len(gone), model.canonical_edges()))
    return after


@pytest.mark.parametrize(
    "kind",
    [
        {},
        {"directed": False, "layout": "chain"},
        {"reverse": False, "layout": "tree", "weights": "float64"},
    ],
    ids=["runs", "chain", "tree"],
)
def test_every_batch_is_exact_also_behind_a_restart(tmp_path: Path, kind: dict[str, Any]) -> None:
    settings = {"records": "semantic", "time_window": WINDOW, "batch_rows": BATCH_ROWS, **kind}
    log, state = tmp_path / "log", tmp_path / "state"
    for number, rows in enumerate(FILES):
        # The second file comes when the first is applied: a run begins with a checkpoint.
        write_rows(log, f"{number}.parquet", rows)
        apply_log(log, state, 2, keep_checkpoints="all", **settings)
    records = "semantic64" if "weights" in kind else "semantic"
    meaning = {"records": records, "directed": kind.get("directed", True)}
    expected = model_batches(meaning)
    directory = StateDirectory(state)
    reports = read_reports(directory)
    assert [report.expired for report in reports] == [gone for gone, _ in expected]
    assert sum(report.expired for report in reports) > 60
    for before, report in pairwise(reports):
        change = report.edges_added - report.edges_removed
        assert report.num_edges == before.num_edges + change
    past, earlier = PastGraphs(directory), None
    for batch_id, (_, edges) in enumerate(expected):
        graph = past.after(batch_id, earlier)
        assert edges_of(graph) == edges, f"after batch {batch_id}"
        # From here on one graph is gone on with, and a checkpoint is nearer for others.
        earlier = batch_id, graph
        assert edges_of(PastGraphs(directory).after(batch_id)) == edges
    proof = verify_state(directory)
    assert proof.is_whole
    assert proof.layout != kind.get("layout", "runs"), "what a layout does wrong must not recur"


def test_the_cut_of_a_log_decides_about_first_times_and_weights_alone(tmp_path: Path) -> None:
    """As docs/tuning.md has it: an edge that comes back in the batch that it left in has not."""
    settings = {"records": "semantic", "time_window": WINDOW, "on_repeat": "sum"}
    for number, rows in enumerate(FILES):
        write_rows(tmp_path / "log", f"{number}.parquet", rows)
    found = []
    for batch_rows in (1, BATCH_ROWS, 1000):
        state = tmp_path / f"{batch_rows}"
        apply_log(tmp_path / "log", state, 1000, batch_rows=batch_rows, **settings)
        graph = PastGraphs(StateDirectory(state)).after_newest()
        edges = graph.edges()
        kept = [edges.src, edges.dst, edges.properties["last"], graph.vertices()]
        found.append((*(each.tolist() for each in kept), edges.properties, graph.state_hash()))
    assert found[0][:4] == found[1][:4] == found[2][:4]
    assert len(found[0][0]) > 20
    for name in ("first", "weight"):
        one, _, all_at_once = (properties[name] for *_, properties, _ in found)
        assert (one != all_at_once).any()
    assert len({state_hash for *_, state_hash in found}) == 3


def test_a_proof_finds_edges_that_have_stayed(tmp_path: Path) -> None:
    settings = {"records": "semantic", "time_window": WINDOW, "batch_rows": BATCH_ROWS}
    write_rows(tmp_path / "log", "0.parquet", FILES[0])

    def insert_again(batch_id: int, graph: DynamicGraph) -> None:
        if batch_id == 3:
            graph.insert_edges([1], [2], ts=0)

    apply_log(tmp_path / "log", tmp_path / "state", 2, insert_again, **settings)
    proof = verify_state(StateDirectory(tmp_path / "state"))
    assert proof.first_difference == 3


def test_a_graph_that_dies_comes_back_with_its_clock(
    tmp_path: Path, run_settings: Callable[..., RunSettings], scheduler: str
) -> None:
    """Timestamps, a quarantined row from the future, and the command that replays them."""
    rng, rows = np.random.default_rng(5), 1500
    src, dst = rng.integers(0, 60, rows), rng.integers(0, 60, rows)
    seconds = np.arange(rows) - rng.integers(0, 40, rows)
    times = np.datetime64("2024-05-01", "us") + seconds * np.timedelta64(1, "m")
    weight = np.ones(rows)
    weight[700], times[700] = np.nan, np.datetime64("2099-01-01", "us")
    columns = {"src": src, "dst": dst, "ts": times, "weight": weight}
    (tmp_path / "log").mkdir()
    write_log_file(str(tmp_path / "log" / "a.parquet"), pa.table(columns))
    pids = worker_pids(scheduler)

    def kill_once(progress: Progress) -> None:
        if progress.batches_done >= 15 and "graph-0" in pids:
            os.kill(pids.pop("graph-0"), signal.SIGKILL)

    wanted = {"records": "semantic", "time_window": "3h", "bad_rows": "quarantine"}
    state = tmp_path / "state"
    summary = run(
        str(tmp_path / "log"), str(state),
        run_settings(checkpoint_every=4, analytics=[], **wanted), kill_once,
    )  # fmt: skip
    assert "graph-0" not in pids, "nobody was killed"
    graph, batch_rows, gone = DynamicGraph(records="semantic"), run_settings().batch_rows, 0
    assert batch_rows is not None
    good = np.isfinite(weight)
    for at in range(0, rows, batch_rows):
        here = np.flatnonzero(good[at : at + batch_rows]) + at
        graph.insert_edges(src[here], dst[here], ts=times[here])
        clock = times[: at + batch_rows][good[: at + batch_rows]].max()
        gone += graph.expire(clock - np.timedelta64(3, "h")).expired
    assert summary.totals["expired"] == graphtide.open(state).summary["expired"] == gone > 500
    assert summary.state_hash == graph.state_hash()
    told = graphtide_here("status", state).stdout
    assert f"expired    {gone:,} edges, older than the window" in told
    proof = graphtide_here("verify", state)
    assert (proof.returncode, proof.stderr) == (0, "")
    options = ("--records", "semantic", "--window", "3h", "--batch-rows", batch_rows)
    replayed = graphtide_here(
        "replay", tmp_path / "log", "--to", rows // batch_rows - 1, *options,
        "--set", "bad_rows=quarantine",
    )  # fmt: skip
    assert graph.state_hash() in replayed.stdout


def test_a_window_is_of_one_state(tmp_path: Path) -> None:
    write_rows(tmp_path / "log", "0.parquet", FILES[0])
    settings = {"records": "semantic", "batch_rows": BATCH_ROWS}
    apply_log(tmp_path / "log", tmp_path / "state", 2, time_window=WINDOW, **settings)
    with pytest.raises(Exception, match="made with time_window: 70, but this run asks for time_wi"):
        apply_log(tmp_path / "log", tmp_path / "state", 2, **settings)


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"time_window": "7d"}, "time_window: 7d, but simple records keep no times; use records"),
        ({"time_window": "soon", "records": "semantic"}, "time_window: 'soon' is not allowed; use"),
        ({"time_window": "", "records": "semantic"}, "time_window: '' is not allowed; use a time"),
        ({"time_window": "1.5", "records": "semantic"}, "use a time with its unit"),
        ({"time_window": "2M", "records": "semantic"}, "'2M' is not allowed"),
        ({"time_window": 0, "records": "semantic"}, "time_window: 0 is not allowed; use 1 or more"),
    ],
)
def test_no_window(wanted: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        load_settings(wanted)


def test_a_window_counts_what_the_times_count(tmp_path: Path) -> None:
    write_rows(tmp_path / "log", "0.parquet", FILES[0])
    settings = {"records": "semantic", "time_window": "7d"}
    with pytest.raises(SettingsError, match="7d is not allowed, as the times of the log are int64"):
        apply_log(tmp_path / "log", tmp_path / "state", 2, **settings)
    assert not (tmp_path / "state").exists()
    assert TimeWindow.of("2h", "timestamp[ms, tz=UTC]").length == 7_200_000
    with pytest.raises(SettingsError, match=r"are timestamp\[s\]; use a time such as 7d"):
        TimeWindow.of("100", "timestamp[s]")


def test_where_edges_cannot_leave_the_graph_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch is in it, and its old edges are: a state in which it never was."""

    def no_room(*_arguments: object) -> BatchReport:
        msg = "no room"
        raise ArenaFullError(msg)

    graph = DynamicGraph(records="semantic", engine="host")
    report = graph.insert_edges([1, 2], [2, 3], ts=[0, 50])
    monkeypatch.setattr(graph, "expire", no_room)
    with pytest.raises(EngineError, match="cannot be deleted: no room"):
        TimeWindow(10).slide(graph, report, TimeRange(0, 50))


def test_a_batch_that_is_late_as_a_whole_does_not_turn_the_clock_back() -> None:
    graph, window = DynamicGraph(records="semantic", engine="host"), TimeWindow(10)
    for src, time, expired in ((1, 100, 0), (2, 85, 1), (3, 95, 0)):
        report = graph.insert_edges([src], [9], ts=[time])
        assert window.slide(graph, report, TimeRange(time, time)).expired == expired
    assert graph.edges().src.tolist() == [1, 3]
