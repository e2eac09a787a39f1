"""Several results of one analytic, with names and parameters of their own, and what files keep."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import graphtide
from graphtide import SettingsError
from graphtide.flows.commands.status import Status
from graphtide.io.checked_tables import FACTS_KEY, _digest, read_facts
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.results import result_facts
from small_log import write_file

ROWS, BATCH_ROWS = 90, 30
START = np.datetime64("2024-01-01", "us")


def semantic_rows(number: int) -> dict[str, np.ndarray]:
    """Rows a second apart, but that each third one is a minute late."""
    draw = np.random.default_rng(number)
    seconds = number * ROWS + np.arange(ROWS) - 60 * (np.arange(ROWS) % 3 == 2)
    return {
        "op": draw.choice(np.array([1, 1, 1, -1], np.int8), ROWS),
        "src": draw.integers(0, 20, ROWS),
        "dst": draw.integers(0, 20, ROWS),
        "weight": draw.integers(1, 9, ROWS).astype(np.float64),
        "type": np.zeros(ROWS, np.int32),
        "ts": START + seconds.astype("m8[s]"),
    }


@pytest.fixture
def log(tmp_path: Path) -> Path:
    for number in range(2):
        write_file(tmp_path / "log", number, pa.table(semantic_rows(number)))
    return tmp_path / "log"


@pytest.fixture
def run(log, tmp_path, scheduler):
    def run(**settings):
        return graphtide.run(
            log, tmp_path / "state", scheduler=scheduler, records="semantic", engine="host",
            batch_rows=BATCH_ROWS, **settings,
        )  # fmt: skip

    return run


SEVERAL = {
    "analytics": ["pagerank", "fast=pagerank", "near=bfs", "paid=pagerank"],
    "fast": {"alpha": 0.5},
    "near": {"sources": [3, 999]},
    "paid": {"weight": "weight", "personalization": {"3": 1, 4: 2.5}, "dangling": {7: 1}},
}


def test_each_name_has_its_own_result(run):
    opened = run(**SEVERAL).open()
    graph, results = opened.graph, opened.results
    assert results.keys() == {"pagerank", "fast", "near", "paid"}
    expected = {
        "pagerank": graph.pagerank(),
        "fast": graph.pagerank(alpha=0.5),
        "paid": graph.pagerank(weight="weight", personalization={3: 1, 4: 2.5}, dangling={7: 1}),
    }
    for name, ranks in expected.items():
        assert results[name]["pagerank"].tobytes() == ranks.pagerank.tobytes()
        assert results[name].kind == "pagerank"
    np.testing.assert_array_equal(results["near"]["distance"], graph.bfs(3).distance)
    assert results["near"].kind == "bfs"
    assert results["fast"].parameters["alpha"] == 0.5
    assert results["paid"].parameters["personalization"] == {"3": 1.0, "4": 2.5}
    top = results["fast"].top(1)["vertex"].tolist()
    assert top == [int(expected["fast"].vertices[expected["fast"].pagerank.argmax()])]


def test_results_and_the_summary_say_what_they_are_of(run, tmp_path):
    report = run(**SEVERAL)
    summary = report.open().summary["results"]
    assert summary["fast"]["analytic"] == "pagerank"
    assert summary["fast"]["parameters"]["alpha"] == 0.5
    text = " ".join(str(report).split())
    assert " fast pagerank " in text
    assert "; alpha: 0.5 " in text
    assert "; dangling: 7 (1), personalization: 3 (1), 4 (2.5), weight: weight " in text
    assert "after rows 60 to 89 of 0001.parquet, ts 2024-01-01T00:01:32" in text


def test_a_seed_file_is_read_here_and_kept_by_its_digest(run, tmp_path):
    seeds = tmp_path / "seeds.csv"
    seeds.write_text("vertex,value\n3,1\n4,2.5\n999,1\n")
    wanted = {"analytics": ["pagerank"], "pagerank": {"personalization": str(seeds)}}
    report = run(**wanted)
    found = report.read_results("pagerank")
    expected = report.open().graph.pagerank(personalization={3: 1, 4: 2.5})
    assert found["pagerank"].tobytes() == expected.pagerank.tobytes()
    kept = found.parameters["personalization"]
    assert (kept["file"], kept["vertices"]) == (str(seeds), 3)
    assert run(**wanted).nothing_to_do
    seeds.write_text("vertex,value\n3,1\n")
    again = run(**wanted)
    assert again.batches_applied == 0
    expected = again.open().graph.pagerank(personalization={3: 1})
    assert again.read_results("pagerank")["pagerank"].tobytes() == expected.pagerank.tobytes()
    seeds.unlink()
    with pytest.raises(SettingsError, match=r"pagerank\.personalization: .*seeds\.csv cannot be r"):
        run(**wanted)


def test_seeds_that_are_not_in_the_graph_end_no_run(run):
    report = run(analytics=["pagerank"], pagerank={"personalization": {999: 1}})
    assert not report.read_results("pagerank")["pagerank"].any()
    assert "every rank is 0: no vertex of personalization" in " ".join(str(report).split())


def test_other_parameters_on_a_finished_state_compute_anew_and_say_so(run):
    run(analytics=["pagerank", "fast=pagerank"], fast={"alpha": 0.5}, analytics_every=2)
    newest = {"analytics": ["pagerank", "fast=pagerank"], "fast": {"alpha": 0.6}}
    second = run(**newest)
    assert (second.batches_applied, second.nothing_to_do) == (0, False)
    assert any("fast was computed with alpha: 0.5 after batch 5" in each for each in second.notes)
    expected = second.open().graph.pagerank(alpha=0.6)
    assert second.read_results("fast")["pagerank"].tobytes() == expected.pagerank.tobytes()
    assert second.read_results("fast").source == second.open().source
    third = run(**newest)
    assert third.nothing_to_do
    assert any("alpha: 0.5 after batch 3" in each for each in third.notes), "of two parameters"
    notes = Status(StateDirectory(third.state)).values()["notes"]
    assert notes == [
        "fast was computed with alpha: 0.5 after batches 1 to 3, and with alpha: 0.6 after batch 5"
    ]
    assert graphtide.read_results(second.state, "fast", 3).parameters["alpha"] == 0.5
    fourth = run(analytics=["fast=bfs"], fast={"sources": 3})
    assert any("fast was computed as pagerank after batch 5" in each for each in fourth.notes)
    assert fourth.read_results("fast").kind == "bfs"


def test_a_state_says_of_each_range_of_batches_how_a_result_was_computed(run, log):
    notes = []
    for number, alpha in enumerate((0.1, 0.3, 0.3, 0.4)):
        write_file(log, 2 + number, pa.table(semantic_rows(2 + number)))
        report = run(analytics=["fast=pagerank"], fast={"alpha": alpha}, analytics_every=1)
        notes += [each for each in report.notes if "computed" in each]
    assert notes == [
        "fast was computed with alpha: 0.1 after batch 8; this run computes it with alpha: 0.3",
        "fast was computed with alpha: 0.3 after batch 14; this run computes it with alpha: 0.4",
    ]
    assert Status(StateDirectory(report.state)).notes == [
        "fast was computed with alpha: 0.3 after batches 9 to 14, and with alpha: 0.4 after "
        "batches 15 to 17",
        "fast was computed with alpha: 0.1 after batches 0 to 8, and with alpha: 0.3 after "
        "batches 9 to 14",
    ]


def expected_source(batch_id: int) -> tuple:
    number, first = divmod(batch_id * BATCH_ROWS, ROWS)
    ts = semantic_rows(number)["ts"][first : first + BATCH_ROWS].astype(np.int64)
    unit = "timestamp[us]"
    return (f"{number:04d}.parquet", first, BATCH_ROWS, ts.min(), ts.max(), unit)


def test_reports_and_results_say_which_rows_and_times_a_batch_was(run):
    report = run(analytics=["pagerank"], analytics_every=2, checkpoint_every=3)
    expected = [expected_source(batch_id) for batch_id in range(6)]
    assert [each.source for each in report.reports] == expected
    opened = report.open()
    assert [each.source for each in opened.reports] == expected
    assert opened.summary["source"] == dict(
        zip(("file", "first_row", "rows", "first_ts", "last_ts", "time_unit"), expected[5],
            strict=True)
    )  # fmt: skip
    for batch_id in (1, 3, 5):
        found = graphtide.read_results(report.state, "pagerank", batch_id)
        assert found.source == expected[batch_id]
        facts = read_facts(StateDirectory(report.state).results(batch_id) / "pagerank.parquet")
        assert facts["batch"] == batch_id
        assert facts["source"]["first_ts"] == expected[batch_id][3]
    tables = sorted((Path(report.state) / "batches").glob("*.parquet"))
    frame = pd.concat(map(pd.read_parquet, tables))
    assert frame["file"].tolist() == [each[0] for each in expected]
    assert frame["last_ts"].tolist() == [each[4] for each in expected]


def as_before_sources(state: Path) -> None:
    """Take out of results and reports what an older graphtide did not keep."""
    for path in [*state.glob("results/*/*.parquet"), *state.glob("batches/*.parquet")]:
        table = pq.read_table(path, partitioning=None)
        facts = read_facts(path)
        for name in ("analytic", "batch", "source"):
            facts.pop(name, None)
        if "parameters" in facts:
            kept = {name: facts["parameters"][name] for name in ("alpha", "tol", "max_iter")}
            facts["parameters"] = kept
        more = ["file", "first_row", "first_ts", "last_ts", "time_unit"]
        table = table.drop_columns([name for name in more if name in table.column_names])
        text = json.dumps(facts, sort_keys=True)
        keys = {FACTS_KEY: text, b"graphtide.digest": _digest(table, text)}
        pq.write_table(table.replace_schema_metadata(keys), path)


def test_a_state_of_before_goes_on(run, log):
    state = Path(run(analytics=["pagerank"], analytics_every=2).state)
    as_before_sources(state)
    before = {path: path.read_bytes() for path in state.glob("results/*/*")}
    again = run(analytics=["pagerank"])
    assert again.nothing_to_do
    assert again.notes == []
    assert {path: path.read_bytes() for path in state.glob("results/*/*")} == before
    assert again.read_results("pagerank").source is None
    assert again.open().source == (*expected_source(5)[:3], None, None, None)
    write_file(log, 2, pa.table(semantic_rows(2)))
    more = run(analytics=["pagerank", "fast=pagerank"], fast={"alpha": 0.5})
    assert more.batches_applied == 3
    assert more.read_results("fast").source == expected_source(8)
    sources = [each.source for each in more.open().reports]
    assert sources == [None] * 6 + [expected_source(batch_id) for batch_id in (6, 7, 8)]


def test_a_result_computed_later_on_a_state_of_before_knows_its_rows(run):
    state = Path(run(analytics=[]).state)
    as_before_sources(state)
    found = run(analytics=["pagerank"]).read_results("pagerank")
    assert found.source == (*expected_source(5)[:3], None, None, None)
    assert result_facts(next(state.glob("results/*/pagerank.parquet"))).kind == "pagerank"
