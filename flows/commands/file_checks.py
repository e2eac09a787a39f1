"""Whether files of a state are whole, for ``graphtide status``, which may look again and again."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from ...gpu_core.algorithms.analytic import Summary
from ...io.checked_tables import fault_of
from ...io.state.checkpoint import Checkpoint, check_checkpoint
from ...io.state.directory import StateDirectory
from ..printing.summary import file_summary

Found = TypeVar("Found")
#: What tells a file from what is written in its place.
Stamp = tuple[Path, int, int, int]
Known = dict[Path, tuple[list[Stamp], Found]]


class FileChecks:
    """Reads files whole to find damage, each again only if it has been written since.

    What a disk alters without a write is found by new checks.
    """

    def __init__(self) -> None:
        # By file, or folder: what it was when it was read, and what was found.
        self._faults: Known[str] = {}
        self._summaries: Known[tuple[Summary | None, str]] = {}
        self._checkpoints: Known[tuple[Checkpoint | None, str]] = {}

    def fault_of(self, path: Path, read: Callable[[Path], object]) -> str:
        """As `checked_tables.fault_of`."""
        return _once(self._faults, path, [path], lambda: fault_of(path, read))

    def summary(self, path: Path) -> tuple[Summary | None, str]:
        """As `summary.file_summary`."""
        return _once(self._summaries, path, [path], lambda: file_summary(path))

    def checkpoint(self, state: StateDirectory, batch_id: int) -> tuple[Checkpoint | None, str]:
        """As `check_checkpoint`."""
        path = state.checkpoint(batch_id)
        try:
            files = list(path.iterdir())
        except OSError:  # a run has removed it
            files = []
        return _once(self._checkpoints, path, files, lambda: check_checkpoint(state, batch_id))


def _once(
    known: Known[Found], path: Path, files: Iterable[Path], find: Callable[[], Found]
) -> Found:
    stamps = sorted(stamp for each in files if (stamp := _stamp_of(each)) is not None)
    if path not in known or known[path][0] != stamps:
        known[path] = stamps, find()
    return known[path][1]


def _stamp_of(path: Path) -> Stamp | None:
    """None: there is no such file any more."""
    try:
        found = path.stat()
    except OSError:
        return None
    return path, found.st_ino, found.st_mtime_ns, found.st_size
