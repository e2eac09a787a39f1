"""Checkpoints: read back bit by bit, found when whole, skipped when broken."""

import json
import shutil

import numpy as np
import pytest

from graphtide import StateError, __version__
from graphtide.io.checkpoint import newest_checkpoint, write_checkpoint
from graphtide.io.state import StateDirectory


@pytest.fixture
def state(tmp_path):
    state = StateDirectory(tmp_path / "s")
    with state.lock():
        state.create_or_open({"directed": True}, "/log", {}, None)
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
        arrays["weight"] = rng.standard_normal(edges).astype(np.float32)
    if records == "semantic":
        arrays["type"] = rng.integers(-(2**31), 2**31, edges).astype(np.int32)
        arrays["first"] = rng.integers(-(2**63), 2**63 - 1, edges)
        arrays["last"] = rng.integers(-(2**63), 2**63 - 1, edges)
    return arrays


def write(state, batch_id, records, **arguments):
    write_checkpoint(state, batch_id, arrays_of(records, **arguments), lambda: "abc")


@pytest.mark.parametrize("records", ["simple", "weighted", "semantic"])
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


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def change_manifest(path, **values):
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**manifest, **values}))


BREAKS = {
    "edges.parquet is not as it was written": lambda path: flip(path / "edges.parquet", 100),
    "vertices.parquet is not": lambda path: flip(path / "vertices.parquet", -1),
    "free_indices.parquet is missing": lambda path: (path / "free_indices.parquet").unlink(),
    "manifest.json is missing": lambda path: (path / "manifest.json").unlink(),
    "JSONDecodeError": lambda path: (path / "manifest.json").write_text("{"),
    "KeyError": lambda path: (path / "manifest.json").write_text('{"format": 2}'),
    "its manifest is of batch 1": lambda path: change_manifest(path, watermark=1),
    f"its format is not 2, the one of graphtide {__version__}": lambda path: change_manifest(
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
