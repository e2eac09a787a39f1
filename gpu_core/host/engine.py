"""The host engine: a dynamic graph in an arena image in host memory, with Numba kernels.

What is here is read by queries, algorithms and exports; how a batch is applied is told by
`apply.py`. If a batch is cut off while the image is written (Ctrl-C in a notebook), the engine says
so and refuses to go on.

The engine knows vertex indices; users' ids are met only in `identify` and in the tables of the
dictionary. The face of it all is `graph.DynamicGraph`.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..batch import UpdateBatch
from ..errors import EngineError
from ..image import Field, Shape, Table
from ..layouts import LAYOUTS
from ..memory import MemoryReport
from ..records import Record
from . import pagerank, triangles
from .apply import Outcome, apply_identified
from .arena import Arena
from .identify import identify, indices_of
from .parallel import for_ranges
from .vertices import copy_neighbours, degrees_of, present_flags

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Algorithms:
    """Twins of the algorithms' inner loops, by the name of the algorithm."""

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
        limit_bytes: int | None = None,
    ) -> None:
        self.record = record
        self.directed = directed
        self.has_reverse = reverse or not directed
        self.arena = Arena(
            record=record,
            directed=directed,
            reverse=reverse and directed,
            soa=soa,
            layout=layout,
            dense_ids=dense_ids,
            page_bytes=page_bytes,
            arena_bytes=arena_bytes,
            limit_bytes=limit_bytes,
        )
        self.lock = threading.RLock()
        self.is_chain = LAYOUTS[layout].CODE == LAYOUTS["chain"].CODE
        #: Slots of the dictionary as last filled; another size means that it was just moved.
        self.dictionary_slots = 0
        self._torn = False

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

    def free_pages(self) -> tuple[int, int, int]:
        """Pages used, pages that can be handed out without growth, largest free run."""
        return self.arena.free_pages()

    def image_bytes(self) -> memoryview:
        """Bytes of the image without scratch. Valid until the next batch."""
        return self.image[: self.arena[Field.PAGE_END]].data

    def memory(self) -> MemoryReport:
        """Bytes by region."""
        return self.arena.memory()

    # -- applying a batch --------------------------------------------------------------------

    def apply(self, batch: UpdateBatch, *, create_vertices: bool) -> Outcome:
        """Apply a validated batch, whole or not at all.

        Raises
        ------
        BatchError
            An id cannot be a vertex of this graph, or an end point is missing.
        ArenaFullError
            The batch does not fit.
        EngineError
            An earlier batch was cut off while the image was written.
        """
        with self.lock:
            self._check_whole()
            mapped = identify(self.arena, batch, create_vertices=create_vertices)
            return apply_identified(self, mapped, batch)

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
