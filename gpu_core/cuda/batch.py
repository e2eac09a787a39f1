"""DeviceBatch: an `UpdateBatch` in device memory, as the kernels take it.

Same lists, same rules. Ids are uint32 where the graph's ids are vertex indices (``dense``), int64
otherwise; ``indptr`` is uint32. Kernels take the lists by their addresses, so for most batches no
array is ever made of one.

Not here: what the rows of a batch come to (`graphtide.gpu_core.batch`, `raw_edges.py`), the memory
that a batch of the host goes through (`staging.py`), and batches that are sent ahead (`feed.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ..batch import UpdateBatch
from ..host.plan import DELETE, PUT
from ..packed_batch import PROPERTIES, PackedBatch
from .device import Array
from .half import Half, Halves, pack_halves
from .packed_arguments import DeviceList, address, as_array, packer
from .staging import Staging
from .ways import NAMES_FIELDS

#: A list on the device: an array, or what can be made one.
Items = Array | DeviceList
#: Rows, where the entries of each begin, and their columns.
Csr = tuple[Items, Items, Items]
_LISTS_ARGUMENT: Final = packer(
    "put_rows", "put_indptr", "put_row_count", "put_columns", "puts", "delete_rows",
    "delete_indptr", "delete_row_count", "delete_columns", "deletes", "put_vertices", "vertices",
)  # fmt: skip
_PROPERTIES: Final = (*PROPERTIES, "put_reset")
_PROPERTY_ARGUMENT: Final = packer(*_PROPERTIES)
_NAMES: Final = packer(*NAMES_FIELDS)
#: Rows, offsets, columns and number of rows of each kind of entries.
_CSRS: Final = {
    PUT: ("put_rows", "put_indptr", "put_indices", "put_row_count"),
    DELETE: ("delete_rows", "delete_indptr", "delete_indices", "delete_row_count"),
}


class _List:
    """A list of a batch as an array, which is made when it is first looked at."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, batch: "DeviceBatch", owner: type) -> Array:
        array = as_array(batch.data.get(self._name))
        # From now on it is found there, before this descriptor.
        batch.__dict__[self._name] = array
        return array


@dataclass(eq=False, repr=False)
class DeviceBatch:
    """Edges and vertices to put and to delete; fields as in `UpdateBatch`. It never changes."""

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
    #: The lists below, by name: arrays, or what can be made one.
    data: Mapping[str, Items]
    #: The lists of ids, as kernels take them, packed.
    lists: bytes = field(init=False)
    #: What is asked of it, as `ways.NAMES`.
    names: bytes = field(init=False)
    #: This, the lists and the properties of puts, as `batch_facts.BATCH`.
    facts: bytes = field(init=False)
    #: The lists as halves, where they are the only one: vertex indices, and puts or deletes alone.
    own_halves: Halves | None = field(init=False)
    #: These facts and halves, for `own_lists.py`; empty where there are no such halves.
    own_lists: bytes = field(init=False)

    #: uint32[1]: rows of the put list, and of the delete list.
    put_row_count = _List()
    delete_row_count = _List()
    #: uint32[0]
    nothing = _List()
    put_rows = _List()
    put_indptr = _List()
    put_indices = _List()
    delete_rows = _List()
    delete_indptr = _List()
    delete_indices = _List()
    put_vertices = _List()
    #: uint8: 0 or 1.
    put_vertex_rows = _List()
    delete_vertices = _List()
    delete_vertex_rows = _List()
    #: `None` where the records have no such property.
    put_weight = _List()
    put_type = _List()
    put_first = _List()
    put_last = _List()
    put_reset = _List()

    def __post_init__(self) -> None:
        # Here, not when it is applied: a batch may be made while another is at work.
        data = self.data
        puts = data["put_rows"], data["put_indptr"], data["put_indices"]
        deletes = data["delete_rows"], data["delete_indptr"], data["delete_indices"]
        self.lists = lists_argument(puts, deletes, data["put_vertices"])
        self.names = _NAMES(
            self.dense, _top(self.put_top), _top(self.delete_top), puts[2].size, deletes[2].size,
            self.put_vertex_row_count, data["delete_vertices"].size, self.delete_vertex_row_count,
        )  # fmt: skip
        properties = [address(data.get(name)) for name in _PROPERTIES]
        self.facts = self.names + self.lists + _PROPERTY_ARGUMENT(*properties)
        self.own_halves = own = self._own_halves()
        self.own_lists = b"" if own is None else self.facts + own.packed

    def _own_halves(self) -> Halves | None:
        filled = [kind for kind, names in _CSRS.items() if self.data[names[2]].size]
        if not self.dense or len(filled) != 1:
            return None
        rows, indptr, columns, row_count = (self.data[name] for name in _CSRS[filled[0]])
        half = Half(
            rows, indptr, row_count, rows.size, columns, self.data["nothing"], None, filled[0],
            None, None, columns.size,
        )  # fmt: skip
        return pack_halves([("out", half)])

    def __repr__(self) -> str:
        sizes = {name: items.size for name, items in self.data.items()}
        return (
            f"<DeviceBatch {self.batch_id}: {self.records}, {self.rows:,} rows; edges "
            f"+{sizes['put_indices']:,} -{sizes['delete_indices']:,}, "
            f"vertices +{sizes['put_vertices']:,} -{sizes['delete_vertices']:,}>"
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all lists."""
        return sum(items.size * items.dtype.itemsize for items in self.data.values())


def _top(top: int | None) -> int:
    return -1 if top is None else top


def lists_argument(puts: Csr, deletes: Csr, put_vertices: Items) -> bytes:
    """``Lists`` of tiles.cuh, packed."""
    values: list[int] = []
    for rows, indptr, columns in (puts, deletes):
        values += address(rows), address(indptr), rows.size, address(columns), columns.size
    return _LISTS_ARGUMENT(*values, address(put_vertices), put_vertices.size)


def upload(staging: Staging, batch: UpdateBatch, *, dense: bool) -> DeviceBatch:
    """Copy a valid batch to the device, on the current stream; does not wait for the copy.

    Parameters
    ----------
    staging
        Page-locked memory that the batch is narrowed into, and its device.
    dense
        Whether the graph's ids are vertex indices.

    Raises
    ------
    BatchError
        ``dense``, and an id is no vertex index.
    """
    return device_batch(*staging.send(batch, dense=dense))


def device_batch(packed: PackedBatch, sent: Mapping[str, DeviceList]) -> DeviceBatch:
    """Make a batch of ``packed``, whose lists are on the device by now."""
    counts = sent["row_counts"]
    counted = {
        "put_row_count": counts.part(0, 1),
        "delete_row_count": counts.part(1, 1),
        "nothing": counts.part(0, 0),
    }
    return DeviceBatch(**packed.facts, data={**sent, **counted})
