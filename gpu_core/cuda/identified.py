"""What is known of a batch once its ids are vertex indices: the result of `identify.py`."""

from dataclasses import dataclass

from .batch import DeviceBatch
from .device import Array


@dataclass
class Identified:
    """A batch by vertex index; fields as in the host's, arrays on the device."""

    #: The batch on the device: to be used from here on.
    batch: DeviceBatch
    create_vertices: bool
    #: uint32: edges to put, with ``batch.put_indptr`` as CSR, and the row number of each entry;
    #: row numbers, here and below, are left out where only the batch's own lists are made a half.
    put_rows: Array
    put_columns: Array
    put_entry_rows: Array
    #: uint32: edge deletes whose end points both have a record, as a CSR of their own.
    delete_rows: Array
    delete_indptr: Array
    delete_columns: Array
    delete_entry_rows: Array
    #: uint32[1] each: rows of the two lists.
    put_row_count: Array
    delete_row_count: Array
    #: uint32: index of each of ``batch.put_vertices``.
    put_vertices: Array
    #: uint32, increasing: vertices that are there and are deleted; of them, those that the batch
    #: puts again, which keep their index, and those that go for good.
    deleted: Array
    recreated: Array
    gone: Array
    #: uint32, int64: vertices that are not there before the batch and are afterwards.
    created: Array
    created_ids: Array
    #: Vertex records after the batch.
    vertex_count: int
    #: Whether indices grow with users' ids over all that the batch names.
    ordered: bool
    #: Vertex rows of the batch that put, and those of them that found their vertex.
    row_puts: int
    row_puts_found: int
    #: The same of those that delete.
    row_deletes: int
    row_deletes_found: int = 0
    #: How many of ``created`` come from the front of the vertex queue.
    recycled: int = 0
    #: Whether this is final; otherwise it holds if the batch's status stays OK.
    careful: bool = False
    #: Whether commit enters what the batch puts and is not there; the lists above do not say then
    #: which vertices are created.
    enters: bool = False
