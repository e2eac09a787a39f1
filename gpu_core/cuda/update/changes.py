"""Edges that a batch will add and remove in a graph on the device; see `gpu_core/changes.py`.

Nothing goes to the host but how many edges there are. Kernel: ``changes.cu``. Host twin:
``host/update/changes.py``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from ...batch.update_batch import UpdateBatch
from ...changes import Changing
from ..device.compile import shape_argument
from ..device.declarations import constant
from ..device.device import Array, Device
from ..device.stream_words import ticket_of
from ..queries.queries import copy_neighbors, indices_of
from .assisted.map_ids import check_fits, look_up_ids
from .assisted.mapped import Mapped
from .batch import DeviceBatch, upload
from .state import UpdatableGraph

_SOURCE: Final = "changes.cu"
_THREADS: Final = constant(_SOURCE, "LIST_THREADS")
_TILE_PAIRS: Final = constant(_SOURCE, "LIST_ITEMS")


class _Pairs(NamedTuple):
    """uint32: pair i joins ``rows[entry_rows[i]]`` and ``columns[i]``."""

    rows: Array
    entry_rows: Array
    columns: Array


class _Found:
    """Which pairs are edges.

    Parameters
    ----------
    flags
        uint8, of each pair.
    before
        int64: edges before each tile of pairs, and all.
    """

    def __init__(self, device: Device, flags: Array, before: Array) -> None:
        self._device, self.flags, self.before = device, flags, before

    @cached_property
    def number(self) -> int:
        """All of them; waits for the device."""
        return int(self._device.read_words(self.before[-1:])[0]) if self.flags.size else 0


class DeviceChanging(Changing):
    """Looks up what a batch names in the image of ``graph``, whose lock is held.

    Raises
    ------
    BatchError
        The batch has ids of the other kind, or the graph would have too many vertex records.
    """

    batch: DeviceBatch

    def __init__(self, graph: UpdatableGraph, batch: UpdateBatch | DeviceBatch) -> None:
        if isinstance(batch, UpdateBatch):
            batch = upload(graph.staging, batch, dense=graph.kind.dense_ids)
        check_fits(graph, batch)
        self._graph: UpdatableGraph = graph
        self._mapped: Mapped | None = look_up_ids(graph, batch)
        super().__init__(graph.device.xp, graph, batch, are_indices=batch.dense)
        self._mapped = None

    def _pairs(self, kind: str) -> _Pairs:
        mapped = self._mapped or look_up_ids(self._graph, self.batch)
        return _Pairs(
            *(getattr(mapped, f"{kind}_{part}") for part in ("rows", "entry_rows", "columns"))
        )

    def _found(self, pairs: _Pairs) -> _Found:
        device, count = self._graph.device, int(pairs.columns.size)
        blocks = -(-count // _TILE_PAIRS)
        flags, before = device.empty(count, np.uint8), device.empty(blocks + 1, np.int64)
        device.launch(
            _SOURCE, "find_pairs", blocks, _THREADS, self._graph.image,
            shape_argument(self._graph.arena.shape("out")), *pairs, np.int64(count), flags, before,
            ticket_of(device),
        )  # fmt: skip
        return _Found(device, flags, before)

    def _chosen(self, pairs: _Pairs, found: _Found, *, are_there: bool) -> Array:
        device, count = self._graph.device, int(pairs.columns.size)
        keys = device.empty(found.number if are_there else count - found.number, np.uint64)
        blocks = -(-count // _TILE_PAIRS) if keys.size else 0
        device.launch(
            _SOURCE, "list_keys", blocks, _THREADS, *pairs, np.int64(count), found.flags,
            found.before, np.int64(are_there), np.int64(self._graph.kind.directed), keys,
        )  # fmt: skip
        return keys

    def _keys(self, sources: Array, targets: Array) -> Array:
        device, count = self._graph.device, int(sources.size)
        keys = device.empty(count, np.uint64)
        device.launch(
            _SOURCE, "edge_keys", -(-count // _THREADS), _THREADS, sources, targets,
            np.int64(count), np.int64(self._graph.kind.directed), keys,
        )  # fmt: skip
        return keys

    def _gone(self) -> Array:
        gone = self.batch.delete_vertices
        if gone.size == 0:
            return self._graph.device.empty(0, np.uint32)
        if not self.batch.dense:
            gone = indices_of(self._graph, gone)
        return gone[gone < self._graph.vertex_count].astype(np.uint32)

    def _entries_of(self, indices: Array, direction: str) -> tuple[Array, Array]:
        if indices.size == 0:
            return indices, indices
        xp = self._graph.device.xp
        indptr, columns = copy_neighbors(self._graph, indices, direction)
        entries = xp.arange(columns.size, dtype=np.int64)
        return indices[xp.searchsorted(indptr[1:], entries, side="right")], columns
