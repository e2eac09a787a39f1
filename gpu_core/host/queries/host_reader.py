"""Read access to a graph in host memory, for queries, exports and algorithms (`engine.Reader`).

CUDA twin: ``cuda/queries/device_reader.py``.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from ...algorithms.shared.twins import Twins
from ...engine import Maintained
from ...image.fields import ImageTable
from ...jit.forked_locks import refuse_if_lost
from ...kind import GraphKind
from ...records import weights_of_entry
from ...rows import EntryTimes, Rows
from .. import analytics
from ..memory.arena import Arena
from .export import csr_of
from .host_graph import HostGraph
from .rows import entry_times, live_rows, pinned_rows

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]


class HostReader(HostGraph):
    """A graph in host memory, to be read; parameters as of `HostGraph`."""

    name = "host"
    ordinal: None = None
    algorithms = Twins(analytics.__name__)
    #: The twins take their memory from NumPy.
    workspace: None = None

    def __init__(self, kind: GraphKind, arena: Arena) -> None:
        super().__init__(kind, arena)
        self.lock: Any = threading.RLock()
        refuse_if_lost(self, "lock")
        #: Live rows by direction, since the newest batch.
        self._rows: dict[str, Rows] = {}
        #: Times of entries by name, likewise.
        self._times: dict[str, EntryTimes] = {}
        self.maintained: dict[str, Maintained] = {}

    def rows(self, direction: str, *, weighted: bool = False) -> Rows:
        """Rows of the direction ``out`` or ``in`` (undirected: the same), valid until a batch.

        They are live ones of layout ``runs``, and pinned ones of others and with float64 weights;
        see `Rows`.
        """
        shape = self.shape(direction)
        is_wide = weighted and weights_of_entry(shape.entry_words) == "float64"
        if self.arena.layout.is_paged or is_wide:
            return pinned_rows(self.arena, direction, weighted=weighted)
        stored = direction if self.directed else "out"
        rows = self._rows.get(stored)
        if rows is None or rows.columns is not self.image or (weighted and rows.weights is None):
            rows = self._rows[stored] = live_rows(self.arena, stored, weighted=weighted)
        return rows

    def pinned_rows(self, direction: str, *, weighted: bool = False) -> Rows:
        """Copy the rows of a direction, to memory of their own; see `Rows`."""
        self.check_whole()
        return pinned_rows(self.arena, direction, weighted=weighted)

    def entry_times(self, name: str) -> EntryTimes:
        """Copy the times ``first`` or ``last`` of all edges; kept until the next batch."""
        self.check_whole()
        if name not in self._times:
            self._times[name] = entry_times(self.arena, self.kind.record.words_of(name)[0])
        return self._times[name]

    def forget_copies(self) -> None:
        """Drop copies of the image, which is about to change."""
        self._rows.clear()
        self._times.clear()

    def order(self) -> Int64s:
        """As `sorted_order`: the order that results are brought into."""
        return self.sorted_order()

    def ids_in_order(self, order: Int64s) -> Int64s:
        """int64[num_vertices]: users' ids in that order."""
        return order if self.kind.dense_ids else self.ids_of(order.astype(np.uint32))

    def id_table(self) -> Int64s | None:
        """int64[vertex_count]: users' ids by index, where they lie; None: they are the indices."""
        if self.kind.dense_ids:
            return None
        return self.arena.table(ImageTable.VERTEX_IDS).view(np.int64)[: self.vertex_count]

    def csr(self, order: Int64s) -> tuple[Int64s, UInt32s, dict[str, npt.NDArray[np.generic]]]:
        """Adjacencies of the vertices ``order`` as CSR: indptr, columns, properties.

        Columns are positions in ``order``, increasing within a row.
        """
        return csr_of(self, order)
