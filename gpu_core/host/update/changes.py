"""Edges that a batch is about to change in a graph in host memory; see `gpu_core/changes.py`.

CUDA twin: ``cuda/update/changes.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...batch.update_batch import UpdateBatch
from ...changes import Changing
from ...image.fields import NONE

if TYPE_CHECKING:
    from ..queries.host_graph import HostGraph

UInt32s = npt.NDArray[np.uint32]

_HALF = np.uint64(32)


class HostChanging(Changing):
    """Looks up what a batch names in the image of ``graph``, whose lock is held."""

    def __init__(self, graph: HostGraph, batch: UpdateBatch) -> None:
        self._graph = graph
        super().__init__(np, batch, are_indices=graph.kind.dense_ids)

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

    def _found(self, sources: UInt32s, targets: UInt32s) -> npt.NDArray[np.bool_]:
        return self._graph.has_edges(sources, targets)

    def _keys(self, sources: UInt32s, targets: UInt32s) -> npt.NDArray[np.uint64]:
        low, high = np.minimum(sources, targets), np.maximum(sources, targets)
        return low.astype(np.uint64) << _HALF | high.astype(np.uint64)

    def _lost(self) -> tuple[UInt32s, UInt32s]:
        gone = self._graph.indices_of(self.batch.delete_vertices)
        gone = gone[gone != NONE]
        indptr, columns = self._graph.neighbors(gone)
        return np.repeat(gone, np.diff(indptr)), columns
