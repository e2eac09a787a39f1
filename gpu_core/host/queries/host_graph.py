"""A graph in host memory by vertex index: its image, and what is read from it.

Queries, updates and algorithms of the host engine take a `HostGraph` and nothing above it. How a
batch is applied: ``update/apply.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...copies.rows_in_order import order_of
from ...image.fields import NONE, Field, ImageTable
from ...image.image_graph import ImageGraph
from ...image.memory import MemoryReport
from ...jit.parallel import for_ranges
from ...kind import GraphKind
from ..memory.arena import Arena
from .queries import copy_neighbors, degrees_of, find_entries, indices_of, present_flags

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]


class HostGraph(ImageGraph[Arena]):
    """An image in host memory, and the kind of graph that it holds; see `ImageGraph`."""

    def __init__(self, kind: GraphKind, arena: Arena) -> None:
        super().__init__(kind, arena)
        #: Slots of the dictionary as last filled; another size means that it was just moved.
        self.dictionary_slots = arena.table_words(ImageTable.DICTIONARY)

    def present(self) -> npt.NDArray[np.bool_]:
        """bool[vertex_count]: whether each vertex is in the graph."""
        out = np.empty(self.vertex_count, np.bool_)
        for_ranges(present_flags, out.size, self.image, self.shape("out"), out)
        return out

    def user_ids(self) -> Int64s:
        """int64[vertex_count]: users' ids; undefined where the vertex is absent."""
        if self.kind.dense_ids:
            return np.arange(self.vertex_count, dtype=np.int64)
        return self.arena.table(ImageTable.VERTEX_IDS).view(np.int64)[: self.vertex_count].copy()

    def sorted_order(self) -> Int64s:
        """int64[num_vertices]: indices of the vertices, in increasing order of users' ids."""
        indices = np.flatnonzero(self.present())
        if self.kind.dense_ids:
            return indices
        ids = self.user_ids()[indices]
        return indices if np.all(ids[:-1] < ids[1:]) else indices[order_of(ids)]

    def indices_at(self, positions: Int64s) -> UInt32s:
        """Vertex indices at some positions of that order."""
        return self.sorted_order()[positions].astype(np.uint32)

    def degrees(self, indices: UInt32s, direction: str = "out") -> Int64s:
        """int64: degree of each vertex index; 0 for `NONE`."""
        out = np.empty(indices.size, np.int64)
        for_ranges(degrees_of, out.size, self.image, self.shape(direction), indices, out)
        return out

    def neighbors(self, indices: UInt32s, direction: str = "out") -> tuple[Int64s, UInt32s]:
        """Adjacencies of several vertices as CSR (indptr, columns), columns by index."""
        image, shape = self.image, self.shape(direction)
        indptr = np.zeros(indices.size + 1, np.int64)
        for_ranges(degrees_of, indices.size, image, shape, indices, indptr[1:])
        indptr.cumsum(out=indptr)
        out = np.empty(indptr[-1], np.uint32)
        for_ranges(copy_neighbors, indices.size, image, shape, indices, indptr, out)
        return indptr, out

    def has_edges(self, sources: UInt32s, targets: UInt32s) -> npt.NDArray[np.bool_]:
        """Return for each pair of vertex indices whether it is an edge; no pair with `NONE` is."""
        return self._positions(sources, targets, 0) >= 0

    def edge_property(
        self, name: str, sources: UInt32s, targets: UInt32s
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[Any]]:
        """As `has_edges`, and a property of the record of each edge, 0 of no edge."""
        words = self.record.words_of(name)
        values = np.empty(sources.size * len(words), np.uint32)
        for i, word in enumerate(words):
            positions = self._positions(sources, targets, word)
            found = positions >= 0
            # Header words stand for the values of what is not there.
            values[i :: len(words)] = self.image[np.maximum(positions, 0)] * found
        return found, values.view(self.record.dtypes[name])

    def _positions(self, sources: UInt32s, targets: UInt32s, word: int) -> Int64s:
        """Position in the image of a word of the entry of each pair; -1: there is no such entry."""
        out = np.empty(sources.size, np.int64)
        shape = self.shape("out")
        order = _disorder(sources, targets) if self.arena.layout.is_paged else None
        pairs = (sources, targets) if order is None else (sources[order], targets[order])
        for_ranges(find_entries, out.size, self.image, shape, *pairs, word, out)
        if order is not None:
            out[order] = out.copy()
        out[(sources == NONE) | (targets == NONE)] = -1
        return out

    def indices_of(self, ids: Int64s) -> UInt32s:
        """Vertex index of each of users' ids; `NONE` for ids that are not in the graph."""
        self.check_whole()
        return indices_of(self.arena, ids)

    def ids_of(self, indices: UInt32s) -> Int64s:
        """Users' id of each vertex index."""
        if self.kind.dense_ids:
            return indices.astype(np.int64)
        return self.arena.table(ImageTable.VERTEX_IDS).view(np.int64)[indices]

    def queued_vertices(self) -> UInt32s:
        """Freed vertex indices in the order in which they will be used again."""
        return self.arena.queued_vertices()

    def image_bytes(self) -> memoryview:
        """Bytes of the image without scratch. Valid until the next batch."""
        return self.image[: self.arena[Field.PAGE_END]].data

    def memory(self) -> MemoryReport:
        """Bytes by region."""
        return self.arena.memory()


def _disorder(sources: UInt32s, targets: UInt32s) -> Int64s | None:
    """int64[pairs]: pairs by source and target; None: they are in this order."""
    keys = sources.astype(np.uint64) << np.uint64(32) | targets
    return None if (keys[:-1] <= keys[1:]).all() else np.argsort(keys)
