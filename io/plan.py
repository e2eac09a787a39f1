"""The batch plan: which rows of which file are which batch.

A batch is a run of rows of one file, at most ``batch_rows``; batches count up in the order of the
log. A file is planned whole, the first time that it is seen, and from then on its batches are what
they are: a restart, or a run with another ``batch_rows``, plans the same. So the plan is a list of
files, each with the ``batch_rows`` that cut it, and batches are computed from it.

Invariants
----------
* batches are numbered from 0 without gaps; each row of a planned file is in exactly one
* planned files are in the order of their names, and a new one comes after all of them
* a file of which a batch is in a checkpoint stays in the log, unchanged: the log is what a lost
  graph is rebuilt from. Files beyond the newest checkpoint may be mended, and are planned anew

Not here: where the plan is kept (``state.py``).
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..gpu_core.errors import SettingsError, StateError, UpdateLogError
from .update_log import LogFile

_ANEW = "or start anew with another --state"


@dataclass(frozen=True)
class PlannedBatch:
    """One batch: a run of rows of one file."""

    batch_id: int
    #: Name of the file within the log.
    file: str
    first_row: int
    rows: int


@dataclass(frozen=True)
class PlannedFile:
    """One file and how it is cut."""

    name: str
    fingerprint: str
    rows: int
    #: Rows of each of its batches but the last, which holds the rest.
    batch_rows: int

    @property
    def batches(self) -> int:
        """Number of batches; none for a file without rows."""
        return -(-self.rows // self.batch_rows)


class PlannedBatches(Sequence[PlannedBatch]):
    """The batches of a plan, made when they are asked for."""

    def __init__(self, files: Sequence[PlannedFile]) -> None:
        self._files = files
        #: First batch of each file, and the number of batches at the end.
        self._firsts = [0]
        for file in files:
            self._firsts.append(self._firsts[-1] + file.batches)

    def __len__(self) -> int:
        return self._firsts[-1]

    def __getitem__(self, batch_id: Any) -> Any:
        if isinstance(batch_id, slice):
            return [self[each] for each in range(*batch_id.indices(len(self)))]
        if not -len(self) <= batch_id < len(self):
            msg = f"batch {batch_id} is not planned; there are {len(self)}"
            raise IndexError(msg)
        batch_id %= len(self)
        # Files without rows have the same first batch as the one after them, and come before it.
        place = bisect_right(self._firsts, batch_id) - 1
        file = self._files[place]
        first_row = (batch_id - self._firsts[place]) * file.batch_rows
        rows = min(file.batch_rows, file.rows - first_row)
        return PlannedBatch(batch_id, file.name, first_row, rows)

    def __iter__(self) -> Iterator[PlannedBatch]:
        return (self[batch_id] for batch_id in range(len(self)))


@dataclass(frozen=True)
class BatchPlan:
    """Files planned so far, in order, and their batches."""

    files: tuple[PlannedFile, ...] = ()
    batches: Sequence[PlannedBatch] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "batches", PlannedBatches(self.files))

    @property
    def rows(self) -> int:
        """Rows of all planned files."""
        return sum(file.rows for file in self.files)

    def extended(self, files: Sequence[LogFile], batch_rows: int) -> "BatchPlan":
        """Plan what is new in the log.

        Parameters
        ----------
        files
            All files of the log as they are now, in order.
        batch_rows
            Rows of a batch at most, for files that are not planned yet.

        Raises
        ------
        UpdateLogError
            A planned file is gone or has changed, or a new one sorts before a planned one.
        """
        if batch_rows < 1:
            msg = f"batch_rows={batch_rows} is not allowed; use 1 or more"
            raise SettingsError(msg)
        self._check_planned(files)
        planned = {file.name for file in self.files}
        new = [file for file in files if file.name not in planned]
        if self.files and new and new[0].name < self.files[-1].name:
            before = next(file.name for file in self.files if file.name > new[0].name)
            msg = (
                f"{new[0].name} is new in the log but sorts before {before}, which is planned "
                f"already; give it a name after {self.files[-1].name}, {_ANEW}"
            )
            raise UpdateLogError(msg)
        added = (PlannedFile(f.name, f.fingerprint, f.rows, batch_rows) for f in new)
        return BatchPlan((*self.files, *added))

    def up_to(self, boundary: int) -> "BatchPlan":
        """Return the plan without trailing files none of whose batches is below ``boundary``."""
        kept, batches = 0, 0
        while kept < len(self.files) and batches < boundary:
            batches += self.files[kept].batches
            kept += 1
        return BatchPlan(self.files[:kept])

    def _check_planned(self, files: Sequence[LogFile]) -> None:
        there = {file.name: file for file in files}
        for planned in self.files:
            if planned.name not in there:
                msg = (
                    f"{planned.name} is planned but gone from the log, which the graph is rebuilt "
                    f"from; put it back, {_ANEW}"
                )
                raise UpdateLogError(msg)
            if planned.fingerprint != there[planned.name].fingerprint:
                msg = (
                    f"{planned.name} has changed since it was planned; put it back as it was and "
                    f"add new rows as a new file, {_ANEW}"
                )
                raise UpdateLogError(msg)

    def to_json(self, first_file: int = 0) -> list[dict[str, Any]]:
        """Plain values for JSON, of the files from ``first_file`` on."""
        return [
            {
                "file": file.name,
                "fingerprint": file.fingerprint,
                "rows": file.rows,
                "batch_rows": file.batch_rows,
            }
            for file in self.files[first_file:]
        ]

    @classmethod
    def from_json(cls, values: Sequence[Mapping[str, Any]]) -> "BatchPlan":
        """Rebuild a plan from what `to_json` gave."""
        try:
            files = tuple(
                PlannedFile(
                    str(value["file"]),
                    str(value["fingerprint"]),
                    int(value["rows"]),
                    int(value["batch_rows"]),
                )
                for value in values
            )
        except (KeyError, TypeError, ValueError) as error:
            msg = f"the plan of the state is damaged ({error!r}); restore it, {_ANEW}"
            raise StateError(msg) from error
        return cls(files)
