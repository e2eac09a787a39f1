"""Files and folders after a power cut: what was brought to the disk is all there."""

import os
from pathlib import Path

import pytest

from graphtide import StateError
from graphtide.io.durable import new_file, new_folder


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What was brought to the disk, in order."""
    paths: list[Path] = []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        paths.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    return paths


@pytest.mark.parametrize("is_file", [True, False])
def test_the_names_of_new_folders_are_brought_to_the_disk(
    tmp_path: Path, synced: list[Path], is_file: bool
) -> None:
    """Each in the folder above it: else a power cut takes it away, with all that is in it."""
    path = tmp_path / "state" / "results" / "batch=7"
    with (new_file if is_file else new_folder)(path) as temporary:
        if is_file:
            temporary.write_text("here")
    assert {tmp_path, tmp_path / "state", tmp_path / "state/results"} <= set(synced)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), new_file(path) as temporary:
        _write_half(temporary)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]
    with pytest.raises(StateError, match="cannot be written"), new_file(path / "b"):
        pass


def _write_half(path: Path) -> None:
    path.write_text("half")
    raise ZeroDivisionError
