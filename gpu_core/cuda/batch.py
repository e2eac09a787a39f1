"""DeviceBatch: an `UpdateBatch` in device memory, as the kernels take it.

Same fields, same rules. Ids are uint32 where the graph's ids are vertex indices (``dense``), int64
otherwise; ``indptr`` is uint32.

Not here: what the rows of a batch come to (`graphtide.gpu_core.batch`, `raw_edges.py`), the memory
that a batch of the host goes through (`staging.py`), and batches that are sent ahead (`feed.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final

from ..batch import UpdateBatch
from ..host.plan import DELETE, PUT
from ..packed_batch import PROPERTIES, PackedBatch
from .device import Array
from .half import Half, Halves, pack_halves
from .packed_arguments import address, packer
from .staging import Staging
from .ways import NAMES_FIELDS

#: Rows, where the entries of each begin, and their columns.
Csr = tuple[Array, Array, Array]
_LISTS_ARGUMENT: Final = packer(
    "put_rows", "put_indptr", "put_row_count", "put_columns", "puts", "delete_rows",
    "delete_indptr", "delete_row_count", "delete_columns", "deletes", "put_vertices", "vertices",
)  # fmt: skip
_PROPERTY_ARGUMENT: Final = packer(*PROPERTIES, "reset")
_NAMES: Final = packer(*NAMES_FIELDS)
#: Rows, offsets, number of rows and columns of each kind of entries.
_CSRS: Final = {
    PUT: ("put_rows", "put_indptr", "put_row_count", "put_indices"),
    DELETE: ("delete_rows", "delete_indptr", "delete_row_count", "delete_indices"),
}


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
    #: What is asked of it, as `ways.NAMES`.
    names: bytes = field(init=False)
    #: This, the lists and the properties of puts, as `batch_facts.BATCH`.
    facts: bytes = field(init=False)
    #: The lists as halves, where they are the only one: vertex indices, and puts or deletes alone.
    own_halves: Halves | None = field(init=False)
    #: These facts and halves, for `own_lists.py`; empty where there are no such halves.
    own_lists: bytes = field(init=False)

    def __post_init__(self) -> None:
        # Here, not when it is applied: a batch may be made while another is at work.
        puts = self.put_rows, self.put_indptr, self.put_indices
        deletes = self.delete_rows, self.delete_indptr, self.delete_indices
        object.__setattr__(self, "lists", lists_argument(puts, deletes, self.put_vertices))
        own = self._own_halves()
        properties = (getattr(self, name) for name in (*PROPERTIES, "put_reset"))
        names = _NAMES(
            self.dense, _top(self.put_top), _top(self.delete_top), self.put_indices.size,
            self.delete_indices.size, self.put_vertex_row_count, self.delete_vertices.size,
            self.delete_vertex_row_count,
        )  # fmt: skip
        packed = _PROPERTY_ARGUMENT(*map(address, properties))
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "facts", names + self.lists + packed)
        object.__setattr__(self, "own_halves", own)
        object.__setattr__(self, "own_lists", b"" if own is None else self.facts + own.packed)

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


def _top(top: int | None) -> int:
    return -1 if top is None else top


def lists_argument(puts: Csr, deletes: Csr, put_vertices: Array) -> bytes:
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
