"""Strings: many byte strings side by side, as Arrow lays them out.

UTF-8 text where ids are strings, 16 bytes each where they are UUIDs. Python strings are made only
where a user looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..jit.compile import compiled
from ..jit.prefetch import prefetch
from .words import SLACK, copy_bytes

Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

#: How many strings ahead memory is asked for.
_AHEAD = 16


@dataclass(frozen=True, eq=False)
class Strings:
    """Byte string ``i`` is ``data[starts[i]:starts[i + 1]]``."""

    #: int64[n + 1], not decreasing.
    starts: Int64s
    #: uint8, what lies before the first and behind the last string is of no meaning.
    data: Bytes

    def __post_init__(self) -> None:
        # One kind of array, so that a kernel is compiled once.
        for name in ("starts", "data"):
            view = getattr(self, name).view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    def __reduce__(self) -> tuple[Any, ...]:
        return Strings, (self.starts, self.data)

    @classmethod
    def of(cls, values: Sequence[bytes]) -> Strings:
        """Lay Python's byte strings side by side."""
        starts = np.zeros(len(values) + 1, np.int64)
        np.cumsum([len(value) for value in values], out=starts[1:])
        return cls(starts, np.frombuffer(b"".join(values), np.uint8))

    def __len__(self) -> int:
        return self.starts.size - 1

    @property
    def nbytes(self) -> int:
        """Bytes of both arrays."""
        return self.starts.nbytes + self.data.nbytes

    def __getitem__(self, at: int) -> bytes:
        """One string, as Python's bytes."""
        return self.data[self.starts[at] : self.starts[at + 1]].tobytes()

    def take(self, rows: npt.NDArray[Any]) -> Strings:
        """Some of them, in any order, laid side by side."""
        starts = np.zeros(rows.size + 1, np.int64)
        np.cumsum(np.diff(self.starts)[rows], out=starts[1:])
        data = np.empty(int(starts[-1]) + SLACK, np.uint8)
        taken = Strings(starts, data[:-SLACK])
        copy_strings(self.starts, self.data, rows.astype(np.int64), taken.starts, data)
        return taken

    def tolist(self) -> list[bytes]:
        """Python's byte strings."""
        content, starts = self.data.tobytes(), self.starts.tolist()
        return [content[starts[i] : starts[i + 1]] for i in range(len(self))]


@compiled
def copy_strings(starts, data, rows, out_starts, out):
    """Copy the strings ``rows`` to the positions that ``out_starts`` gives them."""
    for i in range(rows.size):
        if i + _AHEAD < rows.size:
            prefetch(data, starts[rows[i + _AHEAD]])
        copy_bytes(data, starts[rows[i]], starts[rows[i] + 1], out, out_starts[i])
