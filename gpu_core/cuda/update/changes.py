"""Edges that a batch will add and remove in a graph on the device; see `gpu_core/changes.py`.

Nothing goes to the host but how many edges there are. Kernel: ``changes.cu``. Host twin:
``host/update/changes.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ...batch.update_batch import UpdateBatch
from ...changes import Changing
from ..queries.queries import copy_neighbors, find_entries, indices_of
from .assisted.map_ids import check_fits, look_up_ids
from .batch import DeviceBatch, upload

if TYPE_CHECKING:
    from ..device.device import Array
    from .assisted.mapped import Mapped
    from .state import UpdatableGraph

_THREADS: Final = 256


class DeviceChanging(Changing):
    """Looks up what a batch names in the image of ``graph``, whose lock is held.

    Raises
    ------
    BatchError
        The batch has ids of the other kind, or the graph would have too many vertex records.
    """

    def __init__(self, graph: UpdatableGraph, batch: UpdateBatch | DeviceBatch) -> None:
        if isinstance(batch, UpdateBatch):
            batch = upload(graph.staging, batch, dense=graph.has_dense_ids)
        check_fits(graph, batch)
        self._graph: UpdatableGraph = graph
        self._mapped: Mapped | None = look_up_ids(graph, batch)
        super().__init__(graph.device.xp, graph, batch, are_indices=batch.dense)
        self._mapped = None

    def _pairs(self, kind: str) -> tuple[Array, Array]:
        if getattr(self.batch, f"{kind}_indices").size == 0:
            nothing = self._graph.device.empty(0, np.uint32)
            return nothing, nothing
        mapped = self._mapped or look_up_ids(self._graph, self.batch)
        rows, entry_rows, columns = (
            getattr(mapped, f"{kind}_{part}") for part in ("rows", "entry_rows", "columns")
        )
        return rows[entry_rows], columns

    def _found(self, sources: Array, targets: Array) -> Array:
        return find_entries(self._graph, sources, targets) >= 0

    def _keys(self, sources: Array, targets: Array) -> Array:
        device, count = self._graph.device, int(sources.size)
        keys = device.empty(count, np.uint64)
        device.launch(
            "changes.cu", "edge_keys", -(-count // _THREADS), _THREADS, sources, targets,
            np.int64(count), np.int64(self._graph.kind.directed), keys,
        )  # fmt: skip
        return keys

    def _gone(self) -> Array:
        gone = self.batch.delete_vertices
        if gone.size == 0:
            return self._graph.device.empty(0, np.uint32)
        if not self.batch.dense:
            gone = indices_of(self._graph, gone)
        return gone[gone < self._graph.vertex_count].astype(np.uint32)

    def _entries_of(self, indices: Array, direction: str) -> tuple[Array, Array]:
        if indices.size == 0:
            return indices, indices
        xp = self._graph.device.xp
        indptr, columns = copy_neighbors(self._graph, indices, direction)
        entries = xp.arange(columns.size, dtype=np.int64)
        return indices[xp.searchsorted(indptr[1:], entries, side="right")], columns
