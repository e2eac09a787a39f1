"""Runs and states as functions of a program."""

import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from distributed import Client

import graphtide
from dask_processes import cluster_of_others
from graphtide import ClusterError, SettingsError, StateError
from graphtide.io.state.running import RunningFile
from small_log import BATCH_ROWS, rows_of, write_file
from waiting import PATIENCE


@pytest.fixture
def state(log, tmp_path, scheduler):
    """A state with results of each batch of a file, and graphs of the last two."""
    report = graphtide.run(
        log / "0000.parquet", tmp_path / "state", scheduler=scheduler, batch_rows=BATCH_ROWS,
        engine="host", analytics=["pagerank"], analytics_every=1, checkpoint_every=1,
    )  # fmt: skip
    assert report.batches_applied > 3
    return report.state


def test_a_run_reports_and_prints_nothing(log, tmp_path, scheduler, capsys):
    given = {"scheduler": scheduler, "batch_rows": BATCH_ROWS, "engine": "host"}
    report = graphtide.run(log, tmp_path / "s", pagerank={"alpha": 0.5}, **given)
    assert capsys.readouterr() == ("", "")
    assert report.rows == report.open().summary["rows"] > 0
    found = report.read_results("pagerank")
    assert found.parameters["alpha"] == 0.5
    expected = report.open().graph.pagerank(alpha=0.5)
    np.testing.assert_allclose(found["pagerank"], expected.pagerank, atol=1e-6)
    assert found.top(3)["vertex"].tolist() == expected.top(3)["vertex"].tolist()
    again = graphtide.run(log, tmp_path / "s", progress=True, pagerank={"alpha": 0.5}, **given)
    assert again.nothing_to_do
    assert capsys.readouterr().out == f"{again}\n"


def test_an_open_state_is_as_it_was_after_its_batch(state):
    newest = graphtide.open(state)
    before = graphtide.open(state, newest.batch_id - 1)
    assert newest.graph.num_edges == newest.summary["num_edges"]
    assert before.graph.num_edges == before.summary["num_edges"]
    assert before.graph.state_hash() != newest.graph.state_hash()
    for each in (before, newest):
        np.testing.assert_array_equal(each.results["pagerank"]["vertex"], each.graph.vertices())
        assert each.position.rows == each.summary["rows"]
        assert each.reports[-1].batch_id == each.batch_id
        # The batch ends where its rows do.
        source = each.source
        assert each.position[:2] == (source.file, source.first_row + each.reports[-1].rows)
    assert newest.position.rows - before.position.rows == newest.reports[-1].rows
    # The state is only read.
    newest.graph.insert_edges([-1], [-2])
    assert not graphtide.open(state).graph.has_edge(-1, -2)


def test_a_batch_between_checkpoints_comes_from_the_log(state, log):
    first = graphtide.open(state, 0)
    np.testing.assert_array_equal(first.read_results("pagerank")["vertex"], first.graph.vertices())
    with pytest.raises(StateError, match=r"no result .bfs. of batch 0 .it has pagerank.; run the"):
        first.read_results("bfs")
    log.rename(log.with_name("elsewhere"))
    assert len(graphtide.open(state, 0).read_results("pagerank")) == first.graph.num_vertices
    with pytest.raises(StateError, match="the graph after batch 0 needs the log"):
        _ = graphtide.open(state, 0).graph


def test_results_are_read_by_name_and_batch(state):
    newest = graphtide.open(state).batch_id
    found = graphtide.read_results(state, "pagerank")
    pd.testing.assert_frame_equal(
        found.to_pandas(), graphtide.read_results(state, "pagerank", newest).to_pandas()
    )
    older = graphtide.read_results(state, "pagerank", 0)
    assert len(older) < len(found)
    with pytest.raises(StateError, match="of batch 99; it has one of batch"):
        graphtide.read_results(state, "pagerank", 99)
    for wrong in ("0", 0.0, True):
        for ask in (graphtide.open, lambda *of: graphtide.read_results(of[0], "pagerank", of[1])):
            with pytest.raises(SettingsError, match=r"batch=.* is no number of a batch"):
                ask(state, wrong)
    assert len(graphtide.read_results(state, "pagerank", at=np.int64(0))) == len(older)
    # A loop over an array of numbers gives NumPy's.
    assert json.loads(json.dumps(graphtide.open(state, np.int64(0)).summary))["batch"] == 0


def test_what_is_not_kept_or_broken_is_refused(state, tmp_path):
    with pytest.raises(SettingsError, match=r"batch 99 is not applied; .* has batches 0 to"):
        graphtide.open(state, 99)
    with pytest.raises(StateError, match="no graphtide state"):
        graphtide.open(tmp_path / "nowhere")
    newest = graphtide.open(state)
    for wrong in (None, 5, ["pagerank"]):
        for read in (newest.read_results, lambda name: graphtide.read_results(state, name)):
            with pytest.raises(SettingsError, match=r"name=.* is no name of a result; names are"):
                read(wrong)
    checkpoint = Path(state) / "checkpoints" / f"batch={newest.batch_id:012d}"
    with pytest.raises(StateError, match=r"a checkpoint of a run; use graphtide\.open"):
        graphtide.DynamicGraph.load(checkpoint)
    with pytest.raises(StateError, match="is no saved graph"):
        newest.graph.save(checkpoint)
    (checkpoint / "edges.parquet").write_bytes(b"nothing")
    assert graphtide.open(state).batch_id == newest.batch_id - 1


@pytest.mark.parametrize("wrong", [None, 5, b"a", [1], object()])
def test_what_is_no_path_is_refused_and_makes_no_folder(wrong, log, tmp_path, monkeypatch):
    """``None`` is what an environment variable is that is not set."""
    monkeypatch.chdir(tmp_path)
    before = {*tmp_path.iterdir()}
    for logs in (wrong, [log, wrong]):
        text = r"log=.* is no path; give a str or a Path, or several of them"
        with pytest.raises(SettingsError, match=text):
            graphtide.run(logs, tmp_path / "state")
    with pytest.raises(SettingsError, match=r"state=.* is no path; give a str or a Path"):
        graphtide.run(log, wrong)
    for read in (graphtide.open, graphtide.read_summary):
        with pytest.raises(SettingsError, match=r"state=.* is no path"):
            read(wrong)
    graph = graphtide.DynamicGraph(engine="host")
    for call in (graph.save, graphtide.DynamicGraph.load, graph.export_edges):
        with pytest.raises(SettingsError, match=r"path=.* is no path; give a str or a Path"):
            call(wrong)
    assert {*tmp_path.iterdir()} == before


def test_a_state_is_the_same_after_a_change_of_the_working_directory(
    log: Path, tmp_path: Path, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook that says ``%cd`` had a state without results or reports then, without an error.

    And a run, in another thread, ended as if its disk were full.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    publish = RunningFile.publish

    def leave(*words: Any, **options: Any) -> None:
        os.chdir(tmp_path / "elsewhere")
        publish(*words, **options)

    monkeypatch.setattr(RunningFile, "publish", leave)
    report = graphtide.run(
        log, "s", scheduler=scheduler, batch_rows=BATCH_ROWS, engine="host", analytics=["pagerank"]
    )
    assert Path.cwd() == tmp_path / "elsewhere"
    assert [*Path.cwd().iterdir()] == []
    os.chdir(tmp_path)
    opened = graphtide.open("s")
    os.chdir("elsewhere")
    for each in (opened, report.open()):
        assert each.result_names == ["pagerank"]
        assert len(each.reports) == each.batch_id + 1
        assert each.position.rows == report.rows
        assert each.graph.num_edges == report.num_edges
    assert len(report.reports) == report.batches_applied


def test_a_run_goes_on_with_the_rule_for_repeats_that_its_state_has(tmp_path, scheduler):
    """From a checkpoint, with a further file: the weights of all rows, as in one batch."""
    log, state = tmp_path / "log", tmp_path / "state"
    given = {"scheduler": scheduler, "engine": "host", "analytics": [], "batch_rows": BATCH_ROWS}
    kind = {"records": "weighted", "on_repeat": "sum", "directed": False}
    columns = [rows_of(number) for number in range(2)]
    for number, each in enumerate(columns):
        each["weight"] = np.random.default_rng(number).normal(size=each["op"].size)
        write_file(log, number, each)
        report = graphtide.run(log, state, **kind, **given)
        assert report.batches_applied == each["op"].size // BATCH_ROWS
    assert "(undirected, weighted, sum of repeats)" in str(report)
    whole = graphtide.DynamicGraph(**kind)
    rows = {name: np.concatenate([each[name] for each in columns]) for name in columns[0]}
    whole.apply(graphtide.UpdateBatch.from_rows(**rows, **kind))
    opened = graphtide.open(state).graph
    assert opened.on_repeat == "sum"
    assert opened.state_hash() == whole.state_hash()
    for other in ("max", "last"):
        with pytest.raises(StateError, match=rf"on_repeat: sum.* on_repeat: {other}"):
            graphtide.run(log, state, **{**kind, "on_repeat": other}, **given)


def _run_in_a_task(state):
    try:
        graphtide.run("nowhere", state, workers=1)
    except ClusterError as error:
        return str(error)
    return None


def test_a_task_of_a_worker_that_may_start_no_process_is_told_what_to_do(tmp_path):
    """Dask would wait there for workers that cannot start."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        told = pool.apply(_run_in_a_task, [tmp_path / "state"])
    assert "this one may not: it is a daemon" in told
    assert "distributed.worker.daemon: false" in told
    assert not (tmp_path / "state").exists()


def test_a_task_runs_a_log_on_the_cluster_whose_only_thread_it_has(log, tmp_path):
    """The tasks of the run would wait for the task's end, and the task for them."""
    with (
        cluster_of_others(tmp_path, {"only": None}) as (address, _),
        Client(address, set_as_default=False) as client,
    ):
        given = {"scheduler": address, "batch_rows": BATCH_ROWS, "start_timeout": "40s"}
        task = client.submit(graphtide.run, log, tmp_path / "state", **given, engine="host")
        assert task.result(timeout=PATIENCE).batches_applied > 3
        # The thread takes tasks again.
        assert client.submit(int, "7").result(timeout=PATIENCE) == 7
    assert graphtide.open(tmp_path / "state").graph.num_edges > 0
