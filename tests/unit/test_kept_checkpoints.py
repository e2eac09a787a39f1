"""Which checkpoints a state keeps, also where a run is killed while it removes older ones."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from graphtide.io.state.checkpoint import newest_checkpoint, whole_checkpoints, write_checkpoint
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.state_settings import StateSettings

ARRAYS = {
    "vertex_ids": np.arange(4),
    "present": np.ones(4, np.bool_),
    "free_indices": np.empty(0, np.uint32),
    "out_degree": np.array([2, 1, 0, 0], np.uint32),
    "dst_index": np.array([1, 2, 3], np.uint32),
}

_CHANGES = frozenset({"os.rename", "os.remove", "os.rmdir"})


class KilledError(BaseException):
    """Nothing catches it, and nothing is cleaned up behind it where checkpoints are removed."""


class _Kill:
    """Ends this thread before one of its operations on files, once a folder is there."""

    folder: Path | None = None
    left = 0

    def __call__(self, event: str, _arguments: tuple[object, ...]) -> None:
        if self.folder is None or event not in _CHANGES or not self.folder.exists():
            return
        self.left -= 1
        if self.left < 0:
            self.folder = None
            raise KilledError


_kill = _Kill()


@pytest.fixture(scope="module", autouse=True)
def hook() -> None:
    # It cannot be taken away again.
    sys.addaudithook(_kill)


@contextmanager
def killed_after(operations: int, folder: Path) -> Iterator[None]:
    _kill.folder, _kill.left = folder, operations
    try:
        yield
    finally:
        _kill.folder = None


def state_of(path: Path, *batches: int) -> StateDirectory:
    state = StateDirectory(path)
    with state.lock():
        state.create_or_open(StateSettings({"directed": True}, "/log", {}, None))
        for batch_id in batches:
            write_checkpoint(state, batch_id, ARRAYS, lambda: "abc", keep=None)
    return state


@pytest.mark.parametrize(
    ("keep", "kept"),
    [(1, [9]), (2, [5, 9]), (3, [3, 5, 9]), (9, [1, 3, 5, 9]), (None, [1, 3, 5, 9])],
)
def test_the_newest_are_kept(tmp_path: Path, keep: int | None, kept: list[int]) -> None:
    state = state_of(tmp_path / "s", 1, 3, 5)
    write_checkpoint(state, 9, ARRAYS, lambda: "abc", keep=keep)
    assert state.checkpoint_ids() == kept
    assert [each.batch_id for each in whole_checkpoints(state)] == kept[::-1]
    found = [newest_checkpoint(state, at_most=batch_id) for batch_id in kept]
    assert [each and each.batch_id for each in found] == kept
    assert newest_checkpoint(state, at_most=kept[0] - 1) is None


def test_a_kill_while_older_ones_go_leaves_whole_ones(tmp_path: Path) -> None:
    found, is_killed, number = [], True, 0
    while is_killed:
        state = state_of(tmp_path / str(number), 1, 3, 5)
        is_killed = False
        try:
            with killed_after(number, state.checkpoint(9)):
                write_checkpoint(state, 9, ARRAYS, lambda: "abc", keep=1)
        except KilledError:
            is_killed = True
        notes: list[str] = []
        ids = [each.batch_id for each in whole_checkpoints(state, notes)]
        assert notes == []
        assert ids == state.checkpoint_ids()[::-1]
        found.append(ids)
        # The next run tidies up, and keeps what there is.
        with state.lock():
            names = sorted(path.name for path in (state.path / "checkpoints").iterdir())
        assert names == [state.checkpoint(each).name for each in sorted(ids)]
        number += 1
    # One after the other, the oldest first: each is renamed, then its four files and itself go.
    assert number == 3 * (1 + 4 + 1) + 1
    assert found == [[9, 5, 3, 1], *[[9, 5, 3]] * 6, *[[9, 5]] * 6, *[[9]] * 6]
