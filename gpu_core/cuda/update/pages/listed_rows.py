"""Size of the scratch for listed rows of batches on pages, learned from earlier batches.

What is listed: ``paged_update.cuh``. How much there is, a batch finds out on the device; where that
is more than there is room for, it is applied again with more. Where there is room for few rows, as
most batches list, one block works on them, and a batch takes half as many launches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

from ....image.fields import BatchField
from ...memory.batch_report import DeviceReport
from ...structs import FEW_LISTED

#: Batches after which room that none of them needed is given up.
_BATCHES: Final = 16
#: Where `count_listed` writes how much is listed, in the order of `ListedCounts`.
_LISTED: Final = BatchField.LONG_ROWS, BatchField.LONG_TILES, BatchField.SCRATCH_BYTES


class ListedCounts(NamedTuple):
    """Most that a delta may list: rows, entries of the batch, old entries."""

    rows: int
    entries: int
    old_entries: int

    def including(self, other: ListedCounts) -> ListedCounts:
        """Room for either."""
        return ListedCounts(*map(max, self, other))

    def with_reserve(self) -> ListedCounts:
        """Half as much again, and not too little."""
        return ListedCounts(*(number + number // 2 for number in self)).including(FEW)


#: Rows, entries and old entries that one block works on; there is room for as many at least.
FEW: Final = ListedCounts(FEW_LISTED, 1 << 10, 1 << 13)
_NOTHING: Final = ListedCounts(0, 0, 0)


@dataclass
class ListedRows:
    """Room that is provided for listed rows; what `rows.long_rows.LongRows` is to rows on runs."""

    room: ListedCounts = field(default_factory=lambda: FEW)
    #: Grows whenever there is other room.
    number: int = 0
    #: The most that was listed since the room was last checked, and batches since.
    _most: ListedCounts = _NOTHING
    _batches: int = 0

    #: Long rows are among those that are listed.
    finds_long: ClassVar[bool] = False

    @property
    def bounds(self) -> tuple[int, ...]:
        """The last fields of `facts.BOUNDS`; entries of rows are put in order, as of long ones."""
        return True, 0, self.room.including(FEW) == FEW, *self.room

    def provide(self, report: DeviceReport) -> None:
        """Make room for a batch that lists more than there was room for."""
        listed = ListedCounts(*(report[name] for name in _LISTED))
        self.room, self.number = self.room.including(listed.with_reserve()), self.number + 1

    def record(self, report: DeviceReport) -> None:
        """Record what an applied batch has listed: room that is not needed again is given up."""
        self._most = self._most.including(ListedCounts(*(report[name] for name in _LISTED)))
        self._batches += 1
        if self._batches < _BATCHES:
            return
        room = self._most.with_reserve()
        if room != self.room:
            self.room, self.number = room, self.number + 1
        self._most, self._batches = _NOTHING, 0

    def forget(self) -> None:
        """Discard what was learned: a refused batch may have demanded more than there can be."""
        self.room, self.number = FEW, self.number + 1
