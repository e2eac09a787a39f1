"""Checkpoints: read back bit by bit, found when whole, skipped when broken."""

import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

from graphtide import ArenaFullError, DynamicGraph, StateError, __version__
from graphtide.gpu_core.copies.checkpoint_pieces import LEAST_PIECE, apply_pieces
from graphtide.gpu_core.records import RECORDS
from graphtide.io.hashed_json import read_json, write_json
from graphtide.io.log.log_listing import LogFile
from graphtide.io.log.plan import BatchPlan
from graphtide.io.state.checkpoint import check_state_hash, newest_checkpoint, write_checkpoint
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.state_settings import StateSettings
from old_state import change_json, flip, make_version_1


@pytest.fixture
def state(tmp_path):
    state = StateDirectory(tmp_path / "s")
    with state.lock():
        state.create_or_open(StateSettings({"directed": True}, "/log", {}, None))
        yield state


def arrays_of(records, edges=1000, seed=0):
    rng = np.random.default_rng(seed)
    arrays = {
        "vertex_ids": rng.integers(-(2**63), 2**63 - 1, 100),
        "present": rng.random(100) < 0.9,
        "free_indices": rng.permutation(10).astype(np.uint32),
        "out_degree": rng.multinomial(edges, np.full(100, 1 / 100)).astype(np.uint32),
        "dst_index": rng.integers(0, 2**32, edges, dtype=np.uint32),
    }
    if records != "simple":
        arrays["weight"] = rng.standard_normal(edges).astype(RECORDS[records].weights)
    if records.startswith("semantic"):
        arrays["type"] = rng.integers(-(2**31), 2**31, edges).astype(np.int32)
        arrays["first"] = rng.integers(-(2**63), 2**63 - 1, edges)
        arrays["last"] = rng.integers(-(2**63), 2**63 - 1, edges)
    return arrays


def write(state, batch_id, records, **arguments):
    write_checkpoint(state, batch_id, arrays_of(records, **arguments), lambda: "abc")


@pytest.mark.parametrize("records", list(RECORDS))
@pytest.mark.parametrize("edges", [0, 1000])
def test_what_is_read_is_what_was_written(state, records, edges):
    arrays = arrays_of(records, edges)
    written = write_checkpoint(state, 7, arrays, lambda: "abc", {"num_edges": edges})
    assert written.path == state.path / "checkpoints/batch=000000000007"
    checkpoint = newest_checkpoint(state)
    assert checkpoint == written
    assert checkpoint.batch_id == 7
    assert checkpoint.manifest["state_hash"] == "abc"
    assert checkpoint.manifest["num_edges"] == edges
    assert checkpoint.manifest["watermark"] == 7
    assert checkpoint.manifest["graphtide"] == __version__
    read = checkpoint.arrays()
    assert set(read) == set(arrays)
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype
        np.testing.assert_array_equal(read[name], array, err_msg=name)


def test_the_mean_degree_that_pages_were_made_for_is_kept(state):
    write_checkpoint(state, 1, arrays_of("simple"), lambda: "abc")
    assert "mean_degree" not in newest_checkpoint(state).arrays()
    arrays = {**arrays_of("simple"), "mean_degree": np.array([2.625])}
    write_checkpoint(state, 2, arrays, lambda: "abc")
    assert newest_checkpoint(state).arrays()["mean_degree"].tolist() == [2.625]


def test_nothing_is_there_at_first(state):
    notes = []
    assert newest_checkpoint(state, notes) is None
    assert notes == []


def test_the_newest_two_are_kept(state):
    for batch_id in (0, 5, 9, 10):
        write(state, batch_id, "simple", seed=batch_id)
    assert state.checkpoint_ids() == [9, 10]
    names = sorted(path.name for path in (state.path / "checkpoints").iterdir())
    assert names == ["batch=000000000009", "batch=000000000010"]
    assert newest_checkpoint(state).batch_id == 10


def write_manifest(path, **values):
    """As if it had been written like this."""
    manifest = read_json(path / "manifest.json", must_have_hash=True)
    write_json(path / "manifest.json", {**manifest, **values})


FILES = ("vertices.parquet", "free_indices.parquet", "edges.parquet")

BREAKS = {
    "edges.parquet is not as it was written": lambda path: flip(path / "edges.parquet", 100),
    "vertices.parquet is not": lambda path: flip(path / "vertices.parquet", -1),
    "free_indices.parquet is missing": lambda path: (path / "free_indices.parquet").unlink(),
    "manifest.json is missing": lambda path: (path / "manifest.json").unlink(),
    "manifest.json is damaged: it is no JSON": lambda path: (path / "manifest.json").write_text(
        "{"
    ),
    "the hash of its content is missing": lambda path: (path / "manifest.json").write_text(
        '{"format": 2}'
    ),
    "its content does not have the hash": lambda path: change_json(
        path / "manifest.json", num_edges=999
    ),
    "its manifest.json says watermark: 1": lambda path: write_manifest(path, watermark=1),
    "its manifest.json has no state hash": lambda path: write_manifest(path, state_hash=None),
    "its manifest.json does not name its files": lambda path: write_manifest(
        path, files={name: {"bytes": 1, "sha256": "0"} for name in (*FILES, "../state.json")}
    ),
    "manifest.json is damaged: KeyError('bytes')": lambda path: write_manifest(
        path, files={name: {"sha256": "0"} for name in FILES}
    ),
    "tells of 2575 num_edges, its files of 1000": lambda path: write_manifest(path, num_edges=2575),
    "tells of 5 num_vertices, its files of": lambda path: write_manifest(path, num_vertices=5),
    f"its format is not 2, the one of graphtide {__version__}": lambda path: write_manifest(
        path, format=1
    ),
}


@pytest.mark.parametrize("fault", BREAKS)
def test_a_broken_one_is_skipped_with_a_note(state, fault):
    for batch_id in (1, 2):
        write(state, batch_id, "simple", seed=batch_id)
    BREAKS[fault](state.checkpoint(2))
    notes = []
    checkpoint = newest_checkpoint(state, notes)
    assert checkpoint.batch_id == 1
    assert len(notes) == 1
    assert "batch=000000000002" in notes[0]
    assert fault in notes[0]


def test_a_replay_replaces_what_was_broken(state):
    for batch_id in (1, 5):
        write(state, batch_id, "simple", seed=batch_id)
    flip(state.checkpoint(5) / "edges.parquet", 50)
    # The run goes on from batch 1.
    write(state, 3, "simple", seed=3)
    assert state.checkpoint_ids() == [1, 3]
    write(state, 3, "weighted", seed=4)
    assert "weight" in newest_checkpoint(state).arrays()


def test_half_a_checkpoint_has_no_name(state):
    write(state, 1, "simple")
    with pytest.raises(ZeroDivisionError):
        write_checkpoint(state, 2, arrays_of("simple"), lambda: 1 // 0)
    assert state.checkpoint_ids() == [1]
    shutil.copytree(state.checkpoint(1), state.path / "checkpoints/batch=000000000002.tmp")
    assert newest_checkpoint(state).batch_id == 1


def test_a_writer_that_fails_leaves_the_old_ones(state):
    write(state, 1, "simple")
    with pytest.raises(TypeError):
        write_checkpoint(state, 2, arrays_of("simple"), lambda: "abc", {"not JSON": object()})
    assert [path.name for path in (state.path / "checkpoints").iterdir()] == ["batch=000000000001"]


def test_a_checkpoint_that_went_away_meanwhile(state):
    write(state, 1, "simple")
    checkpoint = newest_checkpoint(state)
    shutil.rmtree(checkpoint.path)
    with pytest.raises(StateError, match="cannot be read"):
        checkpoint.arrays()


def test_a_checkpoint_that_goes_away_while_it_is_read(state, monkeypatch):
    """As a run does that writes newer ones: its files were opened, and its manifest is gone."""
    write(state, 1, "simple")
    checkpoint = newest_checkpoint(state)

    def read_then_lose(path, **arguments):
        table = read_table(path, **arguments)
        if path.name == "edges.parquet":
            shutil.rmtree(checkpoint.path)
        return table

    read_table = pq.read_table
    monkeypatch.setattr(pq, "read_table", read_then_lose)
    with pytest.raises(StateError, match="was removed or changed while it was read; run again"):
        checkpoint.arrays()


def test_files_of_another_graph_are_seen_by_their_counts(state):
    """As if the hashes of the files had been worked out after they were mixed up."""
    for batch_id, edges in ((1, 1000), (2, 1001)):
        write(state, batch_id, "simple", edges=edges, seed=batch_id)
    mixed = state.checkpoint(2)
    shutil.copy(state.checkpoint(1) / "edges.parquet", mixed)
    files = read_json(mixed / "manifest.json", must_have_hash=True)["files"]
    before = read_json(state.checkpoint(1) / "manifest.json", must_have_hash=True)["files"]
    write_manifest(mixed, files={**files, "edges.parquet": before["edges.parquet"]})
    notes = []
    assert newest_checkpoint(state, notes).batch_id == 1
    assert "its vertices have 1001 edges, edges.parquet has 1000" in notes[0]


def test_a_checkpoint_without_a_hash_is_looked_at_and_taken(state):
    write(state, 1, "simple")
    write(state, 2, "simple")
    make_version_1(state.path)
    assert newest_checkpoint(state).batch_id == 2
    change_json(state.checkpoint(2) / "manifest.json", num_edges=999)
    assert newest_checkpoint(state).batch_id == 1
    state.create_or_open(StateSettings({"directed": True}, "/log", {}, None))
    assert newest_checkpoint(state).batch_id == 1
    change_json(state.checkpoint(1) / "manifest.json", handover={})
    assert newest_checkpoint(state) is None


def test_a_graph_with_another_state_hash():
    check_state_hash("abc", "abc", 7)
    with pytest.raises(StateError, match=r"batch=000000000007 has the state hash abc.* says abd"):
        check_state_hash("abc", "abd", 7)


def test_a_checkpoint_of_another_plan(state):
    plan = BatchPlan().extended([LogFile("a", 1, "f", 10, (10,))], 2)
    extra = {"plan": plan.cut_hash(3)}
    checkpoint = write_checkpoint(state, 2, arrays_of("simple"), lambda: "abc", extra)
    checkpoint.check_plan(plan)
    for other in (BatchPlan().extended([LogFile("a", 1, "f", 10, (10,))], 3), BatchPlan()):
        with pytest.raises(StateError, match=r"the plan in .*/plan is not the one that checkpoint"):
            checkpoint.check_plan(other)
    older = write_checkpoint(state, 3, arrays_of("simple"), lambda: "abc")
    older.check_plan(plan)
    with pytest.raises(StateError, match=r"batch=000000000003 was made by"):
        older.check_plan(BatchPlan().extended([LogFile("a", 1, "f", 6, (6,))], 2))


@pytest.mark.parametrize("room", [LEAST_PIECE, 10 * LEAST_PIECE, LEAST_PIECE - 1])
def test_pieces_get_smaller_until_there_is_scratch_for_them(room):
    arrays, kind = arrays_of("simple"), DynamicGraph(engine="host").kind
    applied, firsts = [], []

    def apply(batch, is_first):
        if batch.rows > room:
            raise ArenaFullError
        sources = np.repeat(batch.put_rows, np.diff(batch.put_indptr))
        applied.append(np.stack([sources, batch.put_indices]))
        firsts.append(is_first)

    if room < LEAST_PIECE:
        with pytest.raises(ArenaFullError):
            apply_pieces(arrays, kind, apply)
        assert not applied
        return
    apply_pieces(arrays, kind, apply)
    sources = np.repeat(np.arange(100), arrays["out_degree"])
    expected = np.stack([sources, arrays["dst_index"]])
    assert np.concatenate(applied, axis=1).tolist() == expected.tolist()
    assert firsts == [True] + [False] * (len(firsts) - 1)
