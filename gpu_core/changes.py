"""Changed edges: what one batch adds and removes, by vertex index, where its engine works.

What is maintained with every batch goes by these. They are what `effects.py` tells users, without
users' ids and weights, and never leave the engine's memory.

A batch is followed in two steps: its removed edges in the graph before it, its added edges in the
graph after it. In either step the graph has all edges of the list. Both lists follow from the net
effect of the batch and look-ups before it; only the indices of vertices that it creates are known
afterwards.

Of undirected graphs only: nothing is maintained of others yet. Twins that look things up:
``host/update/changes.py``, ``cuda/update/changes.py``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import ModuleType
from typing import Any

import numpy as np

#: An array of the engine's array module.
Array = Any

_HALF = np.uint64(32)


class Changing(ABC):
    """The edges that a batch is about to change; made before it is applied, used around it.

    Parameters
    ----------
    xp
        The engine's array module.
    batch
        Valid, as the engine takes it.
    """

    def __init__(self, xp: ModuleType, batch: Any) -> None:
        self._xp = xp
        #: The batch, where the engine works, to be applied in place of the one that came.
        self.batch = batch
        put, deleted = self._pairs("put"), self._pairs("delete")
        was_there, found = self._found(*put), self._found(*deleted)
        self._is_new = ~was_there
        #: uint64: keys of the edges that were there and will be no more, increasing, each once.
        self.removed: Array = xp.unique(
            xp.concatenate(
                [
                    edge_keys(xp, *(ends[found] for ends in deleted)),
                    edge_keys(xp, *self._lost()),
                ]
            )
        )
        if self.removed.size:
            kept = edge_keys(xp, *(ends[was_there] for ends in put))
            self.removed = self.removed[~xp.isin(self.removed, kept)]

    def added(self) -> Array:
        """uint64: keys of the edges that are new, likewise; once the batch is applied."""
        new = tuple(ends[self._is_new] for ends in self._pairs("put"))
        return self._xp.sort(edge_keys(self._xp, *new))

    @abstractmethod
    def _pairs(self, kind: str) -> tuple[Array, Array]:
        """uint32: ends of the edges that the batch puts or deletes (``kind``), by index as it is.

        `NONE`, or an index without a row, where the end is no vertex now.
        """

    @abstractmethod
    def _found(self, sources: Array, targets: Array) -> Array:
        """bool: whether each pair of indices is an edge now."""

    @abstractmethod
    def _lost(self) -> tuple[Array, Array]:
        """Ends of the edges of vertices that the batch deletes, some of them twice."""


def edge_keys(xp: ModuleType, sources: Array, targets: Array) -> Array:
    """uint64: undirected edges as ``lower index << 32 | higher index``."""
    low, high = xp.minimum(sources, targets), xp.maximum(sources, targets)
    return low.astype(np.uint64) << _HALF | high.astype(np.uint64)
