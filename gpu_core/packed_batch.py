"""PackedBatch: an `UpdateBatch` in the types that a device takes, still in host memory.

A device takes offsets as uint32, and ids as uint32 where they are vertex indices (``dense``). Who
makes a batch narrows it: then half as many bytes travel, and the graph's process has nothing left
to do but to send them on. The arrays may lie anywhere, and may be views of shared memory.

Not here: the copy to the device (`cuda/feed.py`), and what it becomes there (`cuda/batch.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .batch import UpdateBatch
from .host.dense_ids import narrow_ids, to_indices
from .host.parallel import for_ranges
from .image import NONE

IDS: Final = (
    "put_rows", "put_indices", "delete_rows", "delete_indices", "put_vertices", "delete_vertices",
)  # fmt: skip
_OFFSETS: Final = ("put_indptr", "delete_indptr")
_FLAGS: Final = ("put_vertex_rows", "delete_vertex_rows", "put_reset")
PROPERTIES: Final = ("put_weight", "put_type", "put_first", "put_last")
#: Arrays of one block begin at multiples of so many bytes: a line of the cache.
ALIGNMENT: Final = 64
#: More items than any batch has: one thread does it all.
_ONE_THREAD: Final = int(NONE)


@dataclass(frozen=True, eq=False, repr=False)
class PackedBatch:
    """Edges and vertices to put and to delete, as a device takes them."""

    #: Fields of `cuda.batch.DeviceBatch` that are no arrays: name -> value.
    facts: dict[str, Any]
    #: Its arrays; ``row_counts``, uint32[2], are the rows of the put list and of the delete list.
    arrays: dict[str, npt.NDArray[Any]]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays: what a transfer moves."""
        return sum(array.nbytes for array in self.arrays.values())


def padded(nbytes: int) -> int:
    """Bytes from the beginning of an array to that of the next one in its block."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def pack(
    batch: UpdateBatch,
    *,
    dense: bool,
    memory: Callable[[int], npt.NDArray[np.uint8]] | None = None,
    serial_items: int = _ONE_THREAD,
) -> PackedBatch:
    """Narrow a valid batch.

    Parameters
    ----------
    dense
        Whether the graph's ids are vertex indices.
    memory
        Gives uint8[n] that all arrays are copied into, side by side; None: arrays that are of the
        right type stay where they are.
    serial_items
        Below so many items one thread does it; by default always.

    Raises
    ------
    BatchError
        ``dense``, and an id is no vertex index.
    """
    counts = np.array([batch.put_rows.size, batch.delete_rows.size], np.uint32)
    arrays: dict[str, npt.NDArray[Any]] = {"row_counts": counts}
    for name in (*IDS, *_OFFSETS, *PROPERTIES, *_FLAGS):
        array = getattr(batch, name)
        if array is not None:
            arrays[name] = array.view(np.uint8) if name in _FLAGS else array
    narrow = {*_OFFSETS, *(IDS if dense else ())}
    types = {name: np.dtype(np.uint32) if name in narrow else a.dtype for name, a in arrays.items()}
    moved = list(arrays) if memory is not None else [name for name in arrays if name in narrow]
    size = sum(padded(arrays[name].size * types[name].itemsize) for name in moved)
    block = np.empty(size, np.uint8) if memory is None else memory(size)
    tops = {"put": -1, "delete": -1}
    start = 0
    for name in moved:
        source, dtype = arrays[name], types[name]
        nbytes = source.size * dtype.itemsize
        target = arrays[name] = block[start : start + nbytes].view(dtype)
        start += padded(nbytes)
        if dtype == source.dtype:
            for_ranges(_copy_range, source.size, source, target, serial_items=serial_items)
        elif name in _OFFSETS:
            for_ranges(narrow_ids, source.size, source, target, serial_items=serial_items)
        else:
            side = name.partition("_")[0]
            top = to_indices(source, target, batch.batch_id, serial_items=serial_items)
            tops[side] = max(tops[side], top)
    facts = {
        **{name: getattr(batch, name) for name in ("batch_id", "directed", "records")},
        **{name: getattr(batch, name) for name in ("rows", "dropped", "overridden")},
        "dense": dense,
        "put_top": tops["put"] if dense else None,
        "delete_top": tops["delete"] if dense else None,
        "put_vertex_row_count": int(np.count_nonzero(batch.put_vertex_rows)),
        "delete_vertex_row_count": int(np.count_nonzero(batch.delete_vertex_rows)),
    }
    return PackedBatch(facts, arrays)


def _copy_range(low: int, high: int, source: npt.NDArray[Any], target: npt.NDArray[Any]) -> None:
    # NumPy releases the GIL while it copies.
    target[low:high] = source[low:high]
