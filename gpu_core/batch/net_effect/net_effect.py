"""Net effect of the rows of a batch: the closed form of "one by one, in order".

* A vertex row decides if it is the last vertex row of its vertex. The last delete of a vertex takes
  effect even if an insert after it decides.
* An edge row of either kind before the last delete of one of its end points does nothing to the
  edge. Of the rows that remain, the last one of an edge decides (`last_rows.py`).
* An insert row creates each end point whose last delete comes before it, also if the row itself is
  overridden. End points of edges to put are created by those; the others are named here.

Batches without vertex rows, nearly all, skip the vertex part and are not copied.

Source: derived from the row-by-row meaning, and tested against it (``tests/unit/test_batch.py``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...image.fields import MAX_VERTICES
from ...jit.arrays import readonly
from ...jit.compile import compiled
from ...kind import RowMeaning
from ...properties.kinds import Kinds
from ...records import Record
from ..row_values import Values, spread_values, values_at
from ..rows import CheckedRows
from ..serial_sort import distinct_ids
from . import edge_buckets, last_deletes, last_rows
from .repeats import REPEATS, Folded, fold_repeats

Ids = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_NONE = np.empty(0, dtype=np.int64)


def net_effect(
    rows: CheckedRows,
    meaning: RowMeaning,
    *,
    dense: bool = False,
    offset_type: type[np.int64 | np.uint32] = np.int64,
) -> dict[str, Any]:
    """Net effect of the rows: fields of an `UpdateBatch`, from ``rows`` on.

    Parameters
    ----------
    dense
        The ids of edges are made uint32, if all of them are vertex indices.
    offset_type
        Of both ``indptr``.
    """
    record, keep_loops = meaning.record, meaning.self_loops == "keep"
    fields: dict[str, Any] = {"rows": rows.src.size, "rounded": rows.rounded}
    vertices = _vertex_effect(rows, keep_loops=keep_loops)
    fields.update(delete_vertices=vertices.deletes, delete_vertex_rows=vertices.delete_rows)
    vertex_values = values_at(meaning.vertex_properties, rows.vertex_values, vertices.deciding)

    rows = vertices.edges
    edges = _edge_effect(
        rows, meaning, keep_loops=keep_loops, narrow=dense, offset_type=offset_type
    )
    fields["dropped"] = vertices.dropped + rows.src.size - edges.rows
    puts, _, deletes, revoked = edges.lists
    fields.update(put_rows=puts.rows, put_indptr=puts.indptr, put_indices=puts.indices)
    fields.update(
        delete_rows=deletes.rows, delete_indptr=deletes.indptr, delete_indices=deletes.indices
    )
    fields.update(_properties(rows, record, edges), on_repeat=meaning.on_repeat)
    if edges.folded is not None:
        fields.update(_combined(edges.folded, puts, vertices.deletes))
    fields["put_values"] = values_at(meaning.properties, rows.values, edges.lists.deciding)

    created = _NONE
    if meaning.create_vertices:
        created = np.concatenate([vertices.created, _ends_of(deletes, revoked)])
    kinds = meaning.vertex_properties
    fields.update(_vertices_to_put(vertices.puts, created, kinds, vertex_values))

    decided = puts.indices.size + deletes.indices.size + vertices.puts.size
    decided += int(np.count_nonzero(vertices.delete_rows))
    fields["overridden"] = fields["rows"] - fields["dropped"] - decided
    return fields


def _vertices_to_put(puts: Ids, created: Ids, kinds: Kinds, values: Values) -> dict[str, Any]:
    """Fields of vertices that rows put, with their ``values``, and of those that edges create."""
    listed, at = puts, np.arange(puts.size)
    if created.size:
        listed = distinct_ids(np.concatenate([puts, created]))
        at = np.searchsorted(listed, puts)
    has_row = np.zeros(listed.size, dtype=np.bool_)
    has_row[at] = True
    return {
        "put_vertices": listed,
        "put_vertex_rows": has_row,
        "put_vertex_values": spread_values(kinds, values, at, listed.size),
    }


class _EdgeEffect(NamedTuple):
    """Net effect of edge rows."""

    lists: last_rows.EdgeLists
    #: As `last_rows.first_inserts_of`; None where records have no times.
    times: tuple[Ids, Flags] | None
    #: None where the last weight decides.
    folded: Folded | None
    #: Edge rows but for self loops that were dropped.
    rows: int


def _edge_effect(
    rows: CheckedRows,
    meaning: RowMeaning,
    *,
    keep_loops: bool,
    narrow: bool,
    offset_type: type[np.int64 | np.uint32],
) -> _EdgeEffect:
    """Decide the edge rows; ids are made uint32 if that is wanted and they are vertex indices."""
    record, directed = meaning.record, meaning.directed

    def id_type(bounds: tuple[int, int]) -> type[np.int64 | np.uint32]:
        return np.uint32 if narrow and bounds[0] >= 0 and bounds[1] < MAX_VERTICES else np.int64

    if not record.properties and not meaning.properties:
        buckets = edge_buckets.partition_edge_rows(
            rows.op,
            rows.src,
            rows.dst,
            directed=directed,
            keep_loops=keep_loops,
            bounds=rows.bounds,
        )
        if buckets is not None:
            types = {"id_type": id_type(buckets.bounds), "offset_type": offset_type}
            lists = edge_buckets.edge_lists(buckets, **types)
            return _EdgeEffect(lists, None, None, buckets.rows)

    src, dst = (ids.astype(np.int64, copy=False) for ids in (rows.src, rows.dst))
    if not directed:
        src, dst = np.minimum(src, dst), np.maximum(src, dst)
    ordered = last_rows.order_edge_rows(rows.op, src, dst, keep_loops=keep_loops)
    kept = ordered.keys.size
    times = last_rows.first_inserts_of(ordered) if record.has_times else None
    folded = None
    if meaning.combines_weights:
        folded = fold_repeats(ordered, rows.weight, record.weights, meaning.on_repeat)
    lists = last_rows.edge_lists(
        ordered,
        with_deciding=record.has_times
        or (record.has_weight and folded is None)
        or bool(meaning.properties),
        id_type=id_type(ordered.bounds),
        offset_type=offset_type,
    )
    return _EdgeEffect(lists, times, folded, kept)


def _ends_of(deletes: last_rows.EdgeList, revoked: Flags) -> Ids:
    """End points of edges that the batch inserts, then deletes: they stay, with repeats."""
    if revoked.size == 0 or not revoked.any():
        return _NONE
    ends = np.empty(revoked.size + min(revoked.size, deletes.rows.size), np.int64)
    rows, indptr, indices = map(readonly, deletes)
    return ends[: write_ends(rows, indptr, indices, readonly(revoked), ends)]


@compiled
def write_ends(rows, indptr, indices, chosen, ends):
    """Write the end points of chosen edges, a source once; return how many there are."""
    count = np.uint64(0)
    for row in range(np.uint64(rows.size)):
        begin, end = np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])
        before = count
        for i in range(begin, end):
            # The next one overwrites what is not chosen.
            ends[count] = indices[i]
            count += np.uint64(chosen[i])
        if count > before:
            ends[count] = rows[row]
            count += np.uint64(1)
    return np.int64(count)


class _VertexEffect(NamedTuple):
    """Net effect of vertex rows."""

    #: Edge rows that no delete of a vertex overrides.
    edges: CheckedRows
    #: Vertices of which an insert row decides, and where these rows are.
    puts: Ids = _NONE
    deciding: Ids = _NONE
    #: Vertices that are deleted, and whether a delete row decides.
    deletes: Ids = _NONE
    delete_rows: Flags = np.empty(0, dtype=np.bool_)
    #: End points that overridden inserts of edges create.
    created: Ids = _NONE
    #: Self loops.
    dropped: int = 0


def _vertex_effect(rows: CheckedRows, *, keep_loops: bool) -> _VertexEffect:
    """Decide the vertex rows."""
    if rows.is_vertex is None:
        return _VertexEffect(rows)
    at = np.flatnonzero(rows.is_vertex)
    touched, which = np.unique(rows.src[at], return_inverse=True)
    last_row = np.full(touched.size, -1, dtype=np.int64)
    np.maximum.at(last_row, which, at)
    last_delete = np.full(touched.size, -1, dtype=np.int64)
    if rows.op.size:
        is_delete = rows.op[at] < 0
        np.maximum.at(last_delete, which[is_delete], at[is_delete])
    deleted = last_delete >= 0
    is_put = last_row > last_delete

    fates = last_deletes.fates_of_rows(
        rows.src,
        rows.dst,
        rows.is_vertex,
        touched[deleted],
        last_delete[deleted],
        keep_loops=keep_loops,
    )
    return _VertexEffect(
        edges=rows.edges_at(np.flatnonzero(fates == last_deletes.STAYS)),
        puts=touched[is_put],
        deciding=last_row[is_put],
        deletes=touched[deleted],
        delete_rows=(last_row == last_delete)[deleted],
        created=_created_ends(rows, fates),
        dropped=int(np.count_nonzero(fates == last_deletes.LOOP)),
    )


def _created_ends(rows: CheckedRows, fates: npt.NDArray[np.uint8]) -> Ids:
    """End points that inserts create whose edge is gone with the other one, with repeats."""
    lost_at = np.flatnonzero((fates & last_deletes.EDGE != 0) & (fates != last_deletes.STAYS))
    if rows.op.size:
        lost_at = lost_at[rows.op[lost_at] > 0]
    src_lives = fates[lost_at] & last_deletes.SRC_LIVES != 0
    dst_lives = fates[lost_at] & last_deletes.DST_LIVES != 0
    return np.concatenate([rows.src[lost_at[src_lives]], rows.dst[lost_at[dst_lives]]])


def _properties(rows: CheckedRows, record: Record, effect: _EdgeEffect) -> dict[str, Any]:
    """Property columns of the edges to put, as the deciding rows have them."""
    deciding, times = effect.lists.deciding, effect.times
    fields: dict[str, Any] = dict.fromkeys(
        ("put_weight", "put_type", "put_first", "put_last", "put_reset", *REPEATS)
    )

    def taken(column: npt.NDArray[Any], at: Ids) -> npt.NDArray[Any]:
        # Every position is one of the batch, so NumPy need not look: half the time.
        return column.take(at, mode="clip")

    if record.has_weight and effect.folded is None:
        fields["put_weight"] = (
            np.ones(deciding.size, dtype=record.weights)
            if rows.weight is None
            else taken(rows.weight, deciding)
        )
    if times is not None:
        assert rows.ts is not None
        first, reset = times
        fields["put_type"] = (
            np.zeros(deciding.size, dtype=np.int32)
            if rows.type is None
            else taken(rows.type, deciding)
        )
        fields["put_first"] = taken(rows.ts, first)
        fields["put_last"] = taken(rows.ts, deciding)
        fields["put_reset"] = reset
    return fields


def _combined(folded: Folded, puts: last_rows.EdgeList, deleted: Ids) -> dict[str, Any]:
    """Weights of the edges to put where not the last one decides, as fields of an `UpdateBatch`."""
    reset = folded.reset
    if deleted.size:
        # Their edges were deleted with them.
        sources = np.repeat(puts.rows, np.diff(puts.indptr))
        reset = reset | np.isin(sources, deleted) | np.isin(puts.indices, deleted)
    return {
        "put_weight": folded.weight,
        "put_reset": reset,
        **dict(zip(REPEATS, (folded.repeat_puts, folded.repeat_weight), strict=True)),
    }
