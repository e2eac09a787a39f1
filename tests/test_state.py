"""The state directory: identity, lock, plan, results and reports."""

import json
import os
import signal
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from graphtide import BatchReport, StateError
from graphtide.io.durable import new_file
from graphtide.io.plan import BatchPlan
from graphtide.io.results import (
    read_reports,
    result_files,
    write_clustering,
    write_pagerank,
    write_reports,
)
from graphtide.io.state import StateDirectory, absolute_address
from graphtide.io.update_log import LogFile

IDENTITY = {
    "directed": True,
    "records": "simple",
    "ids": "any",
    "reverse": True,
    "self_loops": "drop",
    "create_vertices": True,
}


def made(path, **changes):
    """A state of IDENTITY at path."""
    state = StateDirectory(path)
    arguments = {"identity": IDENTITY, "log_address": "/log", "columns": {}, "time_unit": None}
    with state.lock():
        state.create_or_open(**{**arguments, **changes})
    return state


def contents(path):
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*.*")}


# -- identity


def test_a_state_is_made_once_and_opened_again(tmp_path):
    state = made(tmp_path / "deep" / "s", columns={"src": "a"}, time_unit="int64")
    before = contents(state.path)
    again = made(state.path, columns={"src": "a"}, time_unit="int64")
    assert contents(state.path) == before
    settings = again.settings()
    assert settings.identity == IDENTITY
    assert (settings.columns, settings.time_unit) == ({"src": "a"}, "int64")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"identity": {**IDENTITY, "directed": False}}, ["directed: true", "directed: false"]),
        ({"identity": {**IDENTITY, "records": "weighted"}}, ["records: simple", "weighted"]),
        ({"identity": {**IDENTITY, "ids": "dense"}}, ["ids: any", "ids: dense"]),
        ({"columns": {"src": "a"}}, ["columns: {}", "columns: {src: a}"]),
        ({"time_unit": "int64"}, ["unit of time: none", "unit of time: int64"]),
        ({"log_address": "/other"}, ["log: /log", "log: /other"]),
    ],
)
def test_a_contradicting_run_is_refused_and_changes_nothing(tmp_path, changes, words):
    state = made(tmp_path / "s")
    before = contents(state.path)
    with pytest.raises(StateError) as caught:
        made(state.path, **changes)
    for word in [*words, "another --state"]:
        assert word in str(caught.value)
    assert contents(state.path) == before


def test_every_contradiction_is_named_and_nothing_else(tmp_path):
    state = made(tmp_path / "s")
    wanted = {**IDENTITY, "directed": False, "reverse": False}
    with pytest.raises(StateError) as caught:
        made(state.path, identity=wanted)
    assert "directed: true, reverse: true, but" in str(caught.value)
    assert "records" not in str(caught.value)


def test_the_same_log_by_another_spelling(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    state = made("s", log_address="log")
    for spelling in ("./log", f"{tmp_path}/log/", f"file://{tmp_path}/log"):
        made(state.path, log_address=spelling)
    assert absolute_address("s3://bucket/log/") == "s3://bucket/log"


@pytest.mark.parametrize("version", [0, 2, None])
def test_a_state_of_another_version(tmp_path, version):
    state = made(tmp_path / "s")
    file = state.path / "graphtide.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "version": version}))
    with pytest.raises(StateError, match=f"is of version {version}"):
        state.settings()
    with pytest.raises(StateError, match=f"is of version {version}"):
        made(state.path)


def test_what_is_no_state(tmp_path):
    with pytest.raises(StateError, match="there is no graphtide state"):
        StateDirectory(tmp_path / "nowhere").settings()
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(StateError, match=r"not empty \(thesis.txt is in it\)"):
        made(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(StateError, match="is a file"):
        made(tmp_path / "thesis.txt")
    with pytest.raises(StateError, match="local disk"):
        StateDirectory("s3://bucket/state")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "graphtide state", "version": 1}'])
def test_a_damaged_state_file(tmp_path, text):
    state = made(tmp_path / "s")
    (state.path / "graphtide.json").write_text(text)
    with pytest.raises(StateError, match=r"graphtide\.json"):
        state.settings()


# -- the lock


def test_one_run_at_a_time(tmp_path):
    state = made(tmp_path / "s")
    with (
        state.lock(),
        pytest.raises(StateError, match=f"in use by process {os.getpid()} "),
        StateDirectory(state.path).lock(),
    ):
        pass
    with state.lock():
        pass


def test_a_killed_run_gives_the_lock_back_and_its_leftovers_go(tmp_path):
    state = made(tmp_path / "s")
    script = (
        "import sys, time\n"
        "from graphtide.io.state import StateDirectory\n"
        "with StateDirectory(sys.argv[1]).lock():\n"
        "    print('locked', flush=True)\n"
        "    time.sleep(100)\n"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", script, str(state.path)], stdout=subprocess.PIPE, text=True
    )
    with run:
        assert run.stdout.readline() == "locked\n"
        with pytest.raises(StateError, match=f"in use by process {run.pid} "), state.lock():
            pass
        run.send_signal(signal.SIGKILL)
    half = state.path / "checkpoints" / "batch=000000000003.tmp"
    half.mkdir(parents=True)
    (half / "edges.parquet").write_bytes(b"x")
    torn = state.results(1) / "pagerank.parquet.tmp"
    torn.parent.mkdir(parents=True)
    torn.write_bytes(b"x")
    with state.lock():
        assert not half.exists()
        assert not torn.exists()


def test_a_run_that_makes_no_state_leaves_no_folder(tmp_path):
    state = StateDirectory(tmp_path / "s")
    with pytest.raises(ZeroDivisionError), state.lock():
        raise ZeroDivisionError
    assert not state.path.exists()
    state.path.mkdir()
    with state.lock():
        pass
    assert list(state.path.iterdir()) == []


# -- the plan


def test_the_plan_grows_in_parts(tmp_path):
    state = made(tmp_path / "s")
    assert state.read_plan() == BatchPlan()
    files = [LogFile("a", 1, "f", 10, (10,)), LogFile("b", 1, "g", 0, ())]
    plan = BatchPlan().extended(files[:1], 3)
    state.write_plan(plan)
    state.write_plan(plan)
    longer = plan.extended(files, 5)
    state.write_plan(longer)
    assert state.read_plan() == longer
    parts = sorted(part.name for part in (state.path / "plan").iterdir())
    assert parts == ["000000000000.json", "000000000001.json"]
    # Planned anew from the first file on: the newest part counts.
    other = BatchPlan().extended(files, 4)
    state.write_plan(other)
    assert state.read_plan() == other
    state.write_plan(BatchPlan(other.files[:1]))
    assert state.read_plan() == BatchPlan(other.files[:1])
    (state.path / "plan" / parts[0]).unlink()
    with pytest.raises(StateError, match=r"part 000000000000\.json .* missing"):
        state.read_plan()


# -- results and reports


def report(batch_id, **changes):
    nothing = {**dict.fromkeys(BatchReport._fields, 0), "seconds": {}}
    return BatchReport(**{**nothing, "batch_id": batch_id, "rows": 7, **changes})


def test_results_are_tables(tmp_path):
    state = made(tmp_path / "s")
    write_pagerank(state, 12, [1, 2], [0.25, 0.75])
    write_clustering(state, 12, [1, 2], [3, 4], [5, 6], [0.5, 1])
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


def test_reports_of_a_state_that_counted_less_are_read(tmp_path):
    state = made(tmp_path / "s")
    path = write_reports(state, [report(0, rows_moved=3)])
    pq.write_table(pq.read_table(path).drop_columns(["rows_moved"]), path)
    assert read_reports(state) == [report(0, rows_moved=0)]


def test_reports_are_read_as_they_were(tmp_path):
    state = made(tmp_path / "s")
    reports = [report(0, inserted=3, seconds={"read": 0.5, "apply": 1.0}), report(1), report(2)]
    assert write_reports(state, reports[:2]).name == "000000000000-000000000001.parquet"
    write_reports(state, reports[2:])
    assert write_reports(state, []) is None
    assert read_reports(state) == reports
    assert read_reports(state, first=1) == reports[1:]


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


def write_half(path):
    path.write_text("half")
    raise ZeroDivisionError


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), new_file(path) as temporary:
        write_half(temporary)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]
    with pytest.raises(StateError, match="cannot be written"), new_file(path / "b"):
        pass
