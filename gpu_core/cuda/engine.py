"""The CUDA engine: a dynamic graph in an arena image in the memory of one NVIDIA GPU.

What is here is read by queries, algorithms and exports; how a batch is applied is told by
`apply.py`. Whatever the device does not do itself, or has no room for, goes through the *mirror*: a
host engine over a copy of the image in host memory, made when it is first needed and kept until the
next batch.

When the engine refuses to go on
--------------------------------
* The device broke (an illegal address, say): no process state of CUDA survives that, and every
  engine of this process is of no more use. `Device.broken` says why.
* A batch was cut off while the image was written: by Ctrl-C, or by any error of CUDA.

Either way the graph is restored from a checkpoint, or built anew, by whoever has one.

The engine knows vertex indices; users' ids are met only in `identify` and in the tables of the
dictionary. The face of it all is `graph.DynamicGraph`.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..batch import UpdateBatch
from ..errors import ArenaFullError, CorruptImageError, EngineError
from ..host.accounts import Outcome
from ..host.arena import Arena
from ..host.engine import HostEngine
from ..image import PRESENT_BIT, STATE_WORD, BatchField, Field, Shape
from ..memory import MemoryReport
from ..records import Record
from . import clustering, pagerank, triangles
from .apply import UpdateState, apply_batch
from .arena import DeviceArena
from .batch import DeviceBatch
from .commit import Report
from .device import Array, current_device
from .export import csr_of
from .feed import Feed, Upload
from .identify import indices_of
from .queries import copy_neighbours, degrees_of, has_entries
from .staging import Staging
from .stream import StreamLock
from .vertex_order import id_table, order_by_id

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Algorithms:
    """Twins of the algorithms' inner loops, by the name of the algorithm."""

    clustering = clustering
    pagerank = pagerank
    triangles = triangles


class CudaEngine:
    """Dynamic graph in device memory, by vertex index.

    Parameters are those of `host.arena.Arena`; the layout is ``runs``. Whoever reads the image
    holds ``lock`` for as long as what was read is used, and works on the engines' own stream in
    there (`StreamLock`).
    """

    name = "cuda"
    is_chain = False
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
        self.record = record
        self.directed = directed
        self.has_reverse = reverse or not directed
        self.device = current_device()
        if self.device.broken is not None:
            raise EngineError(self.device.broken)
        self.lock = StreamLock(self.device)
        self.batch_lock = self.lock.for_launches
        with self.lock:
            self.arena = DeviceArena(
                self.device,
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
            #: What applying remembers from batch to batch.
            self.updates = UpdateState(Report(self.device))
        #: What batches of the host go through.
        self.staging = Staging(self.device)
        #: Slots of the dictionary as last filled; another size means that it was just moved.
        self.dictionary_slots = 0
        #: Whether a batch was cut off while the image was written, or is being written.
        self.torn = False
        self._mirror: HostEngine | None = None
        self._order: Int64s | None = None

    @property
    def is_broken(self) -> bool:
        """Whether the engine refuses all further calls; the module's text says when."""
        return self.torn or self.device.broken is not None

    # -- what algorithms and queries read ----------------------------------------------------

    @property
    def image(self) -> Array:
        """The words of the image, on the device. Valid until the next batch."""
        return self.arena.image

    def shape(self, direction: str) -> Shape:
        """Numbers that walk the adjacencies ``out`` or ``in`` (undirected: the same)."""
        self._check_whole()
        return self.arena.shape(direction)

    @property
    def vertex_count(self) -> int:
        """Vertex records in use; some of them may be of absent vertices."""
        return self.arena[Field.VERTEX_COUNT]

    @property
    def num_vertices(self) -> int:
        """Vertices in the graph."""
        return self.arena[Field.NUM_VERTICES]

    @property
    def num_edges(self) -> int:
        """Edges in the graph; an undirected edge counts once."""
        return self.arena[Field.NUM_EDGES]

    def present(self) -> npt.NDArray[np.bool_]:
        """bool[vertex_count]: whether each vertex is in the graph."""
        with self.lock:
            self._check_whole()
            states = self.arena.vertex_table()[:, STATE_WORD]
            return self.device.to_host(states & np.uint32(PRESENT_BIT) != 0)

    def user_ids(self) -> Int64s:
        """int64[vertex_count]: users' ids; undefined where the vertex is absent."""
        with self.lock:
            self._check_whole()
            if self.arena[Field.DENSE_IDS]:
                return np.arange(self.vertex_count, dtype=np.int64)
            return self.device.to_host(id_table(self))

    def sorted_order(self) -> Int64s:
        """int64[num_vertices]: indices of the vertices, in increasing order of users' ids."""
        with self.lock:
            self._check_whole()
            if self._order is None:
                order = order_by_id(self)
                if order is None:
                    self._order = np.arange(self.num_vertices)
                else:
                    self._order = self.device.to_host(order).astype(np.int64)
            return self._order.copy()

    def indices_of(self, ids: Int64s) -> UInt32s:
        """Vertex index of each of users' ids; `NONE` for ids that are not in the graph."""
        with self.lock:
            self._check_whole()
            return self.device.to_host(indices_of(self, self.device.to_device(ids)))

    def ids_of(self, indices: UInt32s) -> Int64s:
        """Users' id of each vertex index."""
        with self.lock:
            self._check_whole()
            if self.arena[Field.DENSE_IDS]:
                return indices.astype(np.int64)
            return self.device.to_host(id_table(self)[self.device.to_device(indices)])

    def queued_vertices(self) -> UInt32s:
        """Freed vertex indices in the order in which they will be used again."""
        with self.lock:
            self._check_whole()
            return self.device.to_host(self.arena.queued_vertices())

    def degrees(self, indices: UInt32s, direction: str = "out") -> Int64s:
        """int64: degree of each vertex index; 0 for `NONE`."""
        with self.lock:
            self._check_whole()
            return self.device.to_host(degrees_of(self, self.device.to_device(indices), direction))

    def neighbours(self, indices: UInt32s, direction: str = "out") -> tuple[Int64s, UInt32s]:
        """Adjacencies of several vertices as CSR (indptr, columns), columns by index."""
        with self.lock:
            self._check_whole()
            indptr, columns = copy_neighbours(self, self.device.to_device(indices), direction)
            return self.device.to_host(indptr), self.device.to_host(columns)

    def has_edges(self, sources: UInt32s, targets: UInt32s) -> npt.NDArray[np.bool_]:
        """Tell for each pair of vertex indices whether it is an edge; no pair with `NONE` is."""
        with self.lock:
            self._check_whole()
            to_device = self.device.to_device
            return self.device.to_host(has_entries(self, to_device(sources), to_device(targets)))

    def csr(self, order: Int64s) -> tuple[Int64s, UInt32s, dict[str, npt.NDArray[np.generic]]]:
        """Adjacencies of the vertices ``order`` as CSR: indptr, columns, properties.

        Columns are positions in ``order``, increasing within a row.
        """
        with self.lock:
            self._check_whole()
            if self._mirror is None:
                # On a device that has no room for the copy, the host makes it.
                with suppress(ArenaFullError):
                    indptr, columns, properties = csr_of(self, order)
                    to_host = self.device.to_host
                    copied = {name: to_host(column) for name, column in properties.items()}
                    return to_host(indptr), to_host(columns), copied
            return self.mirror().csr(order)

    # -- accounts and checks -----------------------------------------------------------------

    def mirror(self) -> HostEngine:
        """Host engine over a copy of the image; nothing may be applied to it.

        Valid until the next batch. The copy takes as much host memory as the image has words in
        use.
        """
        with self.lock:
            self._check_whole()
            if self._mirror is None:
                self._mirror = HostEngine.over(Arena.adopt(self.arena.host_image()), self.record)
            return self._mirror

    def free_pages(self) -> tuple[int, int, int]:
        """Pages used, pages that can be handed out without growth, largest free run."""
        with self.lock:
            return self.arena.free_pages()

    def memory(self) -> MemoryReport:
        """Bytes by region, and of the host's page-locked memory that batches go through."""
        with self.lock:
            return replace(self.arena.memory(), staging_bytes=self.staging.nbytes)

    def image_bytes(self) -> memoryview:
        """Bytes of the image without scratch. Valid until the next batch."""
        return self.mirror().image_bytes()

    def verify(self, level: str) -> None:
        """Raise `CorruptImageError` that names the first invariant that does not hold.

        What is checked is a fresh copy of the image, by the checks of the host engine, and that
        the header that the host works with is the image's.
        """
        with self.lock:
            self._mirror = None
            mirror = self.mirror()
            mirror.verify(level)
            if not np.array_equal(mirror.arena.header, self.arena.header):
                field = int(np.flatnonzero(mirror.arena.header != self.arena.header)[0])
                msg = (
                    f"corrupt image: header field {field} is {mirror.arena.header[field]} on the "
                    f"device and {self.arena.header[field]} on the host; please report this, and "
                    f"rebuild the graph from its log"
                )
                raise CorruptImageError(msg)

    # -- applying a batch --------------------------------------------------------------------

    def feed(self) -> Feed:
        """Make what sends batches to the device ahead of their turn."""
        return Feed(self.staging, dense=bool(self.arena[Field.DENSE_IDS]))

    def received(self, batch: UpdateBatch | DeviceBatch | Upload) -> UpdateBatch | DeviceBatch:
        """What was sent, behind its copy; anything else as it is. ``batch_lock`` is held."""
        if not isinstance(batch, Upload):
            return batch
        with self.lock:
            self._check_whole()
            return batch.batch()

    def apply(self, batch: UpdateBatch | DeviceBatch, *, create_vertices: bool) -> Outcome:
        """Apply a batch for a graph of this kind, whole or not at all. ``batch_lock`` is held.

        Raises
        ------
        BatchError
            The batch breaks its own rules or is for other ids, an id cannot be a vertex of this
            graph, or an end point is missing.
        ArenaFullError
            The batch does not fit, not even beside rows that lie as tight as they can.
        EngineError
            CUDA failed, now or earlier, or an earlier batch was cut off.
        """
        if isinstance(batch, UpdateBatch):
            batch.ensure_valid()
        if self.torn or self.device.broken is not None:
            self._check_whole()
        self._mirror = None
        try:
            outcome = self._attempt(batch, create_vertices=create_vertices)
        except ArenaFullError:
            # The device may also have run out of memory while the image was written.
            if self.is_broken:
                raise
            with self.lock:
                has_room = self.arena.squeeze()
            if not has_room:
                raise
            outcome = self._attempt(batch, create_vertices=create_vertices)
        if outcome.vertices_created or outcome.vertices_removed:
            self._order = None
        if not self.arena.ages(outcome):
            return outcome
        with self.lock:
            return self.arena.compacted(outcome)

    def _attempt(self, batch: UpdateBatch | DeviceBatch, *, create_vertices: bool) -> Outcome:
        try:
            return apply_batch(self, batch, create_vertices=create_vertices)
        except BaseException:
            with self.lock:
                self._forget_batch()
            raise

    def _forget_batch(self) -> None:
        """Forget what a batch asked for and what kernels said of it, as it was not applied."""
        self.updates.forget()
        if not self.is_broken:
            self.arena.pull_header()
            self.arena.header[BatchField.STATUS :] = 0
            self.arena.push_header()

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Fill the empty engine with what `snapshot.checkpoint_arrays` returned.

        The image is built by the host engine, with the same sizes and limits, and copied.

        Raises
        ------
        ArenaFullError
            The graph does not fit within the limit; the engine is of no use.
        """
        with self.lock:
            self._check_whole()
            self._mirror = self._order = None
            arena = Arena.adopt(self.arena.host_image(), like=self.arena)
            host = HostEngine.over(arena, self.record)
            host.restore(arrays)
            with self.committing():
                self.arena.load_image(arena.image)
                self.dictionary_slots = host.dictionary_slots

    def committing(self) -> "_Committing":
        """While the image is written: an exception in here leaves the graph unusable."""
        return _Committing(self)

    def _check_whole(self) -> None:
        if self.device.broken is not None:
            raise EngineError(self.device.broken)
        if self.torn:
            msg = (
                "the graph was left in the middle of a batch (interrupted, or CUDA failed) and "
                "cannot be used; restore it from a checkpoint or build it anew"
            )
            raise EngineError(msg)


class _Committing(AbstractContextManager[None]):
    """A ``with`` block of `CudaEngine.committing`."""

    def __init__(self, engine: CudaEngine) -> None:
        self._engine = engine

    def __enter__(self) -> None:
        self._engine.torn = True

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._engine.torn = kind is not None
