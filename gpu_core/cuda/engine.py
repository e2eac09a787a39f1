"""The CUDA engine: a dynamic graph in an arena image in the memory of one NVIDIA GPU.

What is read from the graph: ``queries/device_reader.py``. How a batch is applied:
``update/apply.py``. Whatever the device does not do itself, or has no room for, goes through the
*mirror*: a host engine over a copy of the image in host memory, made when it is first needed and
kept until the next batch.

When the engine refuses to go on
--------------------------------
* The device broke (an illegal address, say): no process state of CUDA survives that, and every
  engine of this process is of no more use. `Device.broken` says why.
* A batch was cut off while the image was written: by Ctrl-C, or by any error of CUDA.

Either way the graph is restored from a checkpoint, or built again, by its owner.

The engine knows vertex indices; users' ids are met only where a batch is mapped and in the tables
of the dictionary. The face of it all is `graph.DynamicGraph`.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from ..batch.mean_degree import mean_degree
from ..batch.raw_rows import raw_rows
from ..batch.update_batch import UpdateBatch
from ..engine import HostTwin
from ..errors import ArenaFullError, CorruptImageError, EngineError
from ..image import detail
from ..image.accounts import Outcome
from ..image.image_graph import with_whole_image
from ..image.memory import MemoryReport
from ..image.pinned import Pins
from ..jit.parallel import SERIAL_ITEMS
from ..kind import ArenaSizes, GraphKind, RowMeaning
from .convert.expired_batch import expired_batch
from .convert.feed import Feed, Upload
from .device.devices import open_device
from .device.stream import StreamLock
from .kernels_ahead import files_of_analytic, files_of_graph
from .memory.arena import DeviceArena
from .queries import device_reader
from .queries.pinned import PinnedDeviceGraph
from .update.apply import apply_batch, forget_batch
from .update.assisted import changed_vertices
from .update.assisted.repeats import with_combined_weights
from .update.batch import DeviceBatch
from .update.changes import DeviceChanging
from .update.restore import restore
from .update.state import UpdatableGraph
from .update.writers_ahead import begin_whole

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]

#: Rows of a call that the device converts, at least: fewer gain half a millisecond, for which a new
#: environment would compile these kernels.
_CONVERTED_ROWS = 10_000
#: Of the device's memory, what a conversion may take at most, and what it takes for a row.
_MEMORY_SHARE, _CONVERSION_BYTES = 16, 64


class CudaEngine(UpdatableGraph):
    """Dynamic graph in device memory, by vertex index.

    A caller that reads the image holds ``lock`` while it uses what it read, and works on the
    engines' own stream in there (`StreamLock`).

    Parameters
    ----------
    kind, sizes
        What the graph is, and how large its arena may be.
    host_engine
        Makes an engine over a copy of the image in host memory, where the device cannot do what is
        asked for: checks, exports that do not fit.
    ordinal
        Which GPU, among those that CUDA counts; `None`: CuPy's current device.
    """

    batch_types = UpdateBatch, DeviceBatch, Upload

    def __init__(
        self,
        kind: GraphKind,
        sizes: ArenaSizes,
        host_engine: HostTwin,
        ordinal: int | None = None,
    ) -> None:
        device = open_device(ordinal)
        if device.broken is not None:
            raise EngineError(device.broken)
        device.compile_ahead(files_of_graph(kind))
        lock = StreamLock(device)
        with lock:
            super().__init__(kind, device, DeviceArena(device, kind, sizes), lock, host_engine)
        self.batch_lock = lock.for_launches
        #: Memory of the epochs that are held.
        self.pins = Pins()
        self._is_rehearsed = False
        #: Sends rows of callers, one after the other; made for the first of them.
        self._row_feed: Feed | None = None
        self._sending = Lock()

    # -- accounts, copies and checks ---------------------------------------------------------

    def pin(self, spare_bytes: int = 0) -> PinnedDeviceGraph:
        """A copy of the graph, see `Engine.pin`; ``lock`` is held."""
        self.check_whole()
        return PinnedDeviceGraph(
            self.kind, self.device, self.arena, self._host_engine, self.pins, spare_bytes
        )

    def memory(self) -> MemoryReport:
        """Bytes by region, of page-locked memory that batches go through, and of epochs."""
        with self.lock:
            return replace(
                self.arena.memory(),
                staging_bytes=self.staging.nbytes,
                pinned_bytes=self.pins.nbytes,
            )

    def image_bytes(self) -> memoryview:
        """Bytes of the image without scratch. Valid until the next batch."""
        return self.mirror().image_bytes()

    def verify(self, level: str) -> None:
        """Raise `CorruptImageError` that names the first invariant that does not hold.

        What is checked is a fresh copy of the image, by the checks of the host engine, and that
        the header that the host works with is the image's.
        """
        with self.lock:
            self.forget_copies()
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

    def compile_ahead(self, analytics: Collection[str] = (), *, raw: bool = False) -> None:
        """Begin to compile what batches launch, analytics, and rows that the device converts."""
        begin_whole()
        self.device.compile_ahead(files_of_graph(self.kind, raw=raw))
        if not self._is_rehearsed:
            # Again it would only take time from what the caller does next.
            self._is_rehearsed = True
            for rehearse in (changed_vertices.rehearse, device_reader.rehearse):
                self.device.rehearse(rehearse)
            self.device.rehearse(lambda _: detail.rehearse(self.arena))
        for name in analytics:
            self.device.compile_ahead(files_of_analytic(name, directed=self.kind.directed))

    # -- applying a batch --------------------------------------------------------------------

    def feed(self) -> Feed:
        """Make the feed, which sends batches to the device before they are due."""
        return Feed(self.staging, dense=self.kind.dense_ids)

    def batch_of_rows(
        self,
        op: npt.NDArray[np.int8] | None,
        src: npt.NDArray[np.integer],
        dst: npt.NDArray[np.integer],
        meaning: RowMeaning,
        **columns: Any,
    ) -> UpdateBatch | Upload:
        """Make a batch of rows, see `Engine.batch_of_rows`: many are converted by the device."""
        is_known = meaning.ids in ("any", "dense") and not meaning.has_values
        most = self.device.memory_bytes // _MEMORY_SHARE // _CONVERSION_BYTES
        if is_known and not meaning.record.has_times and _CONVERTED_ROWS <= len(src) <= most:
            given = {name: each for name, each in columns.items() if name != "time_unit"}
            with suppress(ArenaFullError):
                return self._send_rows(op, src, dst, meaning, **{"batch_id": -1, **given})
        return UpdateBatch.of_rows(op, src, dst, meaning, **columns)

    def _send_rows(self, *rows: Any, **columns: Any) -> UpdateBatch | Upload:
        """Send rows of edges to be converted; the batch itself of rows that the host converts."""
        with self._sending:
            if self._row_feed is None:
                self.device.compile_ahead(files_of_graph(self.kind, raw=True))
                self._row_feed = self.feed()
            batch = raw_rows(*rows, dense=self.kind.dense_ids, serial_items=SERIAL_ITEMS, **columns)
            return batch if isinstance(batch, UpdateBatch) else self._row_feed.send(batch)

    def received(self, batch: UpdateBatch | DeviceBatch | Upload) -> UpdateBatch | DeviceBatch:
        """The batch that was sent, after its copy; others unchanged. ``batch_lock`` is held."""
        if not isinstance(batch, Upload):
            return batch
        with self.lock:
            self.check_whole()
            return batch.batch()

    def apply(self, batch: UpdateBatch | DeviceBatch) -> Outcome:
        """Apply a batch, see `Engine.apply`; ``batch_lock`` is held."""
        if isinstance(batch, UpdateBatch):
            batch.ensure_valid()
        if self.torn or self.device.broken is not None:
            self.check_whole()
        self.forget_copies()
        if self.kind.combines_weights:
            with self.lock:
                batch = with_combined_weights(self, batch)
        try:
            outcome = self._attempt(batch)
        except ArenaFullError:
            # The device may also have run out of memory while the image was written.
            if self.is_broken:
                raise
            self.forget_order()
            with self.lock:
                has_room = self.arena.squeeze()
            if not has_room:
                raise
            outcome = self._attempt(batch)
        if outcome.vertices_created or outcome.vertices_removed:
            self.forget_order()
        if not self.arena.record_aging(outcome):
            return outcome
        with self.lock:
            return self.arena.compacted(outcome)

    def _attempt(self, batch: UpdateBatch | DeviceBatch) -> Outcome:
        try:
            return apply_batch(self, batch)
        except BaseException:
            # It may have been applied before Ctrl-C came.
            self.forget_order()
            with self.lock:
                forget_batch(self)
            raise

    def mean_degree(self, batch: UpdateBatch | DeviceBatch) -> float | None:
        """Entries of a row that a batch alone makes, on the mean (`batch.mean_degree`)."""
        if isinstance(batch, UpdateBatch):
            batch.ensure_valid()
            return mean_degree(self.kind, batch.put_rows, batch.put_indices)
        with self.lock:
            self.check_whole()
            return mean_degree(self.kind, batch.put_rows, batch.put_indices, self.device.xp)

    @with_whole_image
    def size_pages(self, mean: float | None) -> None:
        """Replace an image without a vertex by one with pages for rows of so many entries.

        None: with pages as the kind alone asks for.
        """
        self.forget_copies()
        with self.committing():
            self.arena.size_pages(self.kind, mean)

    def expired(self, until: int) -> DeviceBatch:
        """The batch that deletes expired edges, see `Engine.expired`; ``lock`` is held."""
        self.check_whole()
        return expired_batch(self, until)

    def changing(self, batch: UpdateBatch | DeviceBatch) -> DeviceChanging:
        """Look up what a valid batch is about to change. ``lock`` is held."""
        self.check_whole()
        return DeviceChanging(self, batch)

    @with_whole_image
    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Fill the empty engine, see `Engine.restore`."""
        self.forget_copies()
        self.forget_order()
        restore(self, arrays)
