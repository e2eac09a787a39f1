"""Files and folders after a power cut: what was brought to the disk is all there."""

import errno
import os
from pathlib import Path

import pytest

from graphtide import StateError
from graphtide.io.durable import check_new_file, new_file, new_folder


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
    with pytest.raises(StateError, match=r"\(File exists\); name another"), new_file(path / "b"):
        pass


def test_a_folder_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "graph"
    with new_folder(path) as temporary:
        (temporary / "a").write_text("old")
    words = r"graph cannot be written \(No space left on device\); make room or grant access"
    with pytest.raises(StateError, match=words), new_folder(path) as temporary:
        _fill_the_disk(temporary / "a")
    assert (path / "a").read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["graph"]


def test_what_can_be_no_new_file_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    check_new_file(tmp_path / "there is" / "no folder" / "yet.csv")
    (tmp_path / "file").touch()
    for name, words in (
        ("", r"cannot be written \(Is a directory\); name another file"),
        ("file/a.csv", r"cannot be written \(Not a directory\); name another file"),
        ("a" * 300, r"cannot be written \(File name too long\)"),
    ):
        with pytest.raises(StateError, match=words):
            check_new_file(tmp_path / name)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def _fill_the_disk(path: Path) -> None:
    path.write_text("new")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _write_half(path: Path) -> None:
    path.write_text("half")
    raise ZeroDivisionError
