"""DeviceBatch: an `UpdateBatch` in device memory, as the kernels take it.

Same lists, same rules. Ids are uint32 where the graph's ids are vertex indices (``dense``), int64
otherwise; ``indptr`` is uint32. Kernels take the lists by their addresses, so for most batches no
array is ever made of one.

Not here: the net effect of the rows of a batch (`graphtide.gpu_core.batch.update_batch`,
`raw_edges.py`), the memory that a batch of the host goes through (`staging.py`), and batches that
are sent ahead (`feed.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ...batch.packed_batch import PROPERTIES as PROPERTY_NAMES
from ...batch.packed_batch import PackedBatch
from ...batch.update_batch import UpdateBatch
from ...times import INTEGERS
from ..device.device import Array
from ..device.packed_arguments import DeviceList, address, as_array, packer
from ..device.staging import Staging
from ..structs import LISTS, PROPERTIES
from .modes import EXTENT_FIELDS

#: A list on the device: an array, or what can be made one.
Items = Array | DeviceList
#: Rows, where the entries of each begin, and their columns.
Csr = tuple[Items, Items, Items]
_PROPERTIES: Final = (*PROPERTY_NAMES, "put_reset")
_ROW_COUNTS: Final = packer("puts", "deletes")
_EXTENT: Final = packer(*EXTENT_FIELDS)


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
    #: Rows with a weight that was rounded.
    rounded: int = 0
    #: Weight of an edge that is inserted again.
    on_repeat: str = "last"
    #: What times count: integers, whatever they mean to the graph; None where there are none.
    time_unit: str | None = field(init=False)
    #: The lists of ids, as kernels take them, packed.
    lists: bytes = field(init=False)
    #: As `modes.EXTENT`.
    extent: bytes = field(init=False)
    #: This, the lists and the properties of puts, as `facts.BATCH`.
    facts: bytes = field(init=False)

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
    repeat_puts = _List()
    repeat_weight = _List()

    def __post_init__(self) -> None:
        # Here, not when it is applied: a batch may be made while another is at work.
        data = self.data
        self.time_unit = str(INTEGERS) if self.rows and data.get("put_last") is not None else None
        puts = data["put_rows"], data["put_indptr"], data["put_indices"]
        deletes = data["delete_rows"], data["delete_indptr"], data["delete_indices"]
        self.lists = lists_argument(puts, deletes, data["put_vertices"])
        self.extent = _EXTENT(
            self.dense, _top(self.put_top), _top(self.delete_top), puts[2].size, deletes[2].size,
            self.put_vertex_row_count, data["delete_vertices"].size, self.delete_vertex_row_count,
        )  # fmt: skip
        properties = [address(data.get(name)) for name in _PROPERTIES]
        counts = _ROW_COUNTS(address(data["put_row_count"]), address(data["delete_row_count"]))
        self.facts = b"".join((self.extent, self.lists, counts, PROPERTIES.pack(*properties)))

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
    return LISTS.pack(*values, address(put_vertices), put_vertices.size)


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
    return DeviceBatch(**packed.fields, data={**sent, **counted})
