"""Read access to a graph in device memory, for queries, exports and algorithms.

The protocol is `engine.Reader`. Host twin: ``host/queries/host_reader.py``.

What the device has no room for goes through the *mirror*: a host engine over a copy of the image in
host memory, made when it is first needed and kept until the next batch.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...algorithms.shared.twins import Twins
from ...engine import Engine, HostTwin, Maintained
from ...errors import ArenaFullError
from ...image.fields import PRESENT_BIT, STATE_WORD, Field
from ...image.image_graph import with_whole_image
from ...kind import GraphKind
from ...rows import EntryTimes, Rows
from .. import analytics
from ..device.device import Array, Device
from ..device.stream import StreamLock
from ..memory.arena import DeviceArena
from ..memory.scratch import DeviceScratch
from ..memory.workspace import Workspace
from .device_graph import DeviceGraph
from .export import csr_of
from .queries import copy_neighbors, degrees_of, find_entries, indices_of
from .rows import entry_times, live_rows, pinned_rows
from .vertex_order import id_table, ids_in_order, order_by_id

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]


def rehearse(device: Device) -> None:
    """Have CuPy compile the kernels of its own that the end of a run needs."""
    _are_present(device.xp.zeros((2, STATE_WORD + 1), np.uint32)[:, STATE_WORD])


def _are_present(states: Array) -> Array:
    return states & np.uint32(PRESENT_BIT) != 0


class _Order:
    """Vertices in increasing order of users' ids, and these; see `vertex_order.py`."""

    def __init__(self, device: Device, arena: DeviceArena) -> None:
        self._device, self._arena = device, arena
        self.indices: Array | None = order_by_id(device, arena)

    @cached_property
    def ids(self) -> Array | None:
        """As `DeviceReader.ids_in_order`."""
        return ids_in_order(self._device, self._arena, self.indices)


class DeviceReader(DeviceGraph):
    """A graph in device memory, to be read.

    A caller that reads the image holds ``lock`` while it uses what it read, and works on its
    stream in there (`StreamLock`).

    Parameters
    ----------
    kind, device, arena
        As of `DeviceGraph`.
    lock
        Of the image, and of the stream that works on it.
    scratch
        Takes scratch for the length of a ``with`` block.
    host_engine
        Makes an engine over a copy of the image in host memory.
    """

    name = "cuda"
    algorithms = Twins(analytics.__name__)

    @property
    def ordinal(self) -> int:
        """Which GPU, among those that CUDA counts."""
        return self.device.ordinal

    def __init__(
        self,
        kind: GraphKind,
        device: Device,
        arena: DeviceArena,
        lock: StreamLock,
        scratch: Callable[[int], AbstractContextManager[DeviceScratch]],
        host_engine: HostTwin,
    ) -> None:
        super().__init__(kind, device, arena)
        self.lock = lock
        self.workspace = Workspace(device, scratch)
        self._host_engine = host_engine
        self._mirror: Engine | None = None
        #: `order` and `ids_in_order`, until vertices come or go; and `sorted_order`.
        self._order: _Order | None = None
        self._host_order: Int64s | None = None
        #: Live rows by direction, since the newest batch.
        self._rows: dict[str, Rows] = {}
        #: Times of entries by name, likewise.
        self._times: dict[str, EntryTimes] = {}
        self.maintained: dict[str, Maintained] = {}

    def forget_copies(self) -> None:
        """Drop copies of the image, which is about to change."""
        self._mirror = None
        self._rows.clear()
        self._times.clear()

    def forget_order(self) -> None:
        """Drop the order of the vertices, as some have come or gone, or for its memory."""
        self._order = self._host_order = None

    @with_whole_image
    def rows(self, direction: str, *, weighted: bool = False) -> Rows:
        """Live rows of the direction ``out`` or ``in`` (undirected: the same), until a batch."""
        stored = direction if self.directed else "out"
        rows = self._rows.get(stored)
        if (
            rows is None
            or (rows.indptr is None and rows.columns is not self.image)
            or (weighted and rows.weights is None)
        ):
            rows = live_rows(self.device, self.arena, stored, weighted=weighted)
            self._rows[stored] = rows
        return rows

    @with_whole_image
    def pinned_rows(self, direction: str, *, weighted: bool = False) -> Rows:
        """Copy the rows of a direction, to memory of their own; see `Rows`."""
        return pinned_rows(self.device, self.arena, direction, weighted=weighted)

    @with_whole_image
    def entry_times(self, name: str) -> EntryTimes:
        """Copy the times ``first`` or ``last`` of all edges; kept until the next batch."""
        if name not in self._times:
            word = self.record.words_of(name)[0]
            self._times[name] = entry_times(self.device, self.arena, word)
        return self._times[name]

    def order(self) -> Array | None:
        """uint32, on the device: as `sorted_order`; None: the indices themselves."""
        return self._vertices_in_order().indices

    def ids_in_order(self, order: Array | None) -> Array | None:
        """int64[num_vertices], on the device: users' ids in that order; None: 0, 1, 2 and so on."""
        found = self._vertices_in_order()
        assert order is found.indices
        return found.ids

    def _vertices_in_order(self) -> _Order:
        """The order, which most batches leave as it is; nobody writes to its arrays."""
        if self._order is None:
            self._order = _Order(self.device, self.arena)
        return self._order

    def id_table(self) -> Array | None:
        """int64[vertex_count], on the device, of the image: users' ids; None: the indices."""
        return None if self.arena[Field.DENSE_IDS] else id_table(self.arena)

    @with_whole_image
    def present(self) -> npt.NDArray[np.bool_]:
        """bool[vertex_count]: whether each vertex is in the graph."""
        states = self.arena.vertex_table()[:, STATE_WORD]
        return self.device.to_host(_are_present(states))

    @with_whole_image
    def user_ids(self) -> Int64s:
        """int64[vertex_count]: users' ids; undefined where the vertex is absent."""
        if self.arena[Field.DENSE_IDS]:
            return np.arange(self.vertex_count, dtype=np.int64)
        return self.device.to_host(id_table(self.arena))

    @with_whole_image
    def sorted_order(self) -> Int64s:
        """int64[num_vertices]: indices of the vertices, in increasing order of users' ids."""
        if self._host_order is None:
            order = self.order()
            if order is None:
                self._host_order = np.arange(self.num_vertices)
            else:
                self._host_order = self.device.to_host(order).astype(np.int64)
        return self._host_order.copy()

    @with_whole_image
    def indices_at(self, positions: Int64s) -> UInt32s:
        """Vertex indices at some positions of that order, which is not brought to the host."""
        order = self.order()
        if order is None:
            return positions.astype(np.uint32)
        return self.device.to_host(order[self.device.to_device(positions)])

    @with_whole_image
    def indices_of(self, ids: Int64s) -> UInt32s:
        """Vertex index of each of users' ids; `NONE` for ids that are not in the graph."""
        return self.device.to_locked_host(indices_of(self, self.device.to_device(ids)))

    @with_whole_image
    def ids_of(self, indices: UInt32s) -> Int64s:
        """Users' id of each vertex index."""
        if self.arena[Field.DENSE_IDS]:
            return indices.astype(np.int64)
        return self.device.to_host(id_table(self.arena)[self.device.to_device(indices)])

    @with_whole_image
    def queued_vertices(self) -> UInt32s:
        """Freed vertex indices in the order in which they will be used again."""
        return self.device.to_host(self.arena.queued_vertices())

    @with_whole_image
    def degrees(self, indices: UInt32s, direction: str = "out") -> Int64s:
        """int64: degree of each vertex index; 0 for `NONE`."""
        return self.device.to_host(degrees_of(self, self.device.to_device(indices), direction))

    @with_whole_image
    def neighbors(self, indices: UInt32s, direction: str = "out") -> tuple[Int64s, UInt32s]:
        """Adjacencies of several vertices as CSR (indptr, columns), columns by index."""
        indptr, columns = copy_neighbors(self, self.device.to_device(indices), direction)
        return self.device.to_host(indptr), self.device.to_host(columns)

    @with_whole_image
    def has_edges(self, sources: UInt32s, targets: UInt32s) -> npt.NDArray[np.bool_]:
        """Return for each pair of vertex indices whether it is an edge; no pair with `NONE` is."""
        to_device = self.device.to_device
        positions = find_entries(self, to_device(sources), to_device(targets))
        return self.device.to_host(positions >= 0)

    @with_whole_image
    def edge_property(
        self, name: str, sources: UInt32s, targets: UInt32s
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[Any]]:
        """As `has_edges`, and a property of the record of each edge, 0 of no edge."""
        to_device, to_host, xp = self.device.to_device, self.device.to_host, self.device.xp
        pairs = to_device(sources), to_device(targets)
        words = self.record.words_of(name)
        values = self.device.empty(sources.size * len(words), np.uint32)
        for i, word in enumerate(words):
            positions = find_entries(self, *pairs, word=word)
            found = positions >= 0
            # Header words stand for the values of what is not there.
            values[i :: len(words)] = self.image[xp.maximum(positions, 0)] * found
        return to_host(found), to_host(values.view(np.dtype(self.record.dtypes[name])))

    @with_whole_image
    def csr(self, order: Int64s) -> tuple[Int64s, UInt32s, dict[str, npt.NDArray[np.generic]]]:
        """Adjacencies of the vertices ``order`` as CSR: indptr, columns, properties.

        Columns are positions in ``order``, increasing within a row.
        """
        if self._mirror is None:
            # On a device that has no room for the copy, the host makes it.
            with suppress(ArenaFullError):
                indptr, columns, properties = csr_of(self.workspace, self.arena, self.record, order)
                to_host = self.device.to_host
                copied = {name: to_host(column) for name, column in properties.items()}
                return to_host(indptr), to_host(columns), copied
        return self.mirror().csr(order)

    @with_whole_image
    def mirror(self) -> Engine:
        """Host engine over a copy of the image; nothing may be applied to it.

        Valid until the next batch. The copy takes as much host memory as the image has words in
        use.
        """
        if self._mirror is None:
            self._mirror = self._host_engine(self.kind, self.arena.host_image())
        return self._mirror
