"""The host engine: a dynamic graph in an arena image in host memory, with Numba kernels.

What is here is read by queries, algorithms and exports; how a batch is applied is told by
`apply.py`. If a batch is cut off while the image is written (Ctrl-C in a notebook), the engine says
so and refuses to go on.

The engine knows vertex indices; users' ids are met only in `identify` and in the tables of the
dictionary. The face of it all is `graph.DynamicGraph`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from ..batch import UpdateBatch
from ..errors import ArenaFullError, BatchError, EngineError
from ..image import NONE, Field, Shape, Table
from ..layouts import LAYOUTS
from ..memory import MemoryReport
from ..records import Record
from ..verify import verify_image
from . import clustering, pagerank, triangles
from .accounts import Outcome
from .apply import apply_identified
from .arena import Arena
from .export import csr_of, has_entries
from .identify import identify, indices_of
from .parallel import for_ranges
from .restore import restore
from .vertices import copy_neighbours, degrees_of, present_flags

if TYPE_CHECKING:
    from ..cuda.batch import DeviceBatch
    from ..cuda.feed import Upload

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Algorithms:
    """Twins of the algorithms' inner loops, by the name of the algorithm."""

    clustering = clustering
    pagerank = pagerank
    triangles = triangles


class HostEngine:
    """Dynamic graph in host memory, by vertex index.

    Parameters are those of `Arena`. `apply` holds ``lock``; whoever reads the image holds it too,
    for as long as what was read is used (`DynamicGraph` does), so one graph may be used from
    several threads.
    """

    name = "host"
    algorithms = Algorithms()

    def __init__(
        self,
        *,
        record: Record,
        directed: bool,
        reverse: bool,
        soa: bool,
        layout: str,
        dense_ids: bool,
        page_bytes: int | None = None,
        arena_bytes: int | None = None,
        expected_edges: int = 0,
        limit_bytes: int | None = None,
    ) -> None:
        arena = Arena(
            record=record,
            directed=directed,
            reverse=reverse and directed,
            soa=soa,
            layout=layout,
            dense_ids=dense_ids,
            page_bytes=page_bytes,
            arena_bytes=arena_bytes,
            expected_edges=expected_edges,
            limit_bytes=limit_bytes,
        )
        self._hold(arena, record)

    @classmethod
    def over(cls, arena: Arena, record: Record) -> HostEngine:
        """Engine over an image that is there, such as a copy of another engine's."""
        engine = cls.__new__(cls)
        engine._hold(arena, record)
        return engine

    def _hold(self, arena: Arena, record: Record) -> None:
        self.arena = arena
        self.record = record
        self.directed = bool(arena[Field.DIRECTED])
        self.has_reverse = not self.directed or arena[Field.REVERSE_ENTRY_WORDS] > 0
        self.lock = self.batch_lock = threading.RLock()
        self.is_chain = arena[Field.LAYOUT] == LAYOUTS["chain"].CODE
        #: Slots of the dictionary as last filled; another size means that it was just moved.
        self.dictionary_slots = arena.table_words(Table.DICTIONARY)
        self._torn = False

    @property
    def is_broken(self) -> bool:
        """Whether a batch was cut off while the image was written: all calls are refused then."""
        return self._torn

    # -- what algorithms and queries read ----------------------------------------------------

    @property
    def image(self) -> UInt32s:
        """The words of the image. Valid until the next batch."""
        return self.arena.image

    def shape(self, direction: str) -> Shape:
        """Numbers that walk the adjacencies ``out`` or ``in`` (undirected: the same)."""
        self._check_whole()
        return self.arena.shape(direction)

    @property
    def vertex_count(self) -> int:
        """Vertex records in use; some of them may be of absent vertices."""
        return self.arena[Field.VERTEX_COUNT]

    def present(self) -> npt.NDArray[np.bool_]:
        """bool[vertex_count]: whether each vertex is in the graph."""
        out = np.empty(self.vertex_count, np.bool_)
        for_ranges(present_flags, out.size, self.image, self.shape("out"), out)
        return out

    def user_ids(self) -> Int64s:
        """int64[vertex_count]: users' ids; undefined where the vertex is absent."""
        if self.arena[Field.DENSE_IDS]:
            return np.arange(self.vertex_count, dtype=np.int64)
        return self.arena.table(Table.VERTEX_IDS).view(np.int64)[: self.vertex_count].copy()

    def sorted_order(self) -> Int64s:
        """int64[num_vertices]: indices of the vertices, in increasing order of users' ids."""
        indices = np.flatnonzero(self.present())
        if self.arena[Field.DENSE_IDS]:
            return indices
        ids = self.user_ids()[indices]
        return indices if np.all(ids[:-1] < ids[1:]) else indices[np.argsort(ids)]

    def degrees(self, indices: UInt32s, direction: str = "out") -> Int64s:
        """int64: degree of each vertex index; 0 for `NONE`."""
        out = np.empty(indices.size, np.int64)
        for_ranges(degrees_of, out.size, self.image, self.shape(direction), indices, out)
        return out

    def neighbours(self, indices: UInt32s, direction: str = "out") -> tuple[Int64s, UInt32s]:
        """Adjacencies of several vertices as CSR (indptr, columns), columns by index."""
        degrees = self.degrees(indices, direction)
        indptr = np.concatenate([[0], np.cumsum(degrees)])
        out = np.empty(indptr[-1], np.uint32)
        shape = self.shape(direction)
        for_ranges(copy_neighbours, indices.size, self.image, shape, indices, indptr, out)
        return indptr, out

    def has_edges(self, sources: UInt32s, targets: UInt32s) -> npt.NDArray[np.bool_]:
        """Tell for each pair of vertex indices whether it is an edge; no pair with `NONE` is."""
        out = np.empty(sources.size, np.bool_)
        for_ranges(has_entries, out.size, self.image, self.shape("out"), sources, targets, out)
        return out & (sources != NONE) & (targets != NONE)

    def csr(self, order: Int64s) -> tuple[Int64s, UInt32s, dict[str, npt.NDArray[np.generic]]]:
        """Adjacencies of the vertices ``order`` as CSR: indptr, columns, properties.

        Columns are positions in ``order``, increasing within a row.
        """
        return csr_of(self, order)

    @property
    def num_vertices(self) -> int:
        """Vertices in the graph."""
        return self.arena[Field.NUM_VERTICES]

    @property
    def num_edges(self) -> int:
        """Edges in the graph; an undirected edge counts once."""
        return self.arena[Field.NUM_EDGES]

    def indices_of(self, ids: Int64s) -> UInt32s:
        """Vertex index of each of users' ids; `NONE` for ids that are not in the graph."""
        self._check_whole()
        return indices_of(self.arena, ids)

    def ids_of(self, indices: UInt32s) -> Int64s:
        """Users' id of each vertex index."""
        if self.arena[Field.DENSE_IDS]:
            return indices.astype(np.int64)
        return self.arena.table(Table.VERTEX_IDS).view(np.int64)[indices]

    def queued_vertices(self) -> UInt32s:
        """Freed vertex indices in the order in which they will be used again."""
        return self.arena.queued_vertices()

    def free_pages(self) -> tuple[int, int, int]:
        """Pages used, pages that can be handed out without growth, largest free run."""
        return self.arena.free_pages()

    def image_bytes(self) -> memoryview:
        """Bytes of the image without scratch. Valid until the next batch."""
        return self.image[: self.arena[Field.PAGE_END]].data

    def memory(self) -> MemoryReport:
        """Bytes by region."""
        return self.arena.memory()

    def verify(self, level: str) -> None:
        """Raise `CorruptImageError` that names the first invariant that does not hold."""
        verify_image(self, level)

    # -- applying a batch --------------------------------------------------------------------

    def feed(self) -> None:
        """Nothing is sent ahead: batches are applied where they lie."""
        return

    def received(self, batch: UpdateBatch | DeviceBatch | Upload) -> UpdateBatch | DeviceBatch:
        """The batch as it is: no feed is made here."""
        return cast("UpdateBatch | DeviceBatch", batch)

    def apply(self, batch: UpdateBatch | DeviceBatch, *, create_vertices: bool) -> Outcome:
        """Apply a batch for a graph of this kind, whole or not at all.

        Raises
        ------
        BatchError
            The batch breaks its own rules or lies on a device, an id cannot be a vertex of this
            graph, or an end point is missing.
        ArenaFullError
            The batch does not fit, not even beside rows that lie as tight as they can.
        EngineError
            An earlier batch was cut off while the image was written.
        """
        if not isinstance(batch, UpdateBatch):
            msg = f"{batch!r} lies on a device; engine='host' takes an UpdateBatch"
            raise BatchError(msg)
        batch.ensure_valid()
        with self.lock:
            self._check_whole()
            mapped = identify(self.arena, batch, create_vertices=create_vertices)
            try:
                outcome = apply_identified(self, mapped, batch)
            except ArenaFullError:
                if self.is_broken or not self.arena.squeeze():
                    raise
                outcome = apply_identified(self, mapped, batch)
            return self.arena.after_batch(outcome)

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Fill the empty engine with what `snapshot.checkpoint_arrays` returned.

        Raises
        ------
        ArenaFullError
            The graph does not fit within the limit; the engine is of no use.
        """
        with self.lock:
            restore(self, arrays)

    @contextmanager
    def committing(self) -> Iterator[None]:
        """While the image is written: an exception in here leaves the graph unusable."""
        self._torn = True
        yield
        self._torn = False

    def _check_whole(self) -> None:
        if self._torn:
            msg = (
                "the graph was left in the middle of a batch (interrupted or out of memory) and "
                "cannot be used; restore it from a checkpoint or build it anew"
            )
            raise EngineError(msg)
