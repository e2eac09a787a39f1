"""The state directory: identity, lock, plan, results and reports."""

import os
import random
import signal
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

from graphtide import BatchReport, StateError, UpdateLogError
from graphtide.gpu_core.algorithms.centrality.pagerank import PageRankResult
from graphtide.gpu_core.algorithms.registry import ANALYTICS
from graphtide.gpu_core.algorithms.triangles.clustering import ClusteringResult, HostColumns
from graphtide.gpu_core.report import BatchSource
from graphtide.io.durable import new_file
from graphtide.io.hashed_json import add_hash, read_json, write_json
from graphtide.io.log.plan import BatchPlan
from graphtide.io.log.update_log import LogFile
from graphtide.io.state.directory import StateDirectory, absolute_address
from graphtide.io.state.results import (
    ResultFacts,
    read_reports,
    read_result,
    result_facts,
    result_files,
    write_reports,
    write_result,
    written_results,
)
from old_state import change_json, make_version_1

IDENTITY = {
    "directed": True,
    "records": "simple",
    "weights": "float32",
    "ids": "any",
    "reverse": True,
    "self_loops": "drop",
    "create_vertices": True,
    "on_repeat": "last",
    "properties": {},
    "vertex_properties": {},
    "time_window": None,
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


#: What states do not say that were made before there was another value of it.
LATER = ("weights", "on_repeat", "properties", "vertex_properties", "time_window")


def test_a_state_from_before_there_were_other_weights_goes_on_with_the_last_of_float32(tmp_path):
    older = {name: IDENTITY[name] for name in IDENTITY if name not in LATER}
    state = made(tmp_path / "s", identity=older)
    assert state.settings().identity == IDENTITY
    made(state.path)
    with pytest.raises(StateError, match="run asks for weights: float64"):
        made(state.path, identity={**IDENTITY, "weights": "float64"})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"identity": {**IDENTITY, "directed": False}}, ["directed: true", "directed: false"]),
        ({"identity": {**IDENTITY, "records": "weighted"}}, ["records: simple", "weighted"]),
        ({"identity": {**IDENTITY, "ids": "dense"}}, ["ids: any", "ids: dense"]),
        ({"identity": {**IDENTITY, "on_repeat": "sum"}}, ["on_repeat: last", "on_repeat: sum"]),
        ({"columns": {"src": "a"}}, ["columns: {}", "columns: {src: a}"]),
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


def test_the_unit_of_time_is_that_of_the_first_times(tmp_path):
    """Files before may have had none."""
    state = made(tmp_path / "s")
    made(state.path, time_unit="int64")
    assert state.settings().time_unit == "int64"
    with pytest.raises(StateError, match=r"unit of time: int64, but .* unit of time: none"):
        made(state.path)


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


@pytest.mark.parametrize("version", [0, 3, None])
def test_a_state_of_another_version(tmp_path, version):
    state = made(tmp_path / "s")
    file = state.path / "graphtide.json"
    write_json(file, {**read_json(file, must_have_hash=True), "version": version})
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


# -- hashes


def with_a_plan(path):
    """A state with a plan of two parts."""
    state = made(path)
    files = [LogFile("a", 1, "f", 10, (10,)), LogFile("b", 1, "g", 5, (5,))]
    plan = BatchPlan().extended(files[:1], 3)
    state.write_plan(plan)
    state.write_plan(plan.extended(files, 3))
    return state


@pytest.mark.parametrize("name", ["graphtide.json", *(f"plan/{n:012d}.json" for n in (0, 1))])
def test_a_changed_byte_of_a_state_is_refused_by_the_name_of_the_file(tmp_path, name):
    state = with_a_plan(tmp_path / "s")
    settings, plan = state.settings(), state.read_plan()
    file = state.path / name
    whole, draw = file.read_bytes(), random.Random(name)
    refused = 0
    for place in range(len(whole)):
        other = bytes([whole[place] ^ 1 << draw.randrange(7)])
        file.write_bytes(whole[:place] + other + whole[place + 1 :])
        try:
            assert (state.settings(), state.read_plan()) == (settings, plan), place
        except StateError as error:
            refused += file.name in str(error)
            continue
        # An indentation, or what JSON takes for the same.
        refused += 1
    assert refused == len(whole)


def test_a_lost_hash_does_not_make_a_file_old(tmp_path):
    state = with_a_plan(tmp_path / "s")
    for file in sorted(state.path.rglob("*.json")):
        whole = file.read_bytes()
        for lost in (b"", b'"sha25v": "'):
            start, end = whole.index(b'"sha256": "'), whole.index(b"}", -3)
            head = whole[:start].rstrip(b", \n") + (b"," if lost else b"")
            file.write_bytes(head + (lost + whole[start + 11 : end] if lost else b"") + b"}")
            with pytest.raises(StateError, match=rf"{file.name} is damaged"):
                (state.settings(), state.read_plan())
        file.write_bytes(whole)
    # Not even with the version that was without.
    file = state.path / "graphtide.json"
    text = file.read_text().replace('"version": 2', '"version": 1')
    for damaged in (text, text.replace("sha256", "sha25v")):
        file.write_text(damaged)
        with pytest.raises(StateError, match=r"graphtide\.json is damaged"):
            state.settings()


def test_a_log_may_be_read_another_way_until_there_is_a_checkpoint(tmp_path):
    """A row that is late, or an unknown word, ends a run with advice that must not be refused."""
    in_order = {"order_by": "ts"}
    within = {"order_by": "ts", "order_within": "5m", "op_insert": ["upsert"]}
    state = made(tmp_path / "s", reading=in_order)
    made(state.path, reading=within)
    assert state.settings().reading == within
    with pytest.raises(StateError, match="was made with columns"):
        made(state.path, reading=in_order, columns={"src": "a"})
    (state.path / "checkpoints" / "batch=000000000000").mkdir(parents=True)
    with pytest.raises(StateError, match=r"was made with op_insert: .*, order_within: 5m, but"):
        made(state.path, reading=in_order)
    assert state.settings().reading == within


def test_words_may_be_added_while_no_row_was_left_out_for_them(tmp_path):
    """An error names op_insert for an unknown word, also behind the first checkpoint."""
    state = made(tmp_path / "s", reading={"op_insert": ["c"]})
    (state.path / "checkpoints" / "batch=000000000000").mkdir(parents=True)
    more = {"op_insert": ["u", "C"], "op_delete": ["x"]}
    with pytest.raises(StateError, match=r"was made with op_delete: none, op_insert: \[c\], but"):
        made(state.path, reading=more)
    made(state.path, reading=more, may_add_words=True)
    assert state.settings().reading == more
    others = [
        {"op_insert": ["u"], "op_delete": ["x"]},  # one less
        {"op_insert": ["u", "c", "x"]},  # one that means something else
        {"op_insert": ["u", "c", "delete"], "op_delete": ["x"]},  # likewise, of every log
        {**more, "op_insert": ["u", "c", "y"], "order_by": "ts"},
    ]
    for other in others:
        with pytest.raises(StateError, match="was made with"):
            made(state.path, reading=other, may_add_words=True)
    assert state.settings().reading == more


def test_a_state_without_hashes_is_taken_once_and_gets_them(tmp_path):
    state = with_a_plan(tmp_path / "s")
    hashed, plan = contents(state.path), state.read_plan()
    make_version_1(state.path)
    assert state.read_plan() == plan
    assert not state.must_have_hashes
    with pytest.raises(StateError, match=r"was made with .*, or remove .*s, which has no"):
        made(state.path, log_address="/other")
    assert not state.must_have_hashes, "a run that was refused changed the state"
    # Somebody was killed in the middle.
    first = sorted(state.path.glob("plan/*.json"))[0]
    add_hash(first)
    assert state.read_plan() == plan
    made(state.path)
    assert contents(state.path) == hashed
    make_version_1(state.path)
    made(state.path)
    change_json(first, first_file=1)
    with pytest.raises(StateError, match=rf"{first.name} is damaged"):
        state.read_plan()


@pytest.mark.parametrize(
    "changes",
    [
        {"first_file": "x"},
        {"first_file": -1},
        {"first_file": 1},
        {"first_file": None},
        {"files": {}},
        {"files": [{"file": "a", "fingerprint": "f", "rows": 10, "batch_rows": 0}]},
        {"files": [{"file": "a", "fingerprint": "f", "rows": "ten", "batch_rows": 3}]},
    ],
)
def test_a_plan_without_hashes_is_looked_at(tmp_path, changes):
    state = with_a_plan(tmp_path / "s")
    make_version_1(state.path)
    change_json(state.path / "plan" / "000000000000.json", **changes)
    with pytest.raises(StateError, match=r"000000000000\.json is damaged"):
        state.read_plan()


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


def test_a_folder_that_cannot_be_made_is_refused():
    with pytest.raises(StateError, match="state /proc/x cannot be written"):
        StateDirectory("/proc/x").lock().__enter__()


def test_a_file_in_the_place_of_the_locked_folder_is_told_as_a_folder_is(tmp_path):
    state = StateDirectory(tmp_path / "state")
    with state.lock():
        state.path.rename(tmp_path / "elsewhere")
        state.path.write_text("not a folder")
        with pytest.raises(StateError, match="was moved, emptied or replaced"):
            state.check_lock()
    # And the lock is given back.
    with StateDirectory(tmp_path / "elsewhere").lock():
        pass


@pytest.mark.parametrize("change", ["moved", "emptied", "replaced"])
def test_a_folder_that_comes_to_the_place_of_the_locked_one_is_left_as_it_is(tmp_path, change):
    other = made(tmp_path / "other")
    state = StateDirectory(tmp_path / "state")
    with state.lock():
        state.check_lock()
        if change == "emptied":
            (state.path / "lock").unlink()
        else:
            state.path.rename(tmp_path / "elsewhere")
        if change == "replaced":
            other.path.rename(state.path)
        with pytest.raises(StateError, match=r"state was moved, emptied or replaced while a run"):
            state.check_lock()
        if change != "moved":
            # A run that goes on there, and has made no state yet.
            (state.path / "graphtide.json").unlink(missing_ok=True)
            (state.path / "lock").write_text("process 7")
    assert state.path.exists() == (change != "moved")
    if change != "moved":
        assert (state.path / "lock").read_text() == "process 7"


def test_a_killed_run_gives_the_lock_back_and_its_leftovers_go(tmp_path):
    state = made(tmp_path / "s")
    script = (
        "import sys, time\n"
        "from graphtide.io.state.directory import StateDirectory\n"
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
    nothing = {
        **dict.fromkeys(BatchReport._fields, 0),
        "seconds": {},
        "effects": None,
        "source": None,
    }
    return BatchReport(**{**nothing, "batch_id": batch_id, "rows": 7, **changes})


def test_results_are_tables(tmp_path):
    state = made(tmp_path / "s")
    vertices = np.array([1, 2])
    ranks = PageRankResult(vertices, np.array([0.25, 0.75]), 7, 1e-9, None, 5e-9)
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


@pytest.mark.parametrize("address", ["", [], (), ["a", ""]])
def test_an_address_that_is_none_is_refused(address: object) -> None:
    with pytest.raises(UpdateLogError, match="an address of the log is empty"):
        absolute_address(address)
