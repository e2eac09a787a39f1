"""The batch plan: which rows of which file form which batch.

A batch is a run of rows of one file, at most ``batch_rows``; batches count up in the order of the
log. A file is planned whole, the first time that it is seen, and from then on its batches are what
they are: a restart, or a run with another ``batch_rows``, plans the same. So the plan is a list of
files, each with the ``batch_rows`` that cut it, and batches are computed from it.

Invariants
----------
* batches are numbered from 0 without gaps; each row of a planned file is in exactly one
* files are planned in the order of the log (``paths/log_paths.py``), and a new one comes after all
  of them. A plan keeps its order: older states were planned in the order of names as text
* a file of which a batch is in a checkpoint stays in the log, unchanged: the log is what a lost
  graph is rebuilt from. Files beyond the newest checkpoint may be corrected, and are planned again

Not here: how the plan is kept (``io/state/plan_files.py``).
"""

import hashlib
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NoReturn

from ...gpu_core.errors import SettingsError, StateError, UpdateLogError
from ...gpu_core.printable import file_shown
from .log_listing import LogFile

_ANEW = "or start over with another --state"


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
        number = bisect_right(self._firsts, batch_id) - 1
        file = self._files[number]
        first_row = (batch_id - self._firsts[number]) * file.batch_rows
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
        twice = [name for name, n in Counter(file.name for file in self.files).items() if n > 1]
        if twice:
            msg = (
                f"the plan of the state is damaged: {twice[0]} is in it twice; restore it, {_ANEW}"
            )
            raise StateError(msg)

    @property
    def rows(self) -> int:
        """Rows of all planned files."""
        return sum(file.rows for file in self.files)

    def extended(
        self,
        files: Sequence[LogFile],
        batch_rows: int,
        planned_again: Collection[str] = (),
    ) -> "BatchPlan":
        """Plan what is new in the log.

        Parameters
        ----------
        files
            All files of the log as they are now, in order.
        batch_rows
            Rows of a batch at most, for files that are not planned yet.
        planned_again
            Names of files that an earlier plan had, maybe in the order of names as text: they may
            sort before the files of this plan.

        Raises
        ------
        UpdateLogError
            A planned file is gone or has changed, or a new one sorts before a planned one.
        StateError
            The plan says other rows of a file than its footer.
        """
        if batch_rows < 1:
            msg = f"batch_rows={batch_rows} is not allowed; use 1 or more"
            raise SettingsError(msg)
        self._check_planned(files)
        there = {file.name for file in self.files}
        known = {*there, *planned_again}
        planned = [number for number, file in enumerate(files) if file.name in there]
        for number, file in enumerate(files):
            after = bisect_right(planned, number)
            if file.name not in known and after < len(planned):
                msg = (
                    f"{file_shown(file.name)} is new in the log but comes before "
                    f"{file_shown(files[planned[after]].name)}, which is planned already (runs of "
                    f"digits sort as numbers); give it a name after "
                    f"{file_shown(files[planned[-1]].name)}, {_ANEW}"
                )
                raise UpdateLogError(msg)
        added = (
            PlannedFile(file.name, file.fingerprint, file.rows, batch_rows)
            for file in files
            if file.name not in there
        )
        return BatchPlan((*self.files, *added))

    def out_of_order(self, names: Sequence[str]) -> tuple[str, str] | None:
        """Return the first two files that follow each other otherwise than in ``names``, if any."""
        number = {name: number for number, name in enumerate(names)}
        ours = [file.name for file in self.files]
        return next((pair for pair in pairwise(ours) if number[pair[0]] > number[pair[1]]), None)

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
                refuse_gone(planned.name)
            found = there[planned.name]
            if planned.fingerprint == found.fingerprint and planned.rows != found.rows:
                msg = (
                    f"{planned.name} has {found.rows} rows, but the plan of the state says "
                    f"{planned.rows}, so the plan is damaged; restore it, {_ANEW}"
                )
                raise StateError(msg)
            if planned.fingerprint != found.fingerprint:
                refuse_changed(planned.name)

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

    def cut_hash(self, boundary: int) -> str:
        """SHA-256 of how the files of the batches before ``boundary`` are cut.

        A checkpoint keeps it: the number of its batch means nothing without that.
        """
        files = self.up_to(boundary).files
        text = json.dumps([[file.name, file.rows, file.batch_rows] for file in files])
        return hashlib.sha256(text.encode()).hexdigest()

    @classmethod
    def from_json(cls, values: Sequence[Mapping[str, Any]], shown: str) -> "BatchPlan":
        """Rebuild a plan from what `to_json` gave; ``shown``: where that was, for messages."""
        try:
            return cls(tuple(map(_planned_file, values)))
        except (KeyError, TypeError, ValueError) as error:
            msg = f"{shown} is damaged ({error!r}); restore it, {_ANEW}"
            raise StateError(msg) from error


def refuse_gone(name: str) -> NoReturn:
    """Refuse a log from which a planned file has gone."""
    msg = (
        f"{file_shown(name)} is planned but gone from the log, which the graph is rebuilt from; "
        f"put it back, {_ANEW}"
    )
    raise UpdateLogError(msg)


def refuse_changed(name: str) -> NoReturn:
    """Refuse a log of which a planned file is another one by now."""
    msg = (
        f"{file_shown(name)} has changed since it was planned; put it back as it was and add new "
        f"rows as a new file, {_ANEW}"
    )
    raise UpdateLogError(msg)


def _planned_file(value: Mapping[str, Any]) -> PlannedFile:
    """One entry of a plan; ValueError where it is none that we write."""
    file = PlannedFile(value["file"], value["fingerprint"], value["rows"], value["batch_rows"])
    for number, least in ((file.rows, 0), (file.batch_rows, 1)):
        if type(number) is not int or number < least:
            msg = f"{number!r} rows"
            raise ValueError(msg)
    if not (isinstance(file.name, str) and isinstance(file.fingerprint, str)):
        msg = f"file {file.name!r}"
        raise TypeError(msg)
    return file
