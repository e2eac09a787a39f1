"""A lower bound of the times of each row, so that few rows are read when edges expire.

The times of a row that is read are known from then on, and a put lowers what is known of its row.
A delete, or a newer time of an edge, leaves it as it is: then a row is read once in vain. So it is
right whatever becomes of the row, also where a vertex index is given to another vertex. Nothing is
known until edges expire for the first time, which reads all rows; it takes 8 bytes a vertex.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...batch.update_batch import UpdateBatch
from ...image.fields import KIND_PUT
from ...jit.compile import compiled
from ...jit.parallel import for_ranges
from ..queries.expired import LATEST
from ..queries.host_graph import HostGraph
from .deltas import Delta
from .expiring_batch import ExpiringBatch

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]


class OldestTimes:
    """Lower bounds of the times of the rows of one graph, whose lock is held by all calls."""

    def __init__(self) -> None:
        #: int64, by vertex index; rows beyond have no edges. None: nothing is known.
        self._oldest: Int64s | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of what is known."""
        return 0 if self._oldest is None else self._oldest.nbytes

    def expired(self, graph: HostGraph, until: int) -> ExpiringBatch:
        """Make the batch that deletes all edges whose last time is ``until`` or before."""
        oldest, count = self._oldest, graph.vertex_count
        if oldest is None:
            oldest, rows = np.full(count, LATEST, np.int64), np.arange(count, dtype=np.uint32)
        else:
            rows = _due_rows(oldest[:count], until)
        return ExpiringBatch.of(graph, until, rows, oldest)

    def follow(self, deltas: list[tuple[str, Delta]], batch: UpdateBatch, count: int) -> None:
        """Take note of a batch that was applied; the graph has ``count`` vertex records now."""
        if isinstance(batch, ExpiringBatch):
            self._oldest = batch.oldest
            for_ranges(
                set_oldest, batch.rows_due.size, batch.rows_due, batch.expired.oldest, batch.oldest
            )
        elif self._oldest is not None and batch.put_last is not None and batch.put_last.size:
            self._reach(count)
            _, delta = deltas[0]
            for_ranges(lower_oldest, delta.rows.size, delta, batch.put_last, self._oldest)

    def forget(self) -> None:
        """Know nothing: the graph becomes another one."""
        self._oldest = None

    def _reach(self, count: int) -> None:
        """Have an item for each of ``count`` vertices."""
        oldest = self._oldest
        if oldest is not None and oldest.size < count:
            # Twice as large: a graph may grow with every batch.
            grown = np.full(max(count, 2 * oldest.size), LATEST, np.int64)
            grown[: oldest.size] = oldest
            self._oldest = grown


def _due_rows(oldest: Int64s, until: int) -> UInt32s:
    """Rows that have something of this time or before, increasing."""
    listed = np.empty(oldest.size, np.uint32)
    parts = for_ranges(list_due, oldest.size, oldest, np.int64(until), listed)
    return np.concatenate([listed[low:end] for low, end in parts] or [listed])


@compiled
def lower_oldest(low, high, delta, last, oldest):
    """Take note of the puts of rows ``low … high - 1`` of a delta."""
    for row in range(low, high):
        vertex = delta.rows[row]
        for entry in range(delta.indptr[row], delta.indptr[row + 1]):
            if delta.kinds[entry] == KIND_PUT:
                oldest[vertex] = min(oldest[vertex], last[delta.source[entry]])


@compiled
def set_oldest(low, high, rows, known, oldest):
    """Take note of what rows ``low … high - 1`` of a list have."""
    for row in range(low, high):
        oldest[rows[row]] = known[row]


@compiled
def list_due(low, high, oldest, until, listed):
    """Write the numbers of due rows to ``listed[low:end]``; returns ``low, end``."""
    end = low
    for row in range(low, high):
        # Written in any case and kept by the count: a branch would often be guessed wrong.
        listed[end] = row
        end += oldest[row] <= until
    return low, end
