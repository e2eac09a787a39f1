"""RawRows: checked edge rows, for a GPU to compute their net effect.

Where the graph's GPU converts batches, a CPU worker only reads and checks rows. What travels is the
columns as they are: ids of 32 bits where the log has them so, or where they are vertex indices, and
no ops where all rows insert. Their meaning is that of ``UpdateBatch.from_rows``, and so are the
errors.

Not here: how they are copied (`cuda/convert/feed.py`) and converted (`cuda/convert/raw_edges.py`).
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import BatchError
from ..image.fields import NONE
from ..kind import RowMeaning
from ..records import record_named
from .dense_ids import to_indices
from .packed_batch import padded
from .rows import (
    Bounds,
    CheckedRows,
    GivenRows,
    Ids,
    are_indices,
    checked_rows,
    smallest_and_largest_of,
)
from .update_batch import UpdateBatch

#: More items than any batch has: one thread does it all.
_ONE_THREAD: Final = int(NONE)


@dataclass(frozen=True, eq=False, repr=False)
class RawRows:
    """Rows that insert and delete edges, in order."""

    #: ``src`` and ``dst``, both uint32 or both int64, and of ``op``, ``weight``, ``type``, ``ts``
    #: what is needed, as in `CheckedRows`; in host memory, or what stands for it on a device.
    arrays: dict[str, Any]
    #: What no id lies beyond; None: that is not known.
    bounds: Bounds | None
    meaning: RowMeaning
    #: Whether ids are vertex indices.
    dense: bool
    #: Number of the batch in log order; -1 for a batch made by hand.
    batch_id: int = -1
    #: Rows with a weight that was rounded.
    rounded: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays: what a transfer moves."""
        return sum(int(array.nbytes) for array in self.arrays.values())


def raw_rows(
    op: npt.ArrayLike | None,
    src: npt.ArrayLike,
    dst: npt.ArrayLike,
    meaning: RowMeaning,
    *,
    dense: bool,
    batch_id: int,
    serial_items: int = _ONE_THREAD,
    **columns: Any,
) -> RawRows | UpdateBatch:
    """Check rows as ``UpdateBatch.of_rows`` does; a GPU computes their net effect.

    Of rows about vertices, of ids that are no vertex indices although they have to be, and of
    weights of edges that are inserted again the GPU knows nothing: then the batch is converted
    here.

    Parameters
    ----------
    dense
        Whether the graph's ids are vertex indices.
    serial_items
        Rows that one thread does alone; by default any number.
    op, src, dst, meaning, batch_id, columns
        As of ``UpdateBatch.of_rows``; that no id lies beyond the bounds is for the GPU to check.

    Raises
    ------
    BatchError
        As of ``UpdateBatch.of_rows``.
    """
    rows = checked_rows(GivenRows(op, src, dst, **columns), meaning)
    is_converted = rows.is_vertex is not None or meaning.combines_weights
    ids = None if is_converted else _ids(rows, serial_items, dense=dense)
    if ids is None:
        return UpdateBatch.of_rows(op, src, dst, meaning, batch_id=batch_id, **columns)
    arrays, found = ids
    if rows.op.size and rows.op.min() < 0:
        arrays["op"] = rows.op
    for name in ("weight", "type", "ts"):
        column = getattr(rows, name)
        if column is not None:
            arrays[name] = column
    return RawRows(arrays, found, meaning, dense, batch_id, rows.rounded)


def raw_bytes(rows: int, *, id_bytes: int, records: str) -> int:
    """Bytes that ``rows`` rows fill at most, in one block, with ids of so many bytes."""
    record = record_named(records)
    items = [id_bytes, id_bytes, 1]  # src, dst, op
    items += [np.dtype(record.weights).itemsize] if record.has_weight else []
    items += [4, 8] if record.has_times else []  # type, ts
    return sum(padded(rows * item) for item in items)


def _ids(
    rows: CheckedRows, serial_items: int, *, dense: bool
) -> tuple[dict[str, npt.NDArray[Any]], Bounds] | None:
    """End points as they travel, and their bounds; None where they are no vertex indices."""
    ends = rows.src, rows.dst
    src: npt.NDArray[Any]
    dst: npt.NDArray[Any]
    if rows.src.size == 0:
        nothing = np.empty(0, dtype=np.int64)
        return {"src": nothing, "dst": nothing}, (0, 0, 0, 0)
    if dense and any(ids.dtype == np.int64 for ids in ends):
        try:
            (src, src_top), (dst, dst_top) = (_narrowed(each, serial_items) for each in ends)
        except BatchError:
            return None
        return {"src": src, "dst": dst}, (0, src_top, 0, dst_top)
    bounds = rows.bounds
    if bounds is None or (dense and not are_indices(bounds)):
        bounds = *smallest_and_largest_of(rows.src), *smallest_and_largest_of(rows.dst)
    if dense and not are_indices(bounds):
        return None
    is_narrow = min(bounds) >= 0 and all(ids.dtype != np.int64 for ids in ends)
    src, dst = (
        ids.view(np.uint32) if is_narrow else ids.astype(np.int64, copy=False) for ids in ends
    )
    return {"src": src, "dst": dst}, bounds


def _narrowed(ids: Ids, serial_items: int) -> tuple[npt.NDArray[np.uint32], int]:
    """Dense ids as uint32, and the largest of them."""
    narrow = np.empty(ids.size, np.uint32)
    wide = ids.astype(np.int64, copy=False)
    return narrow, to_indices(wide, narrow, -1, serial_items=serial_items)
