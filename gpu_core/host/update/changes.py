"""Edges that a batch will add and remove in a graph in host memory; see `gpu_core/changes.py`.

CUDA twin: ``cuda/update/changes.py``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...batch.update_batch import UpdateBatch
from ...changes import Changing
from ...image.fields import NONE
from ..queries.host_graph import HostGraph

UInt32s = npt.NDArray[np.uint32]

_HALF = np.uint64(32)


class HostChanging(Changing):
    """Looks up what a batch names in the image of ``graph``, whose lock is held."""

    def __init__(self, graph: HostGraph, batch: UpdateBatch) -> None:
        super().__init__(np, graph, batch, are_indices=graph.kind.dense_ids)

    def _pairs(self, kind: str) -> tuple[UInt32s, UInt32s]:
        rows, indptr, columns = (
            getattr(self.batch, f"{kind}_{part}") for part in ("rows", "indptr", "indices")
        )
        return np.repeat(self._indices(rows), np.diff(indptr)), self._indices(columns)

    def _indices(self, ids: npt.NDArray[np.int64]) -> UInt32s:
        if not self._are_indices:
            return self._graph.indices_of(ids)
        # Also of vertices that the batch creates. One that is none at all is refused, or missing.
        return np.where((ids >= 0) & (ids < NONE), ids, NONE).astype(np.uint32)

    def _found(self, pairs: tuple[UInt32s, UInt32s]) -> npt.NDArray[np.bool_]:
        return self._graph.has_edges(*pairs)

    def _chosen(
        self, pairs: tuple[UInt32s, UInt32s], found: npt.NDArray[np.bool_], *, are_there: bool
    ) -> npt.NDArray[np.uint64]:
        return self._keys(*pairs)[found == are_there]

    def _keys(self, sources: UInt32s, targets: UInt32s) -> npt.NDArray[np.uint64]:
        low, high = sources, targets
        if not self._graph.kind.directed:
            low, high = np.minimum(sources, targets), np.maximum(sources, targets)
        return low.astype(np.uint64) << _HALF | high.astype(np.uint64)

    def _gone(self) -> UInt32s:
        gone: UInt32s = self._graph.indices_of(self.batch.delete_vertices)
        return gone[gone != NONE]

    def _entries_of(self, indices: UInt32s, direction: str) -> tuple[UInt32s, UInt32s]:
        indptr, columns = self._graph.neighbors(indices, direction)
        return np.repeat(indices, np.diff(indptr)), columns
