"""DeviceBatch: an `UpdateBatch` in device memory, as the kernels take it.

Same fields, same rules. Ids are uint32 where the graph's ids are vertex indices (``dense``), int64
otherwise; ``indptr`` is uint32. `upload` narrows and checks while it copies to page-locked memory,
with all threads, and sends the batch to the device in one copy.

Not here: what the rows of a batch come to (`graphtide.gpu_core.batch`, `raw_edges.py`), and batches
that are sent ahead, out of the memory that they came in (`feed.py`).
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..batch import UpdateBatch
from ..host.plan import DELETE, PUT
from ..packed_batch import PROPERTIES, PackedBatch, pack
from .device import Array, Device
from .half import Half, Halves, pack_halves
from .packed_arguments import address, packer
from .transfer import send

#: Rows, where the entries of each begin, and their columns.
Csr = tuple[Array, Array, Array]
_LISTS_ARGUMENT: Final = packer(
    "put_rows", "put_indptr", "put_row_count", "put_columns", "puts", "delete_rows",
    "delete_indptr", "delete_row_count", "delete_columns", "deletes", "put_vertices", "vertices",
)  # fmt: skip
_PROPERTY_ARGUMENT: Final = packer(*PROPERTIES, "reset")
#: Rows, offsets, number of rows and columns of each kind of entries.
_CSRS: Final = {
    PUT: ("put_rows", "put_indptr", "put_row_count", "put_indices"),
    DELETE: ("delete_rows", "delete_indptr", "delete_row_count", "delete_indices"),
}
#: Below this many items one thread copies.
_SERIAL_ITEMS: Final = 1 << 16


@dataclass(frozen=True, eq=False, repr=False)
class DeviceBatch:
    """Edges and vertices to put and to delete; fields as in `UpdateBatch`, arrays on the device."""

    batch_id: int
    directed: bool
    records: str
    rows: int
    dropped: int
    overridden: int
    #: Whether ids are vertex indices (uint32); otherwise users' ids (int64).
    dense: bool
    #: Largest id of the lists to put and of those to delete, -1 where they are empty; `None` for
    #: users' ids.
    put_top: int | None
    delete_top: int | None
    #: Entries of ``put_vertex_rows`` and ``delete_vertex_rows`` that are set.
    put_vertex_row_count: int
    delete_vertex_row_count: int
    #: uint32[1]: rows of the put list, and of the delete list.
    put_row_count: Array
    delete_row_count: Array
    #: uint32[0]
    nothing: Array
    put_rows: Array
    put_indptr: Array
    put_indices: Array
    delete_rows: Array
    delete_indptr: Array
    delete_indices: Array
    put_vertices: Array
    #: uint8: 0 or 1.
    put_vertex_rows: Array
    delete_vertices: Array
    delete_vertex_rows: Array
    put_weight: Array | None = None
    put_type: Array | None = None
    put_first: Array | None = None
    put_last: Array | None = None
    put_reset: Array | None = None
    #: The lists of ids, as kernels take them, packed.
    lists: bytes = field(init=False)
    #: These and the properties of puts, as `batch_launches.BATCH`.
    facts: bytes = field(init=False)
    #: The lists as halves, where they are the only one: vertex indices, and puts or deletes alone.
    own_halves: Halves | None = field(init=False)

    def __post_init__(self) -> None:
        # Here, not when it is applied: a batch may be made while another is at work.
        puts = self.put_rows, self.put_indptr, self.put_indices
        deletes = self.delete_rows, self.delete_indptr, self.delete_indices
        object.__setattr__(self, "lists", lists_argument(puts, deletes, self.put_vertices))
        properties = (getattr(self, name) for name in (*PROPERTIES, "put_reset"))
        packed = _PROPERTY_ARGUMENT(*map(address, properties))
        object.__setattr__(self, "facts", self.lists + packed)
        object.__setattr__(self, "own_halves", self._own_halves())

    def _own_halves(self) -> Halves | None:
        filled = [kind for kind in _CSRS if getattr(self, _CSRS[kind][-1]).size]
        if not self.dense or len(filled) != 1:
            return None
        rows, indptr, row_count, columns = (getattr(self, name) for name in _CSRS[filled[0]])
        half = Half(
            rows, indptr, row_count, rows.size, columns, self.nothing, None, filled[0], None, None,
            columns.size,
        )  # fmt: skip
        return pack_halves([("out", half)])

    def __repr__(self) -> str:
        return (
            f"<DeviceBatch {self.batch_id}: {self.records}, {self.rows:,} rows; edges "
            f"+{self.put_indices.size:,} -{self.delete_indices.size:,}, "
            f"vertices +{self.put_vertices.size:,} -{self.delete_vertices.size:,}>"
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        values = (getattr(self, each.name) for each in fields(self))
        return sum(value.nbytes for value in values if hasattr(value, "nbytes"))


def lists_argument(puts: Csr, deletes: Csr, put_vertices: Array) -> bytes:
    """``Lists`` of tiles.cuh, packed."""
    values: list[int] = []
    for rows, indptr, columns in (puts, deletes):
        values += address(rows), address(indptr), rows.size, address(columns), columns.size
    return _LISTS_ARGUMENT(*values, address(put_vertices), put_vertices.size)


def upload(device: Device, batch: UpdateBatch, *, dense: bool) -> DeviceBatch:
    """Copy a valid batch to the device, on the current stream; does not wait for the copy.

    Parameters
    ----------
    dense
        Whether the graph's ids are vertex indices.

    Raises
    ------
    BatchError
        ``dense``, and an id is no vertex index.
    """
    with _LOCK:
        staging = _STAGING.setdefault(device, _Staging(device))
        packed = pack(batch, dense=dense, memory=staging.take, serial_items=_SERIAL_ITEMS)
        arrays = send(device, packed.arrays)
        staging.sent()
    return device_batch(packed, arrays)


def device_batch(packed: PackedBatch, arrays: Mapping[str, Array]) -> DeviceBatch:
    """Make a batch of ``packed``, whose arrays are on the device by now."""
    fields = dict(arrays)
    counts = fields.pop("row_counts")
    return DeviceBatch(
        **packed.facts,
        **fields,
        put_row_count=counts[:1],
        delete_row_count=counts[1:],
        nothing=counts[:0],
    )


class _Staging:
    """Two blocks of page-locked memory, by turns: one is filled while the other is on its way."""

    def __init__(self, device: Device) -> None:
        # An emulated device has no page-locked memory and no streams.
        self._cuda: Any = getattr(device.xp, "cuda", None)
        self._blocks: list[npt.NDArray[np.uint8]] = [np.empty(0, np.uint8)] * 2
        self._sent: list[Any] = [None, None]
        self._turn = 0

    def take(self, nbytes: int) -> npt.NDArray[np.uint8]:
        """Block of ``nbytes`` bytes that no copy reads any more."""
        self._turn = 1 - self._turn
        if self._sent[self._turn] is not None:
            self._sent[self._turn].synchronize()
        if self._blocks[self._turn].size < nbytes:
            self._blocks[self._turn] = self._locked(max(1 << 16, nbytes * 5 // 4))
        return self._blocks[self._turn][:nbytes]

    def sent(self) -> None:
        """The block taken last is on its way, on the current stream."""
        if self._cuda is None:
            return
        event = self._cuda.Event(disable_timing=True)
        event.record(self._cuda.get_current_stream())
        self._sent[self._turn] = event

    def _locked(self, nbytes: int) -> npt.NDArray[np.uint8]:
        if self._cuda is None:
            return np.empty(nbytes, np.uint8)
        return np.frombuffer(self._cuda.alloc_pinned_memory(nbytes), np.uint8, nbytes)


_LOCK = threading.Lock()
_STAGING: WeakKeyDictionary[Device, _Staging] = WeakKeyDictionary()
