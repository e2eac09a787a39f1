"""Build an image from the arrays of a checkpoint.

Vertices get the indices that they had, and freed indices wait in the same order, so batches that
follow meet the same graph as in a run that was never stopped. Edges go in by the ordinary path, a
piece at a time, so that scratch stays small.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ...batch.update_batch import UpdateBatch
from ...errors import ArenaFullError
from ..queries.host_graph import HostGraph
from .apply import apply_mapped
from .deltas import deltas_of
from .map_ids import Mapped, nothing_named

#: Edges put in at a time, and the fewest where scratch is scarce.
PIECE = 1 << 20
LEAST_PIECE = 1 << 4

_NO_IDS = np.empty(0, np.int64)
_NO_ROWS = np.zeros(1, np.int64)
_NO_FLAGS = np.empty(0, np.bool_)


def restore(engine: HostGraph, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
    """Fill the empty ``engine`` with what `DynamicGraph.checkpoint_arrays` returned.

    Raises
    ------
    ArenaFullError
        The graph does not fit within the limit; the engine is left half filled, and of no use.
    """
    created = np.flatnonzero(arrays["present"]).astype(np.uint32)
    created_ids = np.asarray(arrays["vertex_ids"], np.int64)[created]
    free = np.asarray(arrays["free_indices"], np.uint32)
    vertex_count = int(arrays["present"].size)
    row_ends = np.cumsum(np.asarray(arrays["out_degree"]), dtype=np.int64)
    edges = int(arrays["dst_index"].size)
    start, size = 0, PIECE
    while start < max(edges, 1):
        piece = {
            name: np.asarray(arrays[name])[start : start + size]
            for name in ("dst_index", *engine.record.properties)
        }
        rows, indptr = _rows_between(row_ends, start, min(start + size, edges))
        mapped = replace(
            nothing_named(vertex_count),
            put_rows=rows,
            put_columns=np.ascontiguousarray(piece["dst_index"], np.uint32),
        )
        if start == 0:
            mapped.created, mapped.created_ids = created, created_ids
        batch = _index_batch(engine, mapped, indptr, piece)
        try:
            deltas = deltas_of(engine, mapped, batch)
            room = free.size if start == 0 else 0
            apply_mapped(engine, mapped, deltas, batch, queue_room=room)
        except ArenaFullError:
            if size <= LEAST_PIECE:
                raise
            # The graph came to be in smaller batches, which need less scratch.
            size //= 4
            continue
        if start == 0:
            engine.arena.give_back_vertices(free)
        start += size


def _rows_between(
    row_ends: npt.NDArray[np.int64], start: int, end: int
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Rows that have edges among ``start … end - 1``, and the CSR offsets of those edges."""
    low = np.searchsorted(row_ends, start, "right")
    high = np.searchsorted(row_ends, end, "left")
    ends = np.minimum(row_ends[low : high + 1], end) - start
    has_edges = np.diff(ends, prepend=0) > 0
    rows = np.flatnonzero(has_edges) + low
    return rows.astype(np.uint32), np.append(0, ends[has_edges])


def _index_batch(
    engine: HostGraph,
    mapped: Mapped,
    indptr: npt.NDArray[np.int64],
    piece: Mapping[str, npt.NDArray[np.generic]],
) -> UpdateBatch:
    """Batch whose ids are vertex indices already."""
    times = engine.record.has_times
    return UpdateBatch(
        batch_id=-1,
        directed=engine.directed,
        records=engine.record.name,
        rows=mapped.put_columns.size,
        dropped=0,
        overridden=0,
        put_rows=mapped.put_rows.astype(np.int64),
        put_indptr=indptr,
        put_indices=mapped.put_columns.astype(np.int64),
        put_weight=np.ascontiguousarray(piece["weight"]) if engine.record.has_weight else None,
        put_type=np.ascontiguousarray(piece["type"]) if times else None,
        put_first=np.ascontiguousarray(piece["first"]) if times else None,
        put_last=np.ascontiguousarray(piece["last"]) if times else None,
        put_reset=np.zeros(mapped.put_columns.size, np.bool_) if times else None,
        delete_rows=_NO_IDS,
        delete_indptr=_NO_ROWS,
        delete_indices=_NO_IDS,
        put_vertices=_NO_IDS,
        put_vertex_rows=_NO_FLAGS,
        delete_vertices=_NO_IDS,
        delete_vertex_rows=_NO_FLAGS,
    )
