"""A lower bound of the times of each row, so that few rows are read when edges expire.

The times of a row that is read are known from then on, and a put lowers what is known of its row.
A delete, or a newer time of an edge, leaves it as it is: then a row is read once in vain. So it is
right whatever becomes of the row, also where a vertex index is given to another vertex. Nothing is
known until edges expire for the first time, which reads all rows; it takes 8 bytes a vertex.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ...batch.deletes import deleting_batch
from ...batch.update_batch import UpdateBatch
from ...jit.compile import compiled
from ...jit.parallel import for_ranges
from ..queries.expired import LATEST, expired_edges

if TYPE_CHECKING:
    from ..queries.host_graph import HostGraph
    from .map_ids import Mapped

Int64s = npt.NDArray[np.int64]

#: More rows than any batch has: one thread writes them all.
_ONE_THREAD = 1 << 62


class _Expiring(NamedTuple):
    """Rows that a batch deletes edges of, and what is known of them once it is applied."""

    batch: UpdateBatch
    rows: npt.NDArray[np.uint32]
    oldest: Int64s


class OldestTimes:
    """What is known of the rows of one graph, whose lock is held by all calls."""

    def __init__(self) -> None:
        #: int64, by vertex index; None: nothing is known.
        self._oldest: Int64s | None = None
        self._expiring: _Expiring | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of what is known."""
        return 0 if self._oldest is None else self._oldest.nbytes

    def expired(self, graph: HostGraph, until: int) -> UpdateBatch:
        """Make the batch that deletes all edges whose last time is ``until`` or before."""
        rows = np.arange(graph.vertex_count, dtype=np.uint32)
        if self._oldest is not None:
            self._reach(rows.size)
            rows = np.flatnonzero(self._oldest <= until).astype(np.uint32)
        found = expired_edges(graph.arena, rows, until, directed=graph.directed)
        ends = graph.ids_of(found.sources), graph.ids_of(found.targets)
        batch = deleting_batch(graph.kind, *ends)
        self._expiring = _Expiring(batch, rows, found.oldest)
        return batch

    def follow(self, mapped: Mapped, batch: UpdateBatch) -> None:
        """Take note of a batch that was applied, from the one that `expired` made on."""
        expiring, self._expiring = self._expiring, None
        if expiring is not None and expiring.batch is batch:
            if self._oldest is None:
                self._oldest = np.full(mapped.vertex_count, LATEST, np.int64)
            self._oldest[expiring.rows] = expiring.oldest
        elif self._oldest is not None and batch.put_last is not None:
            self._reach(mapped.vertex_count)
            for_ranges(
                lower_oldest, mapped.put_rows.size, mapped.put_rows, batch.put_indptr,
                mapped.put_columns, batch.put_last, batch.directed, self._oldest,
                serial_items=0 if batch.directed else _ONE_THREAD,
            )  # fmt: skip

    def forget(self) -> None:
        """Know nothing: the graph becomes another one."""
        self._oldest = self._expiring = None

    def _reach(self, count: int) -> None:
        """Have an item for each of so many vertices."""
        oldest = self._oldest
        if oldest is not None and oldest.size < count:
            # Twice as large: a graph may grow with every batch.
            grown = np.full(max(count, 2 * oldest.size), LATEST, np.int64)
            grown[: oldest.size] = oldest
            self._oldest = grown


@compiled
def lower_oldest(low, high, rows, indptr, columns, last, directed, oldest):
    """Take note of the puts of ``rows[low:high]``; undirected: in the rows of their lower index."""
    for row in range(low, high):
        for put in range(indptr[row], indptr[row + 1]):
            at = rows[row] if directed else min(rows[row], columns[put])
            oldest[at] = min(oldest[at], last[put])
