"""Build an image from the arrays of a checkpoint, see `copies/checkpoint_pieces.py`.

Twin: ``host/update/restore.py``; both take the same runs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ...batch.update_batch import UpdateBatch
from ...copies.checkpoint_pieces import KeptVertices, apply_pieces
from ...errors import ArenaFullError
from .apply import apply_mapped, forget_batch
from .assisted.map_ids import look_up_ids
from .batch import upload
from .state import UpdatableGraph


def restore(graph: UpdatableGraph, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
    """Fill an empty graph with what `DynamicGraph.checkpoint_arrays` returned; its lock is held.

    Raises
    ------
    ArenaFullError
        The graph does not fit within the limit; it is left half filled, and of no use.
    """
    vertices, device = KeptVertices.of(arrays), graph.device

    def apply(batch: UpdateBatch, is_first: bool) -> None:
        # Its ids are indices, whatever the graph's are.
        mapped = look_up_ids(graph, upload(graph.staging, batch, dense=True))
        mapped.vertex_count = vertices.records
        if is_first:
            mapped.created = device.to_device(vertices.present)
            mapped.created_ids = device.to_device(vertices.ids)
            mapped.queue_room = vertices.free.size
        try:
            apply_mapped(graph, mapped)
        except ArenaFullError:
            forget_batch(graph)
            raise
        if is_first:
            graph.arena.give_back_vertices(device.to_device(vertices.free))

    apply_pieces(arrays, graph.kind, apply)
