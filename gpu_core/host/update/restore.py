"""Build an image from the arrays of a checkpoint, see `copies/checkpoint_pieces.py`.

Twin: ``cuda/update/restore.py``; both take the same runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ...batch.update_batch import UpdateBatch
from ...copies.checkpoint_pieces import KeptVertices, apply_pieces
from ..queries.host_graph import HostGraph
from .apply import apply_mapped
from .deltas import deltas_of
from .map_ids import nothing_named


def restore(engine: HostGraph, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
    """Fill the empty ``engine`` with what `DynamicGraph.checkpoint_arrays` returned.

    Raises
    ------
    ArenaFullError
        The graph does not fit within the limit; the engine is left half filled, and of no use.
    """
    vertices = KeptVertices.of(arrays)

    def apply(batch: UpdateBatch, is_first: bool) -> None:
        mapped = replace(
            nothing_named(vertices.records),
            put_rows=batch.put_rows.astype(np.uint32),
            put_columns=batch.put_indices.astype(np.uint32),
        )
        if is_first:
            mapped.created, mapped.created_ids = vertices.present, vertices.ids
        deltas = deltas_of(engine, mapped, batch)
        room = vertices.free.size if is_first else 0
        apply_mapped(engine, mapped, deltas, batch, queue_room=room)
        if is_first:
            engine.arena.give_back_vertices(vertices.free)

    apply_pieces(arrays, engine.kind, apply)
