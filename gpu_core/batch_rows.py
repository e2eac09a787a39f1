"""Rows of a batch as arrays of the right types, or one sentence on the first row that is wrong.

Checked here, so that the conversion can rely on it: lengths agree, there are fewer than 2^31 rows,
ops are 1 or -1, ids fit int64, and on rows that insert an edge the weight is a finite float32, the
type an int32 and the time an int64. Infinite weights are refused like NaN: no algorithm has an
answer for them, and they are mostly the overflow of a wider type. Values on other rows mean nothing
and are not looked at. Self loops are refused here where the settings say so.

Arrays of the right type are used as they are, without a copy.

Not here: what the rows mean together (`net_effect.py`), files and columns (``io/csr.py``).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .errors import BatchError, SettingsError
from .records import Record

#: Row positions must fit a key of the conversion.
ROW_LIMIT = 1 << 31

SELF_LOOPS = ("drop", "keep", "reject")

#: int64, int32 or uint32.
Ids = npt.NDArray[Any]

#: What no id lies beyond: smallest and largest source, smallest and largest destination.
Bounds = tuple[int, int, int, int]


class Rows(NamedTuple):
    """Checked columns of a batch; all of the same length."""

    #: int8, 1 or -1; of length 0 where every row is an insert.
    op: npt.NDArray[np.int8]
    #: int64; where all rows are about edges, maybe int32 or uint32, of one type or two.
    src: Ids
    dst: Ids
    #: Rows that are about the vertex ``src``; None where there are none.
    is_vertex: npt.NDArray[np.bool_] | None
    #: None where the records do not keep the property, or where it has its default.
    weight: npt.NDArray[np.float32] | None
    type: npt.NDArray[np.int32] | None
    ts: npt.NDArray[np.int64] | None
    #: As somebody said, and nobody checked against the ids; None: not known.
    bounds: Bounds | None = None


def name_of_row(offset: int) -> str:
    """How messages name a row of a batch made by hand."""
    return f"row {offset} of the batch"


def check_self_loops(self_loops: str, *, directed: bool) -> None:
    """Refuse a rule for self loops that is unknown, or that has no meaning without directions."""
    if self_loops not in SELF_LOOPS:
        msg = f"self_loops={self_loops!r} is unknown; use one of {', '.join(SELF_LOOPS)}"
        raise SettingsError(msg)
    if self_loops == "keep" and not directed:
        msg = "self_loops='keep' needs a directed graph; use 'drop' or 'reject', or directed=True"
        raise SettingsError(msg)


def checked_rows(
    op: Any,
    src: Any,
    dst: Any,
    *,
    dst_valid: Any,
    weight: Any,
    type: Any,  # noqa: A002 -- the log's name for the column
    ts: Any,
    bounds: Bounds | None = None,
    record: Record,
    self_loops: str,
    row_name: Callable[[int], str],
) -> Rows:
    """Check the arguments of ``UpdateBatch.from_rows``; `BatchError` names the first bad row."""
    _check_lengths(len(src), op=op, dst=dst, dst_valid=dst_valid, weight=weight, type=type, ts=ts)
    ops = np.empty(0, dtype=np.int8) if op is None else _ops(op, row_name)
    is_vertex = None
    if dst_valid is not None:
        is_vertex = ~np.asarray(dst_valid, dtype=np.bool_)
        is_vertex = is_vertex if is_vertex.any() else None
    src, dst = _ids("src", src, None, row_name), _ids("dst", dst, is_vertex, row_name)
    if is_vertex is not None:
        src, dst = (ids.astype(np.int64, copy=False) for ids in (src, dst))

    if self_loops == "reject":
        _refuse_loops(src, dst, is_vertex, row_name)
    if record.has_times and ts is None:
        msg = f"{record.name} records need the column ts; give it, or use weighted records"
        raise BatchError(msg)
    bounds = bounds if bounds is not None and hold_ids(bounds) else None
    checked = Rows(ops, src, dst, is_vertex, None, None, None, bounds)
    if record.has_weight and weight is not None:
        checked = checked._replace(weight=_weights(weight, checked, row_name))
    if record.has_times:
        types = None if type is None else _types(type, checked, row_name)
        checked = checked._replace(type=types, ts=_times(ts, checked, row_name))
    return checked


def hold_ids(bounds: Bounds) -> bool:
    """Whether any id lies within; kernels take the distance of two bounds for a size."""
    src_low, src_high, dst_low, dst_high = bounds
    return src_low <= src_high and dst_low <= dst_high


def puts_edge(rows: Rows) -> npt.NDArray[np.bool_]:
    """Rows that insert an edge: those whose properties count."""
    inserts = rows.op > 0 if rows.op.size else np.ones(rows.src.size, dtype=np.bool_)
    return inserts if rows.is_vertex is None else inserts & ~rows.is_vertex


def _check_lengths(rows: int, **columns: Any) -> None:
    """Refuse too many rows, and columns of another length; None is no column."""
    if rows >= ROW_LIMIT:
        msg = f"a batch of {rows} rows is too long; cut it below {ROW_LIMIT} rows"
        raise BatchError(msg)
    for name, column in columns.items():
        if column is not None and len(column) != rows:
            msg = f"{name} has {len(column)} rows but src has {rows}; give columns of one length"
            raise BatchError(msg)


def _refuse_loops(
    src: Ids, dst: Ids, is_vertex: npt.NDArray[np.bool_] | None, row_name: Callable[[int], str]
) -> None:
    loops = src == dst if is_vertex is None else (src == dst) & ~is_vertex
    if loops.any():
        at = int(loops.argmax())
        msg = (
            f"{row_name(at)} is a self loop of vertex {src[at]}; "
            f"take it out, or set self_loops to 'drop' or 'keep'"
        )
        raise BatchError(msg)


def _ops(op: Any, row_name: Callable[[int], str]) -> npt.NDArray[np.int8]:
    ops = _array("op", op, "iu", "use 1 for insert and -1 for delete")
    # With one added, int8 ops are 0 or 2: no other bit is set in any of them.
    if ops.dtype == np.int8 and np.bitwise_or.reduce(ops.view(np.uint8) + np.uint8(1)) in (0, 2):
        return np.ascontiguousarray(ops)
    bad = (ops != 1) & (ops != -1)
    if bad.any():
        at = int(bad.argmax())
        msg = f"{row_name(at)}: op is {ops[at]}; use 1 for insert or -1 for delete"
        raise BatchError(msg)
    return np.ascontiguousarray(ops, dtype=np.int8)


def _ids(
    name: str,
    ids: Any,
    is_vertex: npt.NDArray[np.bool_] | None,
    row_name: Callable[[int], str],
) -> Ids:
    array = _array(name, ids, "iu", "number the vertices with int64 ids")
    if array.dtype == np.uint64:
        bad = array > np.uint64(np.iinfo(np.int64).max)
        if is_vertex is not None:
            bad &= ~is_vertex
        if bad.any():
            at = int(bad.argmax())
            msg = f"{row_name(at)}: {name} is {array[at]}, above int64; renumber the vertices"
            raise BatchError(msg)
    # Widened, ids of 32 bits would take longer to read than all else.
    is_narrow = array.dtype in (np.int32, np.uint32)
    return np.ascontiguousarray(array, dtype=None if is_narrow else np.int64)


def _weights(weight: Any, rows: Rows, row_name: Callable[[int], str]) -> npt.NDArray[np.float32]:
    array = _array("weight", weight, "iuf", "give numbers")
    with np.errstate(over="ignore"):
        weights = np.ascontiguousarray(array, dtype=np.float32)
    finite = np.isfinite(weights)
    if not finite.all():
        bad = puts_edge(rows) & ~finite
        if bad.any():
            at = int(bad.argmax())
            how = "overflows float32" if np.isfinite(array[at]) else "is not a finite number"
            msg = f"{row_name(at)}: weight {array[at]} {how}; mend the row, or leave it out"
            raise BatchError(msg)
    return weights


def _types(values: Any, rows: Rows, row_name: Callable[[int], str]) -> npt.NDArray[np.int32]:
    array = _array("type", values, "iu", "number the edge types with int32")
    if array.dtype.itemsize >= 4 and array.dtype != np.int32:
        limits = np.iinfo(np.int32)
        outside = (array < limits.min) | (array > limits.max)
        bad = puts_edge(rows) & outside if outside.any() else outside
        if bad.any():
            at = int(bad.argmax())
            msg = f"{row_name(at)}: type {array[at]} is outside int32; renumber the edge types"
            raise BatchError(msg)
    return np.ascontiguousarray(array).astype(np.int32, copy=False)


def _times(ts: Any, rows: Rows, row_name: Callable[[int], str]) -> npt.NDArray[np.int64]:
    array = np.asarray(ts)
    if array.dtype.kind == "M":
        array = array.astype(np.int64)
    array = _array("ts", array, "iu", "give int64 or datetime64 times")
    if array.dtype == np.uint64:
        bad = puts_edge(rows) & (array > np.uint64(np.iinfo(np.int64).max))
        if bad.any():
            at = int(bad.argmax())
            msg = f"{row_name(at)}: ts {array[at]} is above int64; give times in a larger unit"
            raise BatchError(msg)
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
