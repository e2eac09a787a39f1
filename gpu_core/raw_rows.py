"""RawRows: checked rows about edges, on their way to a GPU that works out what they come to.

Where the graph's GPU converts batches, a CPU worker only reads and checks rows. What travels is the
columns as they are: 32-bit ids where they are vertex indices, no ops where all rows insert. Their
meaning is that of ``UpdateBatch.from_rows``, and so are the errors.

Not here: how they are copied (`cuda/feed.py`) and converted (`cuda/raw_edges.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .batch import UpdateBatch
from .batch_rows import Ids, Rows, check_self_loops, checked_rows
from .errors import BatchError
from .host.dense_ids import check_range, to_indices
from .host.last_rows import readonly
from .host.serial_sort import smallest_and_largest
from .image import NONE
from .packed_batch import padded
from .records import record_named

#: More items than any batch has: one thread does it all.
_ONE_THREAD: Final = int(NONE)


@dataclass(frozen=True, eq=False, repr=False)
class RawRows:
    """Rows that insert and delete edges, in order."""

    #: Keyword arguments of `cuda.raw_edges.from_edges` that are no arrays.
    arguments: dict[str, Any]
    #: Its arrays: ``src`` and ``dst``, and of ``op``, ``weight``, ``type``, ``ts`` what is needed.
    arrays: dict[str, npt.NDArray[Any]]
    #: Smallest and largest source, smallest and largest destination, or what lies beyond them.
    bounds: tuple[int, int, int, int]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays: what a transfer moves."""
        return sum(array.nbytes for array in self.arrays.values())


def raw_rows(
    op: npt.ArrayLike | None,
    src: npt.ArrayLike,
    dst: npt.ArrayLike,
    *,
    dense: bool,
    row_name: Callable[[int], str],
    dst_valid: npt.ArrayLike | None = None,
    weight: npt.ArrayLike | None = None,
    type: npt.ArrayLike | None = None,  # noqa: A002 -- the log's name for the column
    ts: npt.ArrayLike | None = None,
    **kind: Any,
) -> RawRows | UpdateBatch:
    """Check rows as ``UpdateBatch.from_rows`` does; what they come to is left to a GPU.

    Of rows about vertices, and of ids that are no vertex indices although they have to be, the GPU
    knows nothing: then the batch is converted here.

    Parameters
    ----------
    dense
        Whether the graph's ids are vertex indices.
    op, src, dst, row_name, dst_valid, weight, type, ts
        As of ``UpdateBatch.from_rows``.
    kind
        Its other arguments: ``directed``, ``records``, ``self_loops``, ``create_vertices``,
        ``batch_id``.

    Raises
    ------
    BatchError, SettingsError
        As of ``UpdateBatch.from_rows``.
    """
    record = record_named(kind["records"])
    check_self_loops(kind["self_loops"], directed=kind["directed"])
    columns: dict[str, Any] = {"dst_valid": dst_valid, "weight": weight, "type": type, "ts": ts}
    rows = checked_rows(
        op, src, dst, **columns, record=record, self_loops=kind["self_loops"], row_name=row_name
    )
    ids = None if rows.is_vertex is not None else _ids(rows, dense=dense)
    if ids is None:
        return UpdateBatch.from_rows(op, src, dst, **columns, **kind, row_name=row_name)
    arrays, bounds = ids
    if rows.op.size and rows.op.min() < 0:
        arrays["op"] = rows.op
    for name in ("weight", "type", "ts"):
        column = getattr(rows, name)
        if column is not None:
            arrays[name] = column
    return RawRows({**kind, "dense": dense}, arrays, bounds)


def raw_bytes(rows: int, *, dense: bool, records: str) -> int:
    """Bytes that so many rows fill at most, in one block."""
    record = record_named(records)
    id_bytes = 4 if dense else 8
    items = [id_bytes, id_bytes, 1]  # src, dst, op
    items += [4] if record.has_weight else []
    items += [4, 8] if record.has_times else []  # type, ts
    return sum(padded(rows * item) for item in items)


def _ids(
    rows: Rows, *, dense: bool
) -> tuple[dict[str, npt.NDArray[Any]], tuple[int, int, int, int]] | None:
    """End points as they travel, and their bounds; None where they are no vertex indices."""
    if rows.src.size == 0:
        nothing = np.empty(0, dtype=np.int64)
        return {"src": nothing, "dst": nothing}, (0, 0, 0, 0)
    if not dense:
        src, dst = (ids.astype(np.int64, copy=False) for ids in (rows.src, rows.dst))
        return {"src": src, "dst": dst}, (*_bounds(src), *_bounds(dst))
    try:
        src_top, src_indices = _indices(rows.src)
        dst_top, dst_indices = _indices(rows.dst)
    except BatchError:
        return None
    return {"src": src_indices, "dst": dst_indices}, (0, src_top, 0, dst_top)


def _bounds(ids: Ids) -> tuple[int, int]:
    smallest, largest = smallest_and_largest(readonly(ids))
    return int(smallest), int(largest)


def _indices(ids: Ids) -> tuple[int, npt.NDArray[np.uint32]]:
    """Largest of dense ids, and the ids as uint32: those of 32 bits travel as they are."""
    if ids.dtype == np.int64:
        narrow = np.empty(ids.size, np.uint32)
        return to_indices(ids, narrow, -1, serial_items=_ONE_THREAD), narrow
    smallest, largest = _bounds(ids)
    check_range(-1, smallest, largest)
    return largest, ids.view(np.uint32)
