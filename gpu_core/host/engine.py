"""The host engine: a dynamic graph in an arena image in host memory, with Numba kernels.

What is read from the graph: ``queries/host_reader.py``. How a batch is applied:
``update/apply.py``.

The engine knows vertex indices; users' ids are met only in `map_ids` and in the tables of the
dictionary. The face of it all is `graph.DynamicGraph`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..batch.mean_degree import mean_degree
from ..batch.numbered_batch import NumberedBatch
from ..batch.protocols import ListedBatch
from ..batch.update_batch import UpdateBatch
from ..errors import ArenaFullError, BatchError
from ..image.accounts import Outcome
from ..image.image_graph import with_whole_image
from ..image.memory import MemoryReport
from ..image.pinned import Pins
from ..kind import ArenaSizes, GraphKind
from .memory.arena import Arena
from .queries.host_reader import HostReader
from .queries.pinned import PinnedHostGraph
from .queries.verify import verify_image
from .update.apply import apply_mapped
from .update.changes import HostChanging
from .update.deltas import deltas_of
from .update.expiring_batch import ExpiringBatch
from .update.map_ids import map_ids
from .update.oldest_times import OldestTimes
from .update.repeats import with_combined_weights
from .update.restore import restore

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]


class HostEngine(HostReader):
    """Dynamic graph in host memory, by vertex index.

    `apply` holds ``lock``; callers that read the image hold it too, for as long as what was read is
    used (`DynamicGraph` does), so one graph may be used from several threads.

    Parameters
    ----------
    kind, sizes
        What the graph is, and how large its arena may be.
    arena
        An image that is there, such as a copy of another engine's, instead of an empty one.
    """

    batch_types = UpdateBatch, NumberedBatch

    def __init__(
        self, kind: GraphKind, sizes: ArenaSizes | None = None, arena: Arena | None = None
    ) -> None:
        super().__init__(kind, arena or Arena(kind, sizes or ArenaSizes()))
        self.pins = Pins()
        self._oldest_times = OldestTimes()

    @property
    def batch_lock(self) -> Any:
        """The lock of the graph, which `apply` holds all the time."""
        return self.lock

    def pin(self, spare_bytes: int = 0) -> PinnedHostGraph:
        """A copy of the graph, see `Engine.pin`; ``lock`` is held."""
        self.check_whole()
        return PinnedHostGraph(self.kind, self.arena, self.pins, spare_bytes)

    def memory(self) -> MemoryReport:
        """Bytes by region, and of the epochs that are held."""
        return replace(
            super().memory(),
            pinned_bytes=self.pins.nbytes,
            oldest_times_bytes=self._oldest_times.nbytes,
        )

    def verify(self, level: str) -> None:
        """Raise `CorruptImageError` that names the first invariant that does not hold."""
        verify_image(self, level)

    # -- applying a batch --------------------------------------------------------------------

    def compile_ahead(self, analytics: Collection[str] = (), *, raw: bool = False) -> None:
        """Nothing: Numba compiles one function at a time in a process."""

    def feed(self) -> None:
        """Nothing is sent ahead: batches are applied where they lie."""
        return

    #: See `Engine.batch_of_rows`.
    batch_of_rows = staticmethod(UpdateBatch.of_rows)

    def received(self, batch: ListedBatch) -> ListedBatch:
        """The batch as it is: no feed is made here."""
        return batch

    def apply(self, batch: object) -> Outcome:
        """Apply a batch, see `Engine.apply`; ``batch_lock`` is held."""
        if not isinstance(batch, UpdateBatch):
            msg = f"{batch!r} lies on a device; engine='host' takes an UpdateBatch"
            raise BatchError(msg)
        batch.ensure_valid()
        with self.lock:
            self.check_whole()
            self.forget_copies()
            mapped = map_ids(self.arena, batch, create_vertices=self.kind.create_vertices)
            if self.kind.combines_weights and mapped.put_columns.size:
                batch = with_combined_weights(self, mapped, batch)
            deltas = deltas_of(self, mapped, batch)
            try:
                outcome = apply_mapped(self, mapped, deltas, batch)
            except ArenaFullError:
                if self.is_broken or not self.arena.squeeze():
                    raise
                outcome = apply_mapped(self, mapped, deltas, batch)
            self._oldest_times.follow(deltas, batch, mapped.vertex_count)
            return self.arena.after_batch(outcome)

    def mean_degree(self, batch: UpdateBatch) -> float | None:
        """Entries of a row that a batch alone makes, on the mean (`batch.mean_degree`)."""
        batch.ensure_valid()
        return mean_degree(self.kind, batch.put_rows, batch.put_indices)

    @with_whole_image
    def size_pages(self, mean: float | None) -> None:
        """Replace an image without a vertex by one with pages for rows of so many entries.

        None: with pages as the kind alone asks for.
        """
        self.forget_copies()
        with self.committing():
            self.arena.size_pages(self.kind, mean)

    def expired(self, until: int) -> ExpiringBatch:
        """The batch that deletes expired edges, see `Engine.expired`; ``lock`` is held."""
        self.check_whole()
        return self._oldest_times.expired(self, until)

    def changing(self, batch: UpdateBatch) -> HostChanging:
        """Look up what a valid batch is about to change. ``lock`` is held."""
        self.check_whole()
        return HostChanging(self, batch)

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Fill the empty engine, see `Engine.restore`."""
        with self.lock:
            self.forget_copies()
            self._oldest_times.forget()
            restore(self, arrays)
