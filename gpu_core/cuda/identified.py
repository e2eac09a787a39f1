"""What is known of a batch once its ids are vertex indices: the result of `identify.py`."""

from .batch import DeviceBatch
from .device import Array


class Identified:
    """A batch by vertex index; fields as in the host's, arrays on the device.

    It begins as the common way has it: the lists as they are in the batch, no vertex created and
    none deleted.
    """

    def __init__(self, batch: DeviceBatch, vertex_count: int, *, create_vertices: bool) -> None:
        #: The batch on the device: to be used from here on.
        self.batch = batch
        self.create_vertices = create_vertices
        #: Whether this is final; otherwise it holds if the batch's status stays OK.
        self.careful = False
        nothing = batch.nothing
        #: uint32: edges to put, with ``batch.put_indptr`` as CSR, and the row number of each entry;
        #: row numbers, here and below, are left out where only the batch's own lists are made a
        #: half.
        self.put_rows: Array = batch.put_rows
        self.put_columns: Array = batch.put_indices
        self.put_entry_rows: Array = nothing
        #: uint32: edge deletes whose end points both have a record, as a CSR of their own.
        self.delete_rows: Array = batch.delete_rows
        self.delete_indptr: Array = batch.delete_indptr
        self.delete_columns: Array = batch.delete_indices
        self.delete_entry_rows: Array = nothing
        #: uint32[1] each: rows of the two lists.
        self.put_row_count: Array = batch.put_row_count
        self.delete_row_count: Array = batch.delete_row_count
        #: uint32: index of each of ``batch.put_vertices``.
        self.put_vertices: Array = batch.put_vertices
        #: uint32, increasing: vertices that are there and are deleted; of them, those that the
        #: batch puts again, which keep their index, and those that go for good.
        self.deleted: Array = nothing
        self.recreated: Array = nothing
        self.gone: Array = nothing
        #: uint32, int64: vertices that are not there before the batch and are afterwards.
        self.created: Array = nothing
        self.created_ids: Array = nothing
        #: How many of ``created`` come from the front of the vertex queue.
        self.recycled = 0
        #: Vertex records after the batch.
        self.vertex_count = vertex_count
        #: Whether indices grow with users' ids over all that the batch names.
        self.ordered = batch.dense
        #: Vertex rows of the batch, and those that found their vertex.
        self.row_puts = self.row_puts_found = batch.put_vertex_row_count
        self.row_deletes = batch.delete_vertex_row_count
        self.row_deletes_found = 0
