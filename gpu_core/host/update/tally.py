"""What became of the entries and rows of a delta, as the kernels of an update count it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...jit.compile import borrowing

Int64s = npt.NDArray[np.int64]

#: Numbers of entries: added, found_puts, found_deletes, removed, replaced, as in `Tally`.
NO_ENTRIES = (0, 0, 0, 0, 0)


@borrowing
def add_entries(counts, more):
    """Add up two tuples of numbers of entries."""
    return (
        counts[0] + more[0], counts[1] + more[1], counts[2] + more[2], counts[3] + more[3],
        counts[4] + more[4],
    )  # fmt: skip


class Tally(NamedTuple):
    """Entries of a delta by what became of them, then its rows, as `plan_rows` counts them."""

    added: int = 0
    found_puts: int = 0
    found_deletes: int = 0
    removed: int = 0
    replaced: int = 0
    moved_rows: int = 0
    appended_rows: int = 0
    merged_rows: int = 0

    @classmethod
    def sum(cls, tallies: Iterable[Iterable[int]]) -> Tally:
        """All of them together, such as what the ranges of a kernel returned."""
        return cls(*map(sum, zip(cls(), *tallies, strict=True)))

    @property
    def entries(self) -> Int64s:
        """int64[5]: the numbers of entries."""
        return np.array(self[:5])

    @property
    def rows(self) -> Int64s:
        """int64[3]: the numbers of rows."""
        return np.array(self[5:])
