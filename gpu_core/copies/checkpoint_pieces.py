"""The edges of a checkpoint as batches whose ids are vertex indices, a piece at a time.

Vertices get the indices that they had, and freed indices wait in the same order, so batches that
follow meet the same graph as in a run that was never stopped. Edges go in by the ordinary path
(``update/restore.py`` of both engines), a piece at a time, so that scratch stays small.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..batch.update_batch import UpdateBatch
from ..errors import ArenaFullError
from ..kind import GraphKind

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]
Arrays = Mapping[str, npt.NDArray[Any]]

#: Edges put in at a time, and the fewest where scratch is scarce.
PIECE = 1 << 20
LEAST_PIECE = 1 << 4

_NO_IDS = np.empty(0, np.int64)
_NO_ROWS = np.zeros(1, np.int64)
_NO_FLAGS = np.empty(0, np.bool_)


class KeptVertices(NamedTuple):
    """The vertex table of a checkpoint."""

    #: Vertex records.
    records: int
    #: Index, increasing, and user's id of each vertex that is there.
    present: UInt32s
    ids: Int64s
    #: Freed indices, in the order in which they are used again.
    free: UInt32s

    @classmethod
    def of(cls, arrays: Arrays) -> "KeptVertices":
        """Vertices of what `DynamicGraph.checkpoint_arrays` returned."""
        present = np.flatnonzero(arrays["present"]).astype(np.uint32)
        ids = np.asarray(arrays["vertex_ids"], np.int64)[present]
        free = np.asarray(arrays["free_indices"], np.uint32)
        return cls(int(arrays["present"].size), present, ids, free)


def apply_pieces(
    arrays: Arrays, kind: GraphKind, apply: Callable[[UpdateBatch, bool], object]
) -> None:
    """Have the edges of a checkpoint applied in order.

    Parameters
    ----------
    arrays
        From `DynamicGraph.checkpoint_arrays`.
    kind
        Of the graph that is filled.
    apply
        Called with each batch, and whether it is the first one, which there always is. Where it
        raises `ArenaFullError` it has changed nothing, and gets fewer edges.

    Raises
    ------
    ArenaFullError
        The graph does not fit.
    """
    row_ends = np.cumsum(np.asarray(arrays["out_degree"]), dtype=np.int64)
    edges = int(arrays["dst_index"].size)
    start, size = 0, PIECE
    while start < max(edges, 1):
        try:
            apply(_piece(arrays, kind, row_ends, start, min(start + size, edges)), start == 0)
        except ArenaFullError:
            if size <= LEAST_PIECE:
                raise
            # The graph came to be in smaller batches, which need less scratch.
            size //= 4
            continue
        start += size


def _piece(arrays: Arrays, kind: GraphKind, row_ends: Int64s, start: int, end: int) -> UpdateBatch:
    """Batch that puts the edges ``start … end - 1``."""
    record = kind.record
    piece = {
        name: np.ascontiguousarray(arrays[name][start:end])
        for name in ("dst_index", *record.properties)
    }
    rows, indptr = _rows_between(row_ends, start, end)
    times = record.has_times
    return UpdateBatch(
        batch_id=-1,
        directed=kind.directed,
        records=record.name,
        rows=end - start,
        dropped=0,
        overridden=0,
        put_rows=rows,
        put_indptr=indptr,
        put_indices=piece["dst_index"].astype(np.int64),
        put_weight=piece["weight"] if record.has_weight else None,
        put_type=piece["type"] if times else None,
        put_first=piece["first"] if times else None,
        put_last=piece["last"] if times else None,
        put_reset=np.zeros(end - start, np.bool_) if times else None,
        delete_rows=_NO_IDS,
        delete_indptr=_NO_ROWS,
        delete_indices=_NO_IDS,
        put_vertices=_NO_IDS,
        put_vertex_rows=_NO_FLAGS,
        delete_vertices=_NO_IDS,
        delete_vertex_rows=_NO_FLAGS,
    )


def _rows_between(row_ends: Int64s, start: int, end: int) -> tuple[Int64s, Int64s]:
    """Rows that have edges among ``start … end - 1``, and the CSR offsets of those edges."""
    low = np.searchsorted(row_ends, start, "right")
    high = np.searchsorted(row_ends, end, "left")
    ends = np.minimum(row_ends[low : high + 1], end) - start
    has_edges = np.diff(ends, prepend=0) > 0
    return np.flatnonzero(has_edges) + low, np.append(0, ends[has_edges])
