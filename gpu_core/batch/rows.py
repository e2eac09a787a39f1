"""Rows of a batch as arrays of the right types, or one sentence on the first invalid row.

The error knows all rows that break the same rule (`BadRowsError`).

Checked here, so that the conversion can rely on it: lengths agree, there are fewer than 2^31 rows,
ops are 1 or -1, ids fit int64, dense ones are vertex indices, and on rows that insert an edge the
weight is finite in the type that the records keep, the type an int32 and the time an int64. Weights
that this type cannot hold are rounded, and counted. Infinite weights are refused like NaN: no
algorithm has an answer for them, and they are mostly the overflow of a wider type. Values on other
rows mean nothing and are not looked at. Self loops are refused here where the settings say so.

Arrays of the right type are used as they are, without a copy.

Not here: what the rows mean together (`net_effect/net_effect.py`), files and columns
(``io/log/conversion.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import BatchError
from ..id_kinds import form_of, number_of_key
from ..image.fields import MAX_VERTICES
from ..kind import RowMeaning
from ..properties.kinds import array_of
from ..times import INTEGERS, NAT, times_of
from .bad_rows import BadRowsError, refuse_masked_rows
from .lengths import check_lengths
from .row_values import Values, checked_values

#: int64, int32 or uint32.
Ids = npt.NDArray[Any]

#: What no id lies beyond: smallest and largest source, smallest and largest destination.
Bounds = tuple[int, int, int, int]


class CheckedRows(NamedTuple):
    """Checked columns of a batch; all of the same length."""

    #: int8, 1 or -1; of length 0 where every row is an insert.
    op: npt.NDArray[np.int8]
    #: int64; where all rows are about edges, maybe int32 or uint32, of one type or two.
    src: Ids
    dst: Ids
    #: Rows that are about the vertex ``src``; None where there are none.
    is_vertex: npt.NDArray[np.bool_] | None
    #: None where the records do not keep the property, or where it has its default.
    weight: npt.NDArray[np.floating[Any]] | None
    type: npt.NDArray[np.int32] | None
    ts: npt.NDArray[np.int64] | None
    #: As the file claims, not checked against the ids; None: not known.
    bounds: Bounds | None = None
    #: Rows that insert an edge with a weight that was rounded.
    rounded: int = 0
    #: Columns of users' own properties, of rows about edges and about vertices.
    values: Values = MappingProxyType({})
    vertex_values: Values = MappingProxyType({})

    def edges_at(self, at: npt.NDArray[np.int64]) -> CheckedRows:
        """The rows at some positions, all of which are about edges."""

        def taken(column: npt.NDArray[Any] | None) -> Any:
            return None if column is None else column[at]

        return CheckedRows(
            op=taken(self.op) if self.op.size else self.op, src=taken(self.src),
            dst=taken(self.dst), is_vertex=None, weight=taken(self.weight), type=taken(self.type),
            ts=taken(self.ts),
            values={name: taken(column) for name, column in self.values.items()},
        )  # fmt: skip


def name_of_row(offset: int) -> str:
    """Name of a row of a batch made by hand, in messages."""
    return f"row {offset} of the batch"


class GivenRows(NamedTuple):
    """Rows as ``UpdateBatch.from_rows`` takes them, before they are checked."""

    op: Any
    src: Any
    dst: Any
    dst_valid: Any = None
    weight: Any = None
    type: Any = None
    ts: Any = None
    values: Mapping[str, Any] | None = None
    bounds: Bounds | None = None
    row_name: Callable[[int], str] = name_of_row


def checked_rows(given: GivenRows, meaning: RowMeaning) -> CheckedRows:
    """Check rows; `BatchError` names the first bad one."""
    record = meaning.record
    op, src, dst, dst_valid, weight, type_, ts, values, bounds, row_name = given
    check_lengths(src, op=op, dst=dst, dst_valid=dst_valid, weight=weight, type=type_, ts=ts)
    refuse_masked_rows("op", op, None, row_name)
    ops = np.empty(0, dtype=np.int8) if op is None else _ops(op, row_name)
    is_vertex = None
    if dst_valid is not None:
        is_vertex = ~valid_flags(dst_valid, row_name)
        is_vertex = is_vertex if is_vertex.any() else None
    src, dst = _ids("src", src, None, row_name), _ids("dst", dst, is_vertex, row_name)
    if is_vertex is not None:
        src, dst = (ids.astype(np.int64, copy=False) for ids in (src, dst))

    if meaning.self_loops == "reject":
        loops = src == dst if is_vertex is None else (src == dst) & ~is_vertex
        check_loops(loops, row_name, lambda at: number_of_key(meaning.ids, int(src[at])))
    if record.has_times and ts is None:
        msg = f"{record.name} records need the column ts; give it, or use weighted records"
        raise BatchError(msg)
    bounds = bounds if bounds is not None and hold_ids(bounds) else None
    if form_of(meaning.ids) == "dense" and src.size:
        if bounds is None and is_vertex is None:
            bounds = *smallest_and_largest_of(src), *smallest_and_largest_of(dst)
        # Bounds that a file says wrongly are found where ids are narrowed, without the row.
        if bounds is None or not are_indices(bounds):
            _refuse_no_indices(src, dst, is_vertex, meaning, row_name)
    checked = CheckedRows(ops, src, dst, is_vertex, None, None, None, bounds)
    for name, column in (("weight", weight), ("type", type_), ("ts", ts)):
        if np.ma.is_masked(column):
            refuse_masked_rows(name, column, puts_edge(checked), row_name)
    if record.has_weight and weight is not None and meaning.on_repeat != "count":
        weights, rounded = _weights(weight, checked, np.dtype(record.weights), row_name)
        checked = checked._replace(weight=weights, rounded=rounded)
    if record.has_times:
        types = None if type_ is None else _types(type_, checked, row_name)
        checked = checked._replace(type=types, ts=_times(ts, checked, row_name))
    if values or meaning.has_values:
        of_edges, of_vertices = checked_values(
            values, meaning, puts_edge=puts_edge(checked), is_vertex=is_vertex,
            inserts=_inserts(checked), row_name=row_name,
        )  # fmt: skip
        checked = checked._replace(values=of_edges, vertex_values=of_vertices)
    return checked


def valid_flags(
    dst_valid: Any, row_name: Callable[[int], str] = name_of_row
) -> npt.NDArray[np.bool_]:
    """Which rows are about edges; numbers other than 0 are true."""
    refuse_masked_rows("dst_valid", dst_valid, None, row_name)
    return _array("dst_valid", dst_valid, "biu", "give bools").astype(np.bool_, copy=False)


def smallest_and_largest_of(ids: Ids) -> tuple[int, int]:
    """Of at least one id; NumPy looks at each of them twice."""
    # Here: settings are checked without Numba.
    from ..jit.arrays import readonly
    from .serial_sort import smallest_and_largest

    smallest, largest = smallest_and_largest(readonly(ids))
    return int(smallest), int(largest)


def hold_ids(bounds: Bounds) -> bool:
    """Whether any id lies within; kernels take the distance of two bounds for a size."""
    src_low, src_high, dst_low, dst_high = bounds
    return src_low <= src_high and dst_low <= dst_high


def are_indices(bounds: Bounds) -> bool:
    """Whether all ids within are vertex indices."""
    return min(bounds) >= 0 and max(bounds) < MAX_VERTICES


def puts_edge(rows: CheckedRows) -> npt.NDArray[np.bool_]:
    """Rows that insert an edge: those whose properties count."""
    inserts = _inserts(rows)
    return inserts if rows.is_vertex is None else inserts & ~rows.is_vertex


def _inserts(rows: CheckedRows) -> npt.NDArray[np.bool_]:
    return rows.op > 0 if rows.op.size else np.ones(rows.src.size, dtype=np.bool_)


def _refuse_no_indices(
    src: Ids,
    dst: Ids,
    is_vertex: npt.NDArray[np.bool_] | None,
    meaning: RowMeaning,
    row_name: Callable[[int], str],
) -> None:
    """Refuse dense ids that are no vertex indices, but on rows that are dropped."""
    of_src, of_dst = ((ids < 0) | (ids >= MAX_VERTICES) for ids in (src, dst))
    if is_vertex is not None:
        of_dst &= ~is_vertex
    bad = of_src | of_dst
    if meaning.self_loops == "drop":
        bad &= src != dst if is_vertex is None else (src != dst) | is_vertex
    if bad.any():
        cure = (
            f"cannot be a vertex index (0 … {MAX_VERTICES - 1}); use ids='any' for ids of any size"
        )
        raise BadRowsError(
            bad, row_name, lambda at: f"id {(src if of_src[at] else dst)[at]} {cure}"
        )


def check_loops(
    loops: npt.NDArray[np.bool_],
    row_name: Callable[[int], str],
    vertex_of: Callable[[int], object],
) -> None:
    """Refuse rows that are self loops, if any is; ``vertex_of``: how messages name its vertex."""
    if loops.any():
        cure = "take it out, or set self_loops to 'drop' or 'keep'"
        raise BadRowsError(
            loops, row_name, lambda at: f"is a self loop of vertex {vertex_of(at)}; {cure}", " "
        )


def _ops(op: Any, row_name: Callable[[int], str]) -> npt.NDArray[np.int8]:
    ops = _array("op", op, "iu", "use 1 for insert and -1 for delete")
    # With one added, int8 ops are 0 or 2: no other bit is set in any of them.
    if ops.dtype == np.int8 and np.bitwise_or.reduce(ops.view(np.uint8) + np.uint8(1)) in (0, 2):
        return np.ascontiguousarray(ops)
    bad = (ops != 1) & (ops != -1)
    if bad.any():
        cure = "use 1 for insert or -1 for delete"
        raise BadRowsError(bad, row_name, lambda at: f"op is {ops[at]}; {cure}")
    return np.ascontiguousarray(ops, dtype=np.int8)


def _ids(
    name: str,
    ids: Any,
    is_vertex: npt.NDArray[np.bool_] | None,
    row_name: Callable[[int], str],
) -> Ids:
    refuse_masked_rows(name, ids, None if is_vertex is None else ~is_vertex, row_name)
    array = _array(name, ids, "iu", "number the vertices with int64 ids")
    if array.dtype == np.uint64:
        bad = array > np.uint64(np.iinfo(np.int64).max)
        if is_vertex is not None:
            bad &= ~is_vertex
        if bad.any():
            cure = "ids='uint64' has room for it"
            raise BadRowsError(
                bad, row_name, lambda at: f"{name} is {array[at]}, above int64; {cure}"
            )
    # Widened, ids of 32 bits would take longer to read than all else.
    is_narrow = array.dtype in (np.int32, np.uint32)
    return np.ascontiguousarray(array, dtype=None if is_narrow else np.int64)


def _weights(
    weight: Any, rows: CheckedRows, kept: np.dtype[Any], row_name: Callable[[int], str]
) -> tuple[npt.NDArray[np.floating[Any]], int]:
    """Weights as they are kept, and on how many rows that is another number."""
    array = _array("weight", array_of("weight", weight), "iuf", "give numbers")
    with np.errstate(over="ignore"):
        weights = np.ascontiguousarray(array, dtype=kept)
    finite = np.isfinite(weights)
    if not finite.all():
        bad = puts_edge(rows) & ~finite
        if bad.any():

            def reason(at: int) -> str:
                how = f"overflows {kept}" if np.isfinite(array[at]) else "is not a finite number"
                return f"weight {array[at]} {how}; correct the row, or leave it out"

            raise BadRowsError(bad, row_name, reason)
    return weights, _rounded(array, weights, rows)


def _rounded(
    given: npt.NDArray[Any], weights: npt.NDArray[np.floating[Any]], rows: CheckedRows
) -> int:
    """Rows that insert an edge whose weight is another number than was given."""
    # NumPy takes any integer for a float64, which holds 53 bits.
    is_long = given.dtype.kind in "iu" and given.itemsize == 8
    if np.can_cast(given.dtype, weights.dtype) and not is_long:
        return 0
    with np.errstate(invalid="ignore"):
        # Back in the type that they came in: as floats, long integers would agree with each other.
        changed = weights.astype(given.dtype) != given
    return int(np.count_nonzero(changed & puts_edge(rows))) if changed.any() else 0


def _types(values: Any, rows: CheckedRows, row_name: Callable[[int], str]) -> npt.NDArray[np.int32]:
    array = _array("type", values, "iu", "number the edge types with int32")
    if array.dtype.itemsize >= 4 and array.dtype != np.int32:
        limits = np.iinfo(np.int32)
        outside = (array < limits.min) | (array > limits.max)
        bad = puts_edge(rows) & outside if outside.any() else outside
        if bad.any():
            cure = "renumber the edge types"
            raise BadRowsError(
                bad, row_name, lambda at: f"type {array[at]} is outside int32; {cure}"
            )
    return np.ascontiguousarray(array).astype(np.int32, copy=False)


def _times(ts: Any, rows: CheckedRows, row_name: Callable[[int], str]) -> npt.NDArray[np.int64]:
    array, unit = times_of(ts)
    if unit != INTEGERS and (array == NAT).any():
        bad = puts_edge(rows) & (array == NAT)
        if bad.any():
            cure = "give a time, or leave the row out"
            raise BadRowsError(bad, row_name, lambda _: f"ts is NaT; {cure}")
    array = _array("ts", array, "iu", "give int64 or datetime64 times")
    if array.dtype == np.uint64:
        bad = puts_edge(rows) & (array > np.uint64(np.iinfo(np.int64).max))
        if bad.any():
            cure = "give times in a larger unit"
            raise BadRowsError(bad, row_name, lambda at: f"ts {array[at]} is above int64; {cure}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _array(name: str, values: Any, kinds: str, cure: str) -> npt.NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1:
        msg = f"{name} has {array.ndim} dimensions; give one value per row"
        raise BatchError(msg)
    # An empty list has no type of its own.
    if array.dtype.kind not in kinds and array.size:
        msg = f"{name} is of type {array.dtype}; {cure}"
        raise BatchError(msg)
    # Callers compare types, and NumPy's differ by byte order.
    native = array.dtype.newbyteorder("=")
    return array.astype(native if array.dtype.kind in kinds else np.int64, copy=False)
