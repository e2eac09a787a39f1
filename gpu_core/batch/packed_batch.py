"""PackedBatch: an `UpdateBatch` in the types that a device takes, still in host memory.

A device takes offsets as uint32, and ids as uint32 where they are vertex indices (``dense``). The
CPU worker that makes a batch narrows it: then half as many bytes travel, and the graph's process
has nothing left to do but to send them on. The arrays may lie anywhere, and may be views of shared
memory.

Not here: the copy to the device (`cuda/convert/feed.py`), and what it becomes there
(`cuda/update/batch.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import BatchError
from ..image.fields import MAX_VERTICES
from ..kind import RowMeaning
from .dense_ids import check_range
from .net_effect.named_rows import IDS
from .net_effect.repeats import REPEATS
from .net_effect.row_effect import effect_of_rows
from .packing import COPY, DELETE_IDS, OFFSETS, PUT_IDS, copy_lists
from .update_batch import UpdateBatch

_OFFSETS: Final = ("put_indptr", "delete_indptr")
#: What becomes of ids that are narrowed.
_NARROWED: Final = {"put": PUT_IDS, "delete": DELETE_IDS}
_FLAGS: Final = ("put_vertex_rows", "delete_vertex_rows", "put_reset")
_KIND: Final = ("batch_id", "directed", "records", "on_repeat")
_COUNTS: Final = ("rows", "dropped", "overridden", "rounded")
PROPERTIES: Final = ("put_weight", "put_type", "put_first", "put_last")
#: Alignment of the arrays of one block, in bytes: a line of the cache.
ALIGNMENT: Final = 64


@dataclass(frozen=True, eq=False, repr=False)
class PackedBatch:
    """Edges and vertices to put and to delete, as a device takes them."""

    #: Fields of `cuda.update.batch.DeviceBatch` that are no arrays: name -> value.
    fields: dict[str, Any]
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
    threads: int = 1,
) -> PackedBatch:
    """Narrow a valid batch.

    Parameters
    ----------
    dense
        Whether the graph's ids are vertex indices.
    memory
        Gives uint8[n] that all arrays are copied into, side by side; None: arrays that are of the
        right type stay where they are.
    threads
        That work on it at most.

    Raises
    ------
    BatchError
        ``dense``, and an id is no vertex index.
    """
    fields = {field.name: getattr(batch, field.name) for field in dataclass_fields(batch)}
    return _packed(fields, dense=dense, memory=memory, threads=threads)


def packed_rows(
    op: npt.ArrayLike | None,
    src: npt.ArrayLike,
    dst: npt.ArrayLike,
    meaning: RowMeaning,
    *,
    dense: bool,
    batch_id: int,
    **columns: Any,
) -> PackedBatch | UpdateBatch:
    """``pack(UpdateBatch.of_rows(…), dense=dense)``, written in the narrow types at once.

    Of rows that are in order, but name an id that is no vertex index although it has to be, comes
    the `UpdateBatch`, for `pack` to refuse: what a graph does not take is no fault of the rows.

    Parameters
    ----------
    dense
        Whether the graph's ids are vertex indices.
    op, src, dst, meaning, batch_id, columns
        As of ``UpdateBatch.of_rows``.

    Raises
    ------
    BatchError
        As of ``UpdateBatch.of_rows``.
    """
    effect = effect_of_rows(op, src, dst, meaning, **columns, dense=dense, offset_type=np.uint32)
    kind = {"directed": meaning.directed, "records": meaning.record.name}
    try:
        return _packed({**effect, **kind, "batch_id": batch_id}, dense=dense)
    except BatchError:
        return UpdateBatch.of_rows(op, src, dst, meaning, batch_id=batch_id, **columns)


def _packed(
    fields: dict[str, Any],
    *,
    dense: bool,
    memory: Callable[[int], npt.NDArray[np.uint8]] | None = None,
    threads: int = 1,
) -> PackedBatch:
    """Narrow what is not narrow yet of the fields of an `UpdateBatch`."""
    arrays = _arrays_of(fields)
    narrow = {*_OFFSETS, *(IDS if dense else ())}
    types = {name: np.dtype(np.uint32) if name in narrow else a.dtype for name, a in arrays.items()}
    moved = {
        name: array
        for name, array in arrays.items()
        if memory is not None or array.dtype != types[name]
    }
    places = _places_of(moved, types, memory or _new_block)
    lists = [
        (_mode_of(name, array.dtype, types[name]), array, places[name])
        for name, array in moved.items()
    ]
    #: The largest ids; those of lists that stay where they are, first.
    tops = {"put": -1, "delete": -1}
    for name in narrow.intersection(IDS).difference(moved):
        if arrays[name].size:
            side = name.partition("_")[0]
            tops[side] = max(tops[side], int(arrays[name].max()))
    for side, ids in zip(tops, copy_lists(lists, threads), strict=True):
        if not 0 <= ids.bits < MAX_VERTICES:
            _refuse(fields, side)
        tops[side] = max(tops[side], ids.largest)
    scalars = {
        **{name: fields[name] for name in (*_KIND, *_COUNTS)},
        "dense": dense,
        "put_top": tops["put"] if dense else None,
        "delete_top": tops["delete"] if dense else None,
        "put_vertex_row_count": int(np.count_nonzero(fields["put_vertex_rows"])),
        "delete_vertex_row_count": int(np.count_nonzero(fields["delete_vertex_rows"])),
    }
    return PackedBatch(scalars, {**arrays, **places})


def _arrays_of(fields: dict[str, Any]) -> dict[str, npt.NDArray[Any]]:
    """Arrays among the fields of an `UpdateBatch`, as a device takes them but for their types."""
    counts = np.array([fields["put_rows"].size, fields["delete_rows"].size], np.uint32)
    arrays: dict[str, npt.NDArray[Any]] = {"row_counts": counts}
    for name in (*IDS, *_OFFSETS, *PROPERTIES, *_FLAGS, *REPEATS):
        array = fields[name]
        if array is not None:
            arrays[name] = array.view(np.uint8) if name in _FLAGS else array
    return arrays


def _places_of(
    arrays: dict[str, npt.NDArray[Any]],
    types: dict[str, np.dtype[Any]],
    memory: Callable[[int], npt.NDArray[np.uint8]],
) -> dict[str, npt.NDArray[Any]]:
    """Arrays of the same sizes and of these types, side by side in one block, not yet written."""
    sizes = {name: array.size * types[name].itemsize for name, array in arrays.items()}
    block, start = memory(sum(map(padded, sizes.values()))), 0
    places = {}
    for name, nbytes in sizes.items():
        places[name] = block[start : start + nbytes].view(types[name])
        start += padded(nbytes)
    return places


def _new_block(nbytes: int) -> npt.NDArray[np.uint8]:
    return np.empty(nbytes, np.uint8)


def _mode_of(name: str, dtype: np.dtype[Any], target: np.dtype[Any]) -> int:
    """Mode of `copy_lists` for a list."""
    if dtype == target:
        return COPY
    return OFFSETS if name in _OFFSETS else _NARROWED[name.partition("_")[0]]


def _refuse(fields: dict[str, Any], side: str) -> None:
    """Raise for the first list to put, or to delete, with an id that is no vertex index."""
    for name in IDS:
        ids = fields[name]
        if name.startswith(side) and ids.size:
            check_range(fields["batch_id"], int(ids.min()), int(ids.max()))
