"""Results that fit a rate: summary, whole columns now and then, changes between, cadences."""

import errno
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from distributed import Client

import graphtide
from graphtide import FailedResultWarning, StateError
from graphtide.config.settings import load_settings
from graphtide.flows.commands.status import Status
from graphtide.gpu_core.algorithms.registry import ANALYTICS
from graphtide.gpu_core.report import BatchSource
from graphtide.io.checked_tables import read_table
from graphtide.io.state import batch_summary
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.reports import read_reports, write_reports
from graphtide.io.state.results import FailedResult
from graphtide.io.state.state_settings import StateSettings
from graphtide.pipeline.analyses import analyses_of
from graphtide.pipeline.graph_worker.batch_results import BatchResults, summarized
from graphtide.pipeline.ingest import run as run_pipeline
from graphtide.pipeline.log_watch import Follow
from graphtide.pipeline.monitoring.progress import Progress
from graphtide.pipeline.run_results import RunResults
from small_log import results_below, write_file
from worker_jobs import hold_analytics, let_analytics_go
from workers import worker_pids

BATCHES, BATCH_ROWS, VERTICES = 12, 60, 150


def rows(seed: int) -> pa.Table:
    """Rows of six batches; some insert or delete a vertex by itself."""
    draw = np.random.default_rng(seed)
    count = BATCHES // 2 * BATCH_ROWS
    # Three quarters are about few vertices, so that most rows of a result stay as they are.
    near = draw.random(count) < 0.75
    src, dst = np.where(near, 20, VERTICES) * draw.random((2, count))
    return pa.table(
        {
            "op": draw.choice(np.array([1, 1, 1, -1], np.int8), count),
            "src": src.astype(np.int64),
            "dst": pa.array(dst.astype(np.int64), mask=draw.random(count) < 0.05),
        }
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory, scheduler):
    folder = tmp_path_factory.mktemp("runs")
    for number in range(2):
        write_file(folder / "log", number, rows(number))

    def run(state: str | Path, **settings):
        given = {"analytics": ["clustering:1", "pagerank:1"], "maintain": ["clustering"]}
        report = graphtide.run(
            folder / "log", folder / state, scheduler=scheduler, directed=False, engine="host",
            batch_rows=BATCH_ROWS, checkpoint_every=5, keep_checkpoints="all",
            **{**given, **settings},
        )  # fmt: skip
        return Path(report.state)

    return run


@pytest.fixture(scope="module")
def whole(run) -> Path:
    """A state with all columns after every batch."""
    return run("whole")


@pytest.fixture(scope="module")
def changes(run) -> Path:
    """One with changes between those of every fourth batch."""
    return run("changes", columns_every=4, changes_beyond=0)


def columns(state: Path, name: str, batch: int) -> dict[str, bytes]:
    found = graphtide.read_results(state, name, at=batch)
    return {column: values.tobytes() for column, values in found.columns.items()}


def test_what_is_due_after_a_batch_and_in_which_form_follows_from_its_number(tmp_path) -> None:
    settings = load_settings({"analytics": ["pagerank:2"], "columns_every": 3, "changes_beyond": 0})
    results = RunResults(StateDirectory(tmp_path / "state"), analyses_of(settings), settings)
    assert [results.missing(batch, is_end=False)[0] for batch in range(4)] == [
        [], ["pagerank"], [], ["pagerank"],
    ]  # fmt: skip
    assert results.missing(2, is_end=True)[0] == ["pagerank"]
    requests = [results.requests(["pagerank"], end, is_end=False) for end in range(2, 14, 2)]
    assert [each["pagerank"].written for each in requests] == [
        "changes", "whole", "whole", "changes", "whole", "whole",
    ]  # fmt: skip


def test_results_of_batches_beyond_a_checkpoint_wait_for_the_next_one(tmp_path) -> None:
    """A checkpoint is written while batches go on: some may have results already."""
    state, settings = StateDirectory(tmp_path / "state"), load_settings({})
    graph = graphtide.DynamicGraph(engine="host")
    with state.lock():
        state.create_or_open(StateSettings({"directed": True}, "/log", {}, None))
        results = RunResults(state, {}, settings)
        reports = []
        for batch in range(3):
            reports.append(graph.insert_edges([batch], [9])._replace(batch_id=batch))
            found, source = BatchResults({}, None, 0.5 + batch), BatchSource("a", batch, 1)
            results.write(batch, found, source, is_kept=False)
        results.write_reports(reports[:1])
        results.write_reports(reports[1:])
    summary = batch_summary.read_summary(state)
    assert summary[batch_summary.ANALYTICS_SECONDS].tolist() == [0.5, 1.5, 2.5]


def test_those_who_watch_have_the_newest_result_of_each_name(tmp_path) -> None:
    """The page is drawn, and metrics are scraped, more rarely than batches come."""
    state = StateDirectory(tmp_path / "state")
    settings = load_settings({"analytics": ["pagerank:1", "clustering:2"]})
    graph = graphtide.DynamicGraph.from_edges([1, 2], [2, 3], engine="host")
    with state.lock():
        state.create_or_open(StateSettings({"directed": True}, "/log", {}, None))
        results = RunResults(state, analyses_of(settings), settings)
        for batch, names in ((1, ["pagerank", "clustering"]), (2, ["pagerank"])):
            requests = results.requests(names, batch + 1, is_end=False)
            found = {
                name: summarized(request, graph.compute(name, **request.arguments))
                for name, request in requests.items()
            }
            source = BatchSource("a", batch, 1)
            results.write(batch, BatchResults(found, source, 0.5), source, is_kept=False)
    assert {name: each["batch"] for name, each in results.newest.items()} == {
        "pagerank": 2, "clustering": 1,
    }  # fmt: skip
    assert results.newest["clustering"]["triangles"] == 0


def test_every_batch_is_read_from_changes_with_its_bits(whole, changes) -> None:
    whole_ones = {path.parent.name for path in changes.glob("results/batch=*/clustering.parquet")}
    assert {f"batch={batch:012d}" for batch in (3, 7, 11)} <= whole_ones
    assert len(whole_ones) < BATCHES - 4, "hardly any changes were written"
    kinds: set[int] = set()
    for batch in range(BATCHES):
        for name in ("clustering", "pagerank"):
            assert columns(changes, name, batch) == columns(whole, name, batch)
        path = changes / f"results/changes/batch={batch:012d}/clustering.parquet"
        if path.exists():
            assert not (changes / f"results/batch={batch:012d}/clustering.parquet").exists()
            kinds |= set(read_table(path)["change"].to_pylist())
    assert kinds == {-1, 0, 1}, "nothing came, or went, or changed"
    one, other = (graphtide.open(each, 5).results["clustering"] for each in (whole, changes))
    assert (one.parameters, one.source, one.figures) == (
        other.parameters,
        other.source,
        other.figures,
    )
    assert graphtide.open(changes, 5).result_names == ["clustering", "pagerank"]
    one, other = (graphtide.open(each, 5).summary["results"] for each in (whole, changes))
    assert one == other


def test_a_run_that_was_killed_writes_the_same_results(run, changes, tmp_path) -> None:
    """As it leaves a state: results of batches that no checkpoint covers."""
    state = tmp_path / "state"
    shutil.copytree(changes, state)
    for batch in (9, 11):
        shutil.rmtree(state / f"checkpoints/batch={batch:012d}")
    for path in (state / "results").rglob("batch=000000000008/*"):
        path.write_bytes(b"of another graph")
    settings = {"columns_every": 4, "changes_beyond": 0}
    assert run(state, **settings) == state
    assert results_below(state) == results_below(changes)


def test_maintained_results_have_their_bits_also_behind_a_graph_that_was_lost(
    run, scheduler, tmp_path
) -> None:
    """Ranks that are repaired batch by batch depend on the batches after which they were."""
    settings = {"analytics": ["pagerank:1"], "maintain": ["pagerank"]}
    unbroken = run("unbroken", **settings)
    graph_worker = worker_pids(scheduler)["graph-0"]
    killed = []

    def kill_once(progress: Progress) -> None:
        if progress.batches_done >= 9 and not killed:
            killed.append(graph_worker)
            os.kill(graph_worker, signal.SIGKILL)

    wanted = load_settings(
        {
            "directed": False, "engine": "host", "batch_rows": BATCH_ROWS, "window": 1,
            "checkpoint_every": 5, "scheduler": scheduler, **settings,
        }
    )  # fmt: skip
    state = tmp_path / "state"
    run_pipeline(str(unbroken.parent / "log"), str(state), wanted, kill_once)
    assert killed
    assert results_below(state) == results_below(unbroken)


@pytest.fixture
def held_analytics(scheduler, tmp_path) -> Iterator[Path]:
    """Analytics wait for this file."""
    with Client(scheduler, set_as_default=False) as client:
        client.run(hold_analytics, tmp_path / "gate")
        yield tmp_path / "gate"
        client.run(let_analytics_go)


def test_batches_go_on_beside_a_slow_analytic_until_so_many_epochs_are_kept(
    whole, scheduler, tmp_path, held_analytics
) -> None:
    """The first result is not computed before two graphs are kept and a third is due."""
    wanted = load_settings(
        {
            "directed": False, "engine": "host", "batch_rows": BATCH_ROWS, "checkpoint_every": 5,
            "scheduler": scheduler, "analytics": ["clustering:1", "pagerank:1"],
            "maintain": ["clustering"], "epochs": 2,
        }
    )  # fmt: skip
    seen: list[Progress] = []

    def open_the_gate(progress: Progress) -> None:
        picture = progress.picture
        if progress.batches_done == 3 and picture.waits and picture.epochs == 2:
            seen.append(progress)
            held_analytics.touch()

    log, state = whole.parent / "log", tmp_path / "state"
    summary = run_pipeline(str(log), str(state), wanted, open_the_gate)
    picture = seen[0].picture
    assert (picture.most_epochs, picture.waits) == (2, 1)
    assert summary.waits >= 1
    assert summary.wait_seconds > 0
    assert results_below(state) == results_below(whole)


def test_a_result_that_fails_is_told_by_batch_and_all_else_is_kept(run, whole) -> None:
    with pytest.warns(FailedResultWarning, match="result pagerank after batch 11 failed: PageRank"):
        state = run("failing", pagerank={"max_iter": 1})
    for batch in range(BATCHES):
        assert columns(state, "clustering", batch) == columns(whole, "clustering", batch)
    rows = graphtide.read_summary(state).columns
    assert np.isnan(rows["pagerank_iterations"]).all()
    assert rows["triangles"].tolist() == graphtide.read_summary(whole).columns["triangles"].tolist()
    status = Status(StateDirectory(state))
    assert (status.boundary, status.damage, status.notes) == (BATCHES, [], [])
    failed = status.failures["pagerank"]
    assert (failed.batches, failed.newest.batch_id) == (BATCHES, BATCHES - 1)
    assert "did not converge" in failed.newest.reason
    with pytest.raises(StateError, match="'pagerank' of batch 3: it failed, PageRank did not"):
        graphtide.read_results(state, "pagerank", at=3)
    # Those of the last batch are due again.
    run("failing")
    assert columns(state, "pagerank", BATCHES - 1) == columns(whole, "pagerank", BATCHES - 1)
    failed = Status(StateDirectory(state)).failures["pagerank"]
    assert (failed.batches, failed.newest.batch_id) == (BATCHES - 1, BATCHES - 2)


def test_a_result_that_is_computed_otherwise_and_fails_is_told_beside_the_older_file(run) -> None:
    settings = {"analytics": ["pagerank"], "maintain": []}
    state = run("failing later", **settings)
    of_last = columns(state, "pagerank", BATCHES - 1)
    with pytest.warns(FailedResultWarning, match="result pagerank after batch 11 failed"):
        run("failing later", pagerank={"max_iter": 1}, **settings)
    failed = Status(StateDirectory(state)).failures["pagerank"]
    assert (failed.batches, failed.newest.batch_id) == (1, BATCHES - 1)
    assert columns(state, "pagerank", BATCHES - 1) == of_last
    # The file is as asked for, but older than the failure.
    run("failing later", **settings)
    assert not Status(StateDirectory(state)).failures
    assert columns(state, "pagerank", BATCHES - 1) == of_last


def test_a_maintained_result_that_fails_loses_neither_batch_nor_run(run, whole) -> None:
    with pytest.warns(FailedResultWarning, match="result pagerank after batch 11 failed: PageRank"):
        state = run("failing on", maintain=["clustering", "pagerank"], pagerank={"max_iter": 1})
    for batch in range(BATCHES):
        assert columns(state, "clustering", batch) == columns(whole, "clustering", batch)
    assert Status(StateDirectory(state)).failures["pagerank"].batches == BATCHES


def test_nothing_is_left_of_batches_beyond_the_checkpoint(run, changes, tmp_path) -> None:
    state = tmp_path / "state"
    shutil.copytree(changes, state)
    for batch in (9, 11):
        shutil.rmtree(state / f"checkpoints/batch={batch:012d}")
    # The summary has the applied batches alone, whatever a run that was killed has left.
    assert graphtide.read_summary(state)["batch"].tolist() == [*range(5)]
    run(state, analytics=[])
    left = [path.name for path in (state / "results").glob("*/batch=*")]
    assert left
    assert max(left) <= "batch=000000000004"
    assert "triangles" not in read_table(max((state / "results/summary").iterdir())).column_names


def test_values_are_within_the_tolerance_of_each_batch(run, whole) -> None:
    state = run("within", columns_every=BATCHES, changes_beyond=1e-3, result_floats="float32")
    off = 0.0
    for batch in range(BATCHES):
        found = graphtide.read_results(state, "pagerank", batch)
        exact = graphtide.read_results(whole, "pagerank", batch)
        assert found["vertex"].tolist() == exact["vertex"].tolist()
        assert found["pagerank"].dtype == np.float32
        off = max(off, np.abs(found["pagerank"] - exact["pagerank"]).max())
        local = graphtide.read_results(state, "clustering", batch)
        assert local["triangles"].tolist() == columns_as(whole, batch)["triangles"].tolist()
    assert 1e-6 < off <= 1.001e-3


def columns_as(state: Path, batch: int) -> dict[str, np.ndarray]:
    return dict(graphtide.read_results(state, "clustering", batch).columns)


def test_the_summary_has_a_row_for_each_batch(run, whole) -> None:
    state = run("rare", analytics=["clustering:3", "pagerank:1"], columns_every=5)
    assert StateDirectory(state).result_ids() == [4, 5, 9, 11]
    assert not (state / "results" / "changes").exists()
    table, reports = graphtide.read_summary(state), graphtide.open(state).reports
    assert table["batch"].tolist() == list(range(BATCHES))
    assert table["vertices"].tolist() == [each.num_vertices for each in reports]
    assert table["edges"].tolist() == [each.num_edges for each in reports]
    assert table["apply_seconds"].tolist() == [each.seconds["apply"] for each in reports]
    assert (table["analytics_seconds"] > 0).all()
    for batch in range(BATCHES):
        ranks = graphtide.read_results(whole, "pagerank", batch)
        for figure, value in ranks.figures.items():
            assert table[f"pagerank_{figure}"][batch] == value
        local = columns_as(whole, batch)
        if batch in (2, 5, 8, 11):
            told = ANALYTICS["clustering"].summary(local, {})
            assert told["triangles"] == local["triangles"].sum() // 3
            for metric in ("triangles", "average_clustering", "transitivity"):
                assert table[metric][batch] == told[metric]
        else:
            assert np.isnan([table["triangles"][batch], table["transitivity"][batch]]).all()
    with pytest.raises(StateError, match="of batch 7; it has one of batch 5 and of batch 11"):
        graphtide.read_results(state, "clustering", at=7)


def test_results_that_come_late_come_into_the_summary(run, whole) -> None:
    run("late", analytics=[])
    state = run("late", analytics=["clustering"])
    late, table = graphtide.read_summary(state), graphtide.read_summary(whole)
    assert late["triangles"][-1] == table["triangles"][-1]
    assert np.isnan(late["triangles"][:-1]).all()
    assert late["edges"].tolist() == table["edges"].tolist()


@pytest.fixture(scope="module")
def follow(run, whole, scheduler):
    """Follow the log until it is up to date."""

    def follow(state: str | Path, **settings) -> Path:
        wanted = load_settings(
            {
                "directed": False, "engine": "host", "batch_rows": BATCH_ROWS,
                "checkpoint_every": 5, "keep_checkpoints": "all", "scheduler": scheduler,
                **settings,
            }
        )  # fmt: skip
        until = Follow()

        def stop_at_the_end(progress: Progress) -> None:
            if progress.stage == "waiting":
                until.stop()

        folder = whole.parent
        run_pipeline(str(folder / "log"), str(folder / state), wanted, stop_at_the_end, until)
        return folder / state

    return follow


def test_columns_are_replaced_by_those_of_other_parameters(run, whole, follow) -> None:
    """Where the log goes on, changes would be written after the last batch: columns are there."""
    settings = {"columns_every": 5, "changes_beyond": 1e-2, "analytics": ["pagerank:1"]}
    run("again", **settings)
    state = run("again", pagerank={"alpha": 0.5}, **settings)
    assert graphtide.read_results(state, "pagerank").parameters["alpha"] == 0.5
    follow("again", **settings)
    found = graphtide.read_results(state, "pagerank", at=BATCHES - 1)
    exact = graphtide.read_results(whole, "pagerank", at=BATCHES - 1)
    assert found.parameters["alpha"] == 0.85
    assert np.abs(found["pagerank"] - exact["pagerank"]).max() <= 1e-2
    assert found.figures == exact.figures


@pytest.mark.parametrize("beyond", [None, 1e-2])
def test_a_log_that_is_followed_again_keeps_the_results_that_are_there(run, follow, beyond) -> None:
    """When it was stopped, all columns of the last batch were written, once."""
    settings = {
        "columns_every": 5, "changes_beyond": beyond, "maintain": ["pagerank"],
        "analytics": ["pagerank:1", "clustering:5"],
    }  # fmt: skip
    state = follow(f"followed {beyond}", **settings)
    of_stop = (state / f"results/batch={BATCHES - 1:012d}").iterdir()
    assert sorted(each.name for each in of_stop) == ["clustering.parquet", "pagerank.parquet"]
    there = {path: path.read_bytes() for path in (state / "results").rglob("*.parquet")}
    follow(state.name, **settings)
    assert there == {path: path.read_bytes() for path in (state / "results").rglob("*.parquet")}
    run(state.name, **settings)
    assert there == {path: path.read_bytes() for path in (state / "results").rglob("*.parquet")}
    assert [*graphtide.open(state).results] == ["clustering", "pagerank"]
    assert Status(StateDirectory(state)).damage == []


def test_files_that_a_run_writes_in_another_group_meanwhile_are_not_missing(
    changes, tmp_path, monkeypatch
) -> None:
    shutil.copytree(changes, tmp_path / "state")
    state = StateDirectory(tmp_path / "state")
    reports = read_reports(state)
    assert len(state.report_files()) > 1
    # Also if the summary comes first.
    found = {row["batch"]: {} for row in graphtide.read_summary(state.path).to_arrow().to_pylist()}
    batch_summary.write_summary(state, reports, found, {})
    assert Status(state).damage == []

    def read_late(path: Path) -> pa.Table:
        monkeypatch.undo()
        write_reports(state, reports, has_summary=True)
        return read_table(path)

    monkeypatch.setattr("graphtide.io.state.reports.read_table", read_late)
    assert read_reports(state, notes=[]) == reports
    assert len(state.report_files()) == 1
    assert Status(state).damage == []


def test_reports_without_their_summary_are_those_of_a_run_that_writes_it_next(
    changes, tmp_path
) -> None:
    shutil.copytree(changes, tmp_path / "state")
    state = StateDirectory(tmp_path / "state")
    *_, (first, _, newest) = state.report_files()
    summary = batch_summary.summary_folder(state) / newest.name
    shutil.rmtree(state.checkpoint(state.checkpoint_ids()[-1]))
    summary.rename(tmp_path / newest.name)
    # The checkpoint of these batches is written after both.
    assert Status(state).boundary == first
    assert Status(state).damage == []
    (tmp_path / newest.name).rename(summary)
    # In another group the reports come first, too.
    write_reports(state, read_reports(state), has_summary=True)
    assert len(state.report_files()) == 1
    assert Status(state).damage == []
    summary.with_name(min(each.name for each in summary.parent.iterdir())).unlink()
    assert "is missing" in Status(state).damage[0]


def test_a_result_that_failed_and_came_as_changes_has_not_failed(changes, tmp_path) -> None:
    shutil.copytree(changes, tmp_path / "state")
    state = StateDirectory(tmp_path / "state")
    path = max((state.path / "results/changes").rglob("clustering.parquet"))
    batch = int(path.parent.name.partition("=")[2])
    failed = [FailedResult(batch, name, "no memory") for name in ("clustering", "other")]
    write_reports(state, read_reports(state), {}, {}, failed, has_summary=True)
    assert [*Status(state).failures] == ["other"]


def test_results_computed_otherwise_come_into_the_summary_also_if_a_run_is_cut_short(
    run, monkeypatch
) -> None:
    settings = {"analytics": ["pagerank"], "maintain": []}
    run("otherwise", **settings)
    settings["pagerank"] = {"alpha": 0.5}

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(batch_summary, "amend_summary", full)
        with pytest.raises(OSError, match="full"):
            run("otherwise", **settings)
    state = run("otherwise", **settings)
    figures = graphtide.read_results(state, "pagerank").figures
    row = graphtide.read_summary(state)
    assert {name: row[f"pagerank_{name}"][-1] for name in figures} == figures


def test_values_of_an_analytic_do_not_stay_beside_those_of_another_one_of_its_name(run) -> None:
    """The error bound of ranks stood beside the iterations of Katz centrality."""
    for kind in ("pagerank", "katz_centrality"):
        state = run("renamed", analytics=[f"fast={kind}", "pagerank"], maintain=[])
    row = {name: column[-1] for name, column in graphtide.read_summary(state).columns.items()}
    figures = graphtide.read_results(state, "fast").figures
    assert {name for name in row if name.startswith("fast_") and not np.isnan(row[name])} == {
        f"fast_{name}" for name in figures
    }
    assert row["fast_iterations"] == figures["iterations"]
    assert row["pagerank_error_bound"] > 0


def test_only_results_whose_parameters_differ_are_computed_again(run) -> None:
    settings = {"analytics": ["pagerank", "clustering"], "maintain": ["pagerank"]}
    state = run("partly", **settings)
    ranks, local = (
        state / f"results/batch={BATCHES - 1:012d}/{name}.parquet" for name in settings["analytics"]
    )

    def written(path: Path) -> tuple[int, int]:
        # Not when it was read, which another run does.
        return path.stat().st_ino, path.stat().st_mtime_ns

    before = written(ranks), written(local)
    local.write_bytes(b"nothing")
    run("partly", **settings)
    after = written(ranks), written(local)
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False]
    rows = graphtide.read_summary(state)
    figures = graphtide.read_results(state, "pagerank").figures
    assert {name: rows[f"pagerank_{name}"][-1] for name in figures} == figures


def test_status_has_the_newest_result_of_each_name_and_the_batch_of_earlier_ones(run) -> None:
    state = StateDirectory(run("newest", analytics=["pagerank:1", "clustering:4"], maintain=[]))
    shutil.rmtree(state.checkpoint(BATCHES - 1))
    status = Status(state)
    assert status.boundary == 10
    lines = " ".join(" ".join(status.lines()).split())
    assert lines.count("; after batch") == 1
    assert "; after batch 7" in lines
    values = status.values()
    assert values["source"] == graphtide.read_results(state.path, "pagerank", at=9).source._asdict()
    assert {name: Path(path).parent.name for name, path in values["results"].items()} == {
        "pagerank": f"batch={9:012d}", "clustering": f"batch={7:012d}",
    }  # fmt: skip


def test_what_is_computed_for_a_batch_that_is_kept_is_known_of_it(run) -> None:
    run("kept", analytics=["pagerank"], maintain=[])
    more = {"analytics": ["pagerank", "core_number", "katz_centrality"], "maintain": []}
    with pytest.warns(FailedResultWarning, match="katz_centrality after batch 11"):
        state = run("kept", **more, katz_centrality={"max_iter": 1})
    status = Status(StateDirectory(state))
    assert (status.damage, [*status.failures]) == ([], ["katz_centrality"])
    cores = state / f"results/batch={BATCHES - 1:012d}/core_number.parquet"
    cores.unlink()
    [damage] = Status(StateDirectory(state)).damage
    assert f"{cores} is missing" in damage
    run("kept", **more)
    status = Status(StateDirectory(state))
    assert (status.damage, status.failures) == ([], {})


def test_what_is_damaged_or_gone_is_named(changes, tmp_path) -> None:
    state = tmp_path / "state"
    shutil.copytree(changes, state)
    [*_, damaged] = sorted((state / "results/changes").glob("*/clustering.parquet"))
    content = bytearray(damaged.read_bytes())
    content[40] ^= 255
    damaged.write_bytes(content)
    batch = int(damaged.parent.name.partition("=")[2])
    with pytest.raises(StateError, match=f"changes/batch={batch:012d}/clustering.* is damaged"):
        graphtide.read_results(state, "clustering", batch)
    notes = " ".join(Status(StateDirectory(state)).values()["damage"])
    assert f"{damaged} is damaged" in notes
    damaged.unlink()
    notes = " ".join(Status(StateDirectory(state)).values()["damage"])
    assert f"{damaged} is missing" in notes
    [summary, *others] = sorted((state / "results/summary").iterdir())
    summary.write_bytes(others[0].read_bytes())
    with pytest.raises(StateError, match=r"summary/.*its rows are not of the batches"):
        graphtide.read_summary(state)
    summary.write_bytes(b"nothing")
    with pytest.raises(StateError, match=r"summary/.* is damaged"):
        graphtide.read_summary(state)
    assert f"{summary} is damaged" in " ".join(Status(StateDirectory(state)).values()["damage"])
    summary.unlink()
    assert f"{summary} is missing" in " ".join(Status(StateDirectory(state)).values()["damage"])
