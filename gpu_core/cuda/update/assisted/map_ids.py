"""Users' ids of a batch to vertex indices, where the host takes part.

Part of   the apply path, its first step: **map ids** -> deltas -> plan -> allocate -> commit
Twin      ``host/update/map_ids.py``: the same indices for the same batch and graph

Here are the batches of the mode ``ASSISTED`` (`modes.py`): unknown ids, deleted vertices.
Kernels look up what is there; `changed_vertices.py` finds out the rest, for which the host waits a
few times. All other batches are mapped by a launch of their list (`delta_launches.py`).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ....errors import BatchError
from ....image.fields import ImageTable
from ...device.compile import shape_argument
from ...structs import LISTS, TILE_ENTRIES, TILE_THREADS
from ..batch import DeviceBatch
from ..state import UpdatableGraph
from .changed_vertices import find_changes
from .mapped import Mapped

_LISTS: Final = np.dtype((np.void, 8 * LISTS.words))


def check_fits(graph: UpdatableGraph, batch: DeviceBatch) -> None:
    """Check a batch before it is mapped.

    Raises
    ------
    BatchError
        The batch has ids of the other kind.
    """
    dense = graph.kind.dense_ids
    if batch.dense != dense:
        kinds = ("any", "dense")
        msg = f"{batch!r} is for ids={kinds[batch.dense]!r}, the graph has ids={kinds[dense]!r}"
        raise BatchError(msg)


def map_with_host(graph: UpdatableGraph, batch: DeviceBatch) -> Mapped:
    """Map a batch that fits the graph to vertex indices; changes nothing.

    Raises
    ------
    BatchError
        As the host's `map_ids`: the graph would have too many vertex records, or, without
        ``create_vertices``, an end point of a put is missing.
    """
    mapped = look_up_ids(graph, batch)
    find_changes(graph, mapped)
    return mapped


def look_up_ids(graph: UpdatableGraph, batch: DeviceBatch) -> Mapped:
    """Map a batch that fits the graph to the vertex indices that there are; `NONE`: unknown."""
    mapped = Mapped(batch, graph.vertex_count, create_vertices=graph.kind.create_vertices)
    empty = graph.device.empty
    mapped.put_entry_rows = empty(batch.put_indices.size, np.uint32)
    mapped.delete_entry_rows = empty(batch.delete_indices.size, np.uint32)
    lists = np.frombuffer(batch.lists, _LISTS).reshape(())
    rows, launch = (mapped.put_entry_rows, mapped.delete_entry_rows), graph.device.launch
    if batch.dense:
        launch(
            "vertices.cu", "map_vertices", _tiles(batch), TILE_THREADS, graph.image,
            shape_argument(graph.arena.shape("out")), lists, *rows, np.int64(0),
        )  # fmt: skip
    else:
        for name, ids in (
            ("put_rows", batch.put_rows), ("put_columns", batch.put_indices),
            ("delete_rows", batch.delete_rows), ("delete_columns", batch.delete_indices),
            ("put_vertices", batch.put_vertices),
        ):  # fmt: skip
            setattr(mapped, name, empty(ids.size, np.uint32))
        slots = graph.arena.table(ImageTable.DICTIONARY)
        launch(
            "dictionary.cu", "map_ids", _tiles(batch), TILE_THREADS, lists, graph.image, slots,
            np.int64(slots.size), graph.arena.table(ImageTable.VERTEX_IDS).view(np.int64),
            mapped.put_rows, mapped.put_columns, rows[0], mapped.delete_rows,
            mapped.delete_columns, rows[1], mapped.put_vertices, np.int64(0),
        )  # fmt: skip
    return mapped


def _tiles(batch: DeviceBatch) -> int:
    lists = (batch.put_indices, batch.delete_indices, batch.put_vertices)
    return sum(-(-ids.size // TILE_ENTRIES) for ids in lists)
