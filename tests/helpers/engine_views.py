"""A host engine's graph as the CUDA functions see an engine: a copy of its image on a device."""

import struct
from dataclasses import replace
from typing import Any

import numpy as np

from graphtide.gpu_core.cuda.device.packed_arguments import address
from graphtide.gpu_core.cuda.device.staging import Staging
from graphtide.gpu_core.host.engine import HostEngine
from graphtide.gpu_core.image.fields import HEADER_WORDS, BatchField, Field, ImageTable, Shape
from graphtide.gpu_core.kind import ArenaSizes, GraphKind
from graphtide.gpu_core.records import record_named


def host_engine(
    records: str = "simple",
    *,
    directed: bool = True,
    reverse: bool = True,
    dense: bool = False,
    soa: bool = True,
) -> HostEngine:
    kind = GraphKind(
        record=record_named(records),
        directed=directed,
        reverse=reverse and directed,
        storage="soa" if soa else "aos",
        ids="dense" if dense else "any",
    )
    return HostEngine(kind, ArenaSizes(1 << 18, 1 << 24))


class ArenaView:
    """Arena of `EngineView`: sizes as the host engine's are now, words on the device."""

    def __init__(self, device: Any, arena: Any) -> None:
        self._arena, self.device, self.layout = arena, device, arena.layout
        self.header = arena.header.copy()
        # Of runs that nobody takes here.
        self.trees, self.tree_groups, self.geometry, self.block_numbers = 0, 0, None, None
        self.image = device.to_device(arena.image)

    def __getitem__(self, field: Field) -> int:
        return int(self.header[field])

    def shape(self, direction: str) -> Shape:
        return self._arena.shape(direction)._replace(vertex_count=self[Field.VERTEX_COUNT])

    def table(self, table: ImageTable) -> Any:
        view = self._arena.table(table)
        first = (view.ctypes.data - self._arena.image.ctypes.data) // 4 if view.size else 0
        return self.image[first : first + view.size]

    def entry_words(self, direction: str) -> int:
        return self._arena.entry_words(direction)

    @property
    def tree(self) -> Any:
        return self.table(ImageTable.FREE_TREE)

    def table_words(self, table: ImageTable) -> int:
        return self.table(table).size

    def table_address(self, table: ImageTable) -> int:
        return address(self.table(table))

    def image_argument(self, direction: str) -> bytes:
        return struct.pack("12q", address(self.image), *self.shape(direction))

    def queued_vertices(self) -> Any:
        front, back = self[Field.VERTEX_QUEUE_FRONT], self[Field.VERTEX_QUEUE_BACK]
        slots = self.table(ImageTable.VERTEX_QUEUE)
        return slots[np.arange(front, back) & (slots.size - 1)] if back > front else slots[:0]


class EngineView:
    """What `update.map_ids`, `update.vertices` and the writer of launches ask of a graph."""

    def __init__(self, device: Any, engine: HostEngine) -> None:
        self.device, self.staging = device, Staging(device)
        self.arena = ArenaView(device, engine.arena)
        self.kind, self.record = engine.kind, engine.record
        self.directed = engine.directed
        self.has_reverse = engine.has_reverse
        self.dictionary_slots = engine.dictionary_slots

    def creating(self, create_vertices: bool) -> "EngineView":
        """The same view, of a graph that creates end points or does not."""
        self.kind = replace(self.kind, create_vertices=create_vertices)
        return self

    def shape(self, direction: str) -> Any:
        return self.arena.shape(direction)

    @property
    def image(self) -> Any:
        return self.arena.image

    @property
    def vertex_count(self) -> int:
        return self.arena[Field.VERTEX_COUNT]

    def host_image(self) -> np.ndarray:
        return self.device.to_host(self.image)

    def status(self) -> int:
        """Status of the batch, which is 0 again afterwards."""
        header = self.host_image()[:HEADER_WORDS].view(np.int64)
        self.image[2 * BatchField.STATUS : 2 * BatchField.STATUS + 2] = 0
        return int(header[BatchField.STATUS])
