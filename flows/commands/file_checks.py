"""Files of a state that are damaged, and results that are missing, for ``graphtide status``.

`FileChecks` reads files, `ResultChecks` finds what is wrong with results. Nothing goes on from a
result: each text says how to have it computed again. Files are read up to `CHECKED_BYTES`, the
newest first.

Not here: what follows for the state from its checkpoints and reports of batches (``status.py``).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from ...gpu_core.algorithms.analytic import Summary
from ...gpu_core.printable import amount, counted
from ...io.checked_tables import fault_of
from ...io.state.batch_summary import missing_summaries, read_summary
from ...io.state.checkpoint import Checkpoint, check_checkpoint
from ...io.state.directory import StateDirectory
from ...io.state.reports import written_results
from ...io.state.result_changes import changes_file, changes_files, read_changes
from ...io.state.results import ResultFacts, read_result, result_facts, result_file, result_files
from ..printing.summary import file_summary

#: Of results, and of checkpoints before the newest, that are read to see whether they are whole;
#: the newest first.
CHECKED_BYTES = 1 << 30

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
        """As `checked_tables.fault_of`; nothing of a file that a run has removed meanwhile."""
        fault = _once(self._faults, path, [path], lambda: fault_of(path, read))
        return fault if path.exists() else ""

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


def bytes_of(path: Path) -> int:
    """Size of a file; 0 if a run has removed it meanwhile."""
    stamp = _stamp_of(path)
    return 0 if stamp is None else stamp[-1]


def _stamp_of(path: Path) -> Stamp | None:
    """None: there is no such file any more."""
    try:
        found = path.stat()
    except OSError:
        return None
    return path, found.st_ino, found.st_mtime_ns, found.st_size


@dataclass
class _Alike:
    """Results of one name, one after the other, that were computed with the same parameters."""

    facts: ResultFacts
    #: Batches after which the first and the last of them are.
    first: int
    last: int

    def __str__(self) -> str:
        if self.first == self.last:
            return f"after batch {self.last}"
        return f"after batches {self.first} to {self.last}"


class ResultChecks:
    """What was found in the results up to the newest checkpoint.

    Parameters
    ----------
    state
        The state.
    boundary
        First batch that is not in the newest checkpoint.
    planned
        Number of batches of the plan.
    files
        What reads the files.
    """

    def __init__(
        self, state: StateDirectory, boundary: int, planned: int, files: FileChecks
    ) -> None:
        self._state, self._boundary, self._planned = state, boundary, planned
        self._files = files
        #: Batches after which there are whole columns.
        self.ids = [batch_id for batch_id in state.result_ids() if batch_id < boundary]
        #: What is damaged or missing, and what else is to be known: a sentence each.
        self.damage: list[str] = []
        self.notes: list[str] = []
        #: Files of whole columns that are damaged.
        self._damaged: set[Path] = set()
        #: Names of all results of which whole columns were written, as the reports have them.
        self._names: set[str] = set()
        changes = written_results(state, "changes")
        self._look_for_missing(changes)
        self._look_at_changes(changes)
        read_summary(state, self.damage)
        for path in missing_summaries(state, boundary):
            self.damage.append(f"{path} is missing; it is not needed to go on")
        self._look_at_columns()

    def newest(self) -> list[Path]:
        """Whole columns of the newest batch that has them, of each name; the newest first."""
        found: dict[str, Path] = {}
        for batch_id in reversed(self.ids):
            for name, path in result_files(self._state, batch_id).items():
                if path not in self._damaged:
                    found.setdefault(name, path)
            # There may be a folder for each of many batches.
            if found.keys() >= self._names:
                break
        return list(found.values())

    def _look_for_missing(self, changes: Mapping[int, list[str]]) -> None:
        """Find results that were written, whole or as ``changes``, and are gone."""
        whole = written_results(self._state, "results")
        self._names = {name for names in whole.values() for name in names}
        missing = [
            (batch_id, path)
            for written, file_of in ((whole, result_file), (changes, changes_file))
            for batch_id, names in written.items()
            if batch_id < self._boundary
            for path in (file_of(self._state, batch_id, name) for name in names)
            # Whole columns may have come in place of changes, once the log ended there.
            if not path.exists() and not result_file(self._state, batch_id, path.stem).exists()
        ]
        if missing:
            batch_id, path = min(missing, key=lambda each: (-each[0], each[1]))
            more = f", as are {counted(len(missing) - 1, 'older result')}" if missing[1:] else ""
            self.damage.append(f"{path} is missing{more}; {self._cure(batch_id)}")

    def _look_at_changes(self, changes: Mapping[int, list[str]]) -> None:
        """Find changes that are damaged, the newest first."""
        left = CHECKED_BYTES
        for batch_id in sorted(changes, reverse=True):
            if batch_id >= self._boundary:
                continue
            for path in changes_files(self._state, batch_id).values():
                left -= bytes_of(path)
                if left >= 0 and (fault := self._files.fault_of(path, read_changes)):
                    self.damage.append(
                        f"{path} is damaged ({fault}): it is needed up to the next whole columns; "
                        f"{self._cure(batch_id)}"
                    )

    def _look_at_columns(self) -> None:
        """Find whole columns that are damaged, and parameters that changed; the newest first."""
        left = CHECKED_BYTES
        alike: dict[str, list[_Alike]] = {}
        for batch_id in reversed(self.ids):
            files = result_files(self._state, batch_id).values()
            left -= sum(map(bytes_of, files))
            if left < 0:
                self.notes.append(
                    f"results of batch {batch_id} and before were not checked: only the newest "
                    f"{amount(CHECKED_BYTES)} are"
                )
                break
            for path in files:
                fault = self._files.fault_of(path, read_result)
                if fault:
                    self._damaged.add(path)
                    cure = f"remove it, and {self._cure(batch_id)}"
                    self.damage.append(f"{path} is damaged ({fault}); {cure}")
                    continue
                if not path.exists():
                    continue
                facts, groups = result_facts(path), alike.setdefault(path.stem, [])
                if groups and facts.is_like(groups[-1].facts):
                    groups[-1].first = batch_id
                else:
                    groups.append(_Alike(facts, batch_id, batch_id))
        for name, groups in alike.items():
            for later, earlier in pairwise(groups):
                was, now = earlier.facts.distinction_from(later.facts)
                self.notes.append(f"{name} was computed {was} {earlier}, and {now} {later}")

    def _cure(self, batch_id: int) -> str:
        """Advice on how to compute a result again."""
        if batch_id == self._boundary - 1 == self._planned - 1:
            return "run again to have it computed"
        return "run the log with another --state to have it computed"
