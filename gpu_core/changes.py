"""Changed edges: what one batch adds and removes, by vertex index, where its engine works.

What is maintained with every batch goes by these. They are what `effects.py` reports, without
users' ids and weights, and never leave the engine's memory.

A batch is followed in two steps: its removed edges in the graph before it, its added edges in the
graph after it. In either step the graph has all edges of the list. Both lists follow from the net
effect of the batch and look-ups before it; only the indices of vertices that it creates are known
afterwards. An edge is a *key*, ``lower index << 32 | higher index``, or, of a directed graph,
``source << 32 | target``.

Twins that look things up: ``host/update/changes.py``, ``cuda/update/changes.py``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import ModuleType
from typing import Any

import numpy as np

from .batch.protocols import ListedBatch
from .rows import Array, entries_naming


class Changing(ABC):
    """The edges that a batch is about to change; made before it is applied, used around it.

    Parameters
    ----------
    xp
        The engine's array module.
    graph
        As it is; its lock is held.
    batch
        Valid, as the engine takes it.
    are_indices
        Whether its ids are vertex indices: they are known before, and its edges in order.
    """

    def __init__(
        self, xp: ModuleType, graph: Any, batch: ListedBatch, *, are_indices: bool
    ) -> None:
        self._xp, self._graph, self._are_indices = xp, graph, are_indices
        #: The batch, where the engine works, to be applied in place of the one that came.
        self.batch = batch
        put = self._pairs("put")
        self._put_found = self._found(put)
        #: uint64: keys of the edges that were there and will be no more, increasing, each once.
        self.removed: Array = xp.empty(0, np.uint64)
        if batch.delete_indices.size:
            deleted = self._pairs("delete")
            found = self._chosen(deleted, self._found(deleted), are_there=True)
            self.removed = found if are_indices else xp.sort(found)
        if batch.delete_vertices.size:
            self.removed = xp.unique(xp.concatenate([self.removed, self._keys(*self._lost())]))
            # Each edge is in a batch once; but an edge of a vertex that comes back may be put.
            kept = self._chosen(put, self._put_found, are_there=True)
            self.removed = self.removed[~xp.isin(self.removed, kept)]
        #: Where they say what they will be; else new vertices have no indices yet.
        self._put = put if are_indices else None

    def added(self) -> Array:
        """uint64: keys of the edges that are new, likewise; once the batch is applied."""
        # How many there are is asked for here: before, the device would wait for the batch.
        if self._put is not None:
            return self._chosen(self._put, self._put_found, are_there=False)
        return self._xp.sort(self._chosen(self._pairs("put"), self._put_found, are_there=False))

    @abstractmethod
    def _pairs(self, kind: str) -> Any:
        """Ends of the edges that the batch puts or deletes (``kind``), by index as it is.

        `NONE`, or an index without a row, where the end is no vertex now.
        """

    @abstractmethod
    def _found(self, pairs: Any) -> Any:
        """Find out which of the pairs are edges now."""

    @abstractmethod
    def _chosen(self, pairs: Any, found: Any, *, are_there: bool) -> Array:
        """uint64: keys of the pairs that were found to be edges, or not to be, in their order."""

    @abstractmethod
    def _keys(self, sources: Array, targets: Array) -> Array:
        """uint64: keys of edges; ends are uint32."""

    def _lost(self) -> tuple[Array, Array]:
        """Ends of the edges of vertices that the batch deletes, some of them twice."""
        gone, kind = self._gone(), self._graph.kind
        if gone.size == 0 or not kind.directed:
            return self._entries_of(gone, "out")
        if kind.has_reverse:
            into = self._entries_of(gone, "in")[::-1]
        else:
            into = entries_naming(self._graph.pinned_rows("out"), gone, self._xp)
        ends = zip(self._entries_of(gone, "out"), into, strict=True)
        sources, targets = (self._xp.concatenate(each) for each in ends)
        return sources, targets

    @abstractmethod
    def _gone(self) -> Array:
        """uint32: indices of the vertices that the batch deletes and that are there."""

    @abstractmethod
    def _entries_of(self, indices: Array, direction: str) -> tuple[Array, Array]:
        """uint32: vertex and neighbor of each entry of the rows of these vertices."""
