"""Results and reports of batches in a state directory."""

import pickle
from collections import namedtuple

import numpy as np
import pyarrow.parquet as pq
import pytest

from graphtide import BatchReport, StateError
from graphtide.gpu_core import report as report_module
from graphtide.gpu_core.algorithms.centrality.pagerank_result import PageRankResult
from graphtide.gpu_core.algorithms.registry import ANALYTICS
from graphtide.gpu_core.algorithms.shared.by_vertex import HostValues
from graphtide.gpu_core.algorithms.triangles.clustering import ClusteringResult, HostColumns
from graphtide.gpu_core.report import BatchSource
from graphtide.io.checked_tables import DamagedTableError
from graphtide.io.state.batch_summary import drop_summary_from, read_summary, write_summary
from graphtide.io.state.quarantine import Quarantine
from graphtide.io.state.reports import read_reports, write_reports, written_results
from graphtide.io.state.result_changes import (
    batches_with,
    changes_between,
    drop_changes_from,
    failed_results,
    write_changes,
)
from graphtide.io.state.results import (
    FailedResult,
    ResultFacts,
    read_result,
    result_facts,
    result_files,
    write_result,
)
from small_state import made


def report(batch_id, **changes):
    nothing = {
        **dict.fromkeys(BatchReport._fields, 0),
        "seconds": {},
        "effects": None,
        "source": None,
    }
    return BatchReport(**{**nothing, "batch_id": batch_id, "rows": 7, **changes})


def test_pickled_reports_are_read_by_a_version_that_has_more_fields(monkeypatch):
    """By position, `page_bytes` had taken the value of the field that came after it."""
    source = BatchSource("a.parquet", 3, 7)
    pickled = pickle.dumps(report(5, inserted=4, num_edges=9, source=source))
    for old in (BatchSource, BatchReport):
        fields = ("of_later", *old._fields)
        later = namedtuple(old.__name__, fields, defaults=[0] * len(fields))
        monkeypatch.setattr(report_module, old.__name__, later)
    read = pickle.loads(pickled)
    assert (read.of_later, read.batch_id, read.inserted, read.num_edges) == (0, 5, 4, 9)
    assert (read.source.file, read.source.rows) == ("a.parquet", 7)


def test_results_are_tables(tmp_path):
    state = made(tmp_path / "s")
    vertices = np.array([1, 2])
    ranks = PageRankResult(HostValues(vertices, np.array([0.25, 0.75])), 7, 1e-9, 5e-9)
    pagerank, clustering = ANALYTICS["pagerank"], ANALYTICS["clustering"]
    facts = ResultFacts("pagerank", {"alpha": 0.5}, None, pagerank.figures_of(ranks))
    write_result(state, 12, "pagerank", pagerank.values(ranks), facts)
    columns = HostColumns(vertices, np.array([3, 4]), np.array([5, 6]), np.array([0.5, 1]))
    local = ClusteringResult(columns, "ldbc")
    facts = ResultFacts("clustering", {"directed": "ldbc"})
    write_result(state, 12, "clustering", clustering.values(local), facts)
    files = result_files(state, 12)
    assert state.result_ids() == [12]
    assert files["pagerank"] == state.path / "results/batch=000000000012/pagerank.parquet"
    ranks = pq.read_table(files["pagerank"], partitioning=None)
    assert {field.name: str(field.type) for field in ranks.schema} == {
        "vertex": "int64",
        "pagerank": "double",
    }
    local = pq.read_table(files["clustering"], partitioning=None)
    assert local.column_names == ["vertex", "degree", "triangles", "clustering"]
    assert local["triangles"].to_pylist() == [5, 6]
    assert result_facts(files["pagerank"]).parameters == {"alpha": 0.5}
    assert result_facts(files["clustering"]).parameters == {"directed": "ldbc"}
    found = read_result(files["pagerank"])
    assert found.parameters == {"alpha": 0.5}
    assert found.figures == {"iterations": 7, "residual": 1e-9, "error_bound": 5e-9}
    assert found.columns["pagerank"].tolist() == [0.25, 0.75]
    pq.write_table(pq.read_table(files["pagerank"]).replace_schema_metadata(), files["pagerank"])
    assert result_facts(files["pagerank"]).parameters is None, "an older graphtide kept none"
    found = read_result(files["pagerank"])
    assert found.parameters is None
    assert found.figures == {}
    assert found.columns["pagerank"].tolist() == [0.25, 0.75]


ALL = {"alpha": 0.85, "tol": 1e-6, "max_iter": 500, "weight": None, "networkx_tol": False}


@pytest.mark.parametrize(
    ("kind", "one", "other", "is_like"),
    [
        ("pagerank", {"alpha": 0.85, "tol": 1e-6, "max_iter": 500}, ALL, True),
        ("pagerank", {"alpha": 0.5}, ALL, False),
        ("pagerank", ALL, {**ALL, "personalization": {"3": 1.0}}, False),
        ("pagerank", None, ALL, True),
        # Before it was a parameter, clustering was LDBC's; undirected graphs have no such thing.
        ("clustering", {}, {"directed": "networkx"}, False),
        ("clustering", {}, {"directed": "ldbc"}, True),
        ("clustering", {}, {}, True),
        ("of tomorrow", {"a": 1}, {"a": 2}, True),
    ],
)
def test_results_are_alike_by_what_they_lack_too(kind, one, other, is_like):
    pair = ResultFacts(kind, one), ResultFacts(kind, other)
    assert [pair[0].is_like(pair[1]), pair[1].is_like(pair[0])] == [is_like] * 2
    assert not pair[0].is_like(ResultFacts("bfs", one))


def test_reports_tell_which_results_there_are(tmp_path):
    state = made(tmp_path / "s")
    write_reports(state, [report(0), report(1)], {1: ["pagerank"], 2: ["pagerank"]})
    write_reports(state, [report(2)], {2: ["pagerank", "clustering"]})
    write_reports(state, [report(3)])
    assert written_results(state) == {1: ["pagerank"], 2: ["clustering", "pagerank"]}


def test_results_that_failed_are_those_that_nobody_has_computed_since(tmp_path):
    state = made(tmp_path / "s")
    failed = [FailedResult(batch, "pagerank", "no memory") for batch in (0, 1, 3)]
    write_reports(state, [report(batch) for batch in range(3)], failed=failed)
    write_reports(state, [report(3)], failed=failed)
    ranks = {"vertex": np.array([1]), "pagerank": np.array([1.0])}
    write_result(state, 1, "pagerank", ranks, ResultFacts("pagerank", {}))
    assert failed_results(state, 4) == [failed[0], failed[2]]
    # After batch 3 there is no checkpoint: it is applied again.
    assert failed_results(state, 3) == [failed[0]]


def test_a_result_of_other_columns_is_damaged(tmp_path):
    state = made(tmp_path / "s")
    columns = {"vertex": np.array([1]), "rank": np.array([1.0])}
    path = write_result(state, 0, "pagerank", columns, ResultFacts("pagerank", {}))
    with pytest.raises(DamagedTableError, match="its columns are vertex, rank"):
        read_result(path)


def test_reports_of_a_state_that_counted_less_are_read(tmp_path):
    state = made(tmp_path / "s")
    path = write_reports(state, [report(0, rows_moved=3)])
    table = pq.read_table(path).drop_columns(["rows_moved"])
    pq.write_table(table.replace_schema_metadata(), path)
    assert read_reports(state) == [report(0, rows_moved=0)]


def test_reports_are_read_as_they_were(tmp_path):
    state = made(tmp_path / "s")
    source = BatchSource("a.parquet", 7, 7, 3, 9, "timestamp[us]")
    reports = [
        report(0, inserted=3, seconds={"read": 0.5, "apply": 1.0}, source=source),
        report(1, source=BatchSource("b.parquet", 0, 7)),
        report(2),
    ]
    assert write_reports(state, reports[:2]).name == "000000000000-000000000001.parquet"
    write_reports(state, reports[2:])
    assert write_reports(state, []) is None
    assert read_reports(state) == reports
    assert read_reports(state, first=1) == reports[1:]


def test_a_damaged_report_is_told_and_the_others_are_read(tmp_path):
    state = made(tmp_path / "s")
    path = write_reports(state, [report(0), report(1)])
    write_reports(state, [report(2)])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(StateError, match=rf"{path.name} is damaged .*; remove it"):
        read_reports(state)
    notes = []
    assert read_reports(state, notes=notes) == [report(2)]
    assert len(notes) == 1
    assert f"{path} is damaged" in notes[0]


def test_reports_of_a_replay_take_the_place_of_lost_ones(tmp_path):
    state = made(tmp_path / "s")
    write_reports(state, [report(0), report(1)])
    write_reports(state, [report(2, rows=1), report(3, rows=1)])
    write_reports(state, [report(4, rows=1)])
    # The checkpoints after batch 1 were lost, and the replay makes other groups.
    write_reports(state, [report(2), report(3), report(4)])
    assert read_reports(state) == [report(number) for number in range(5)]
    with pytest.raises(StateError, match="have gaps"):
        write_reports(state, [report(5), report(7)])


def test_reports_that_a_run_writes_in_another_group_meanwhile_are_read(tmp_path, monkeypatch):
    state = made(tmp_path / "s")
    write_reports(state, [report(0), report(1)])
    before = state.report_files()
    write_reports(state, [report(0)])
    write_reports(state, [report(1), report(2)])
    listings = iter([before, state.report_files()])
    monkeypatch.setattr(type(state), "report_files", lambda _: next(listings))
    assert read_reports(state) == [report(0), report(1), report(2)]


def test_what_a_run_lost_is_dropped_and_nothing_before_it(tmp_path):
    """The log may have other batches in their place, or fewer, for which nothing is written."""
    state = made(tmp_path / "s")
    one = {"vertex": np.array([1]), "pagerank": np.array([1.0])}
    none = {"vertex": np.array([], np.int64), "pagerank": np.array([])}
    facts = ResultFacts("pagerank", {})
    quarantine = Quarantine(state)
    quarantine.path.mkdir()
    for batch in range(4):
        write_reports(state, [report(batch)])
        write_summary(state, [report(batch)], {}, {})
        write_result(state, batch, "pagerank", one, facts)
        write_changes(state, batch, "other", changes_between(none, one, 0.0), facts, since=0)
        state.checkpoint(batch).mkdir(parents=True)
        (quarantine.path / f"batch={batch:012d}.parquet").touch()
    state.drop_from(2)
    quarantine.drop_from(2)
    drop_summary_from(state, 2)
    drop_changes_from(state, 2)
    assert read_reports(state) == [report(0), report(1)]
    assert read_summary(state)["batch"].tolist() == [0, 1]
    assert state.result_ids() == batches_with(state, "pagerank") == [0, 1]
    assert batches_with(state, "other") == [0, 1]
    assert state.checkpoint_ids() == [*quarantine.waiting()] == [0, 1]
