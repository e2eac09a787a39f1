"""A batch whose ids are mapped to vertex indices, the result of `map_ids.py`."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from ...device.device import Array
from ...device.packed_arguments import address
from ..batch import DeviceBatch


class Mapped:
    """A batch by vertex index; fields as in the host's, arrays on the device.

    It begins with the lists as they are in the batch, no vertex created and none deleted.
    """

    def __init__(self, batch: DeviceBatch, vertex_count: int, *, create_vertices: bool) -> None:
        #: The batch on the device: to be used from here on.
        self.batch = batch
        self.create_vertices = create_vertices
        nothing = batch.nothing
        #: uint32: edges to put, with ``batch.put_indptr`` as CSR, and the row number of each entry.
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
        #: uint32, increasing: vertices that are there and are deleted; of them, those that go for
        #: good, because the batch does not put them again.
        self.deleted: Array = nothing
        self.gone: Array = nothing
        #: uint32, int64: vertices that are not there before the batch and are afterwards.
        self.created: Array = nothing
        self.created_ids: Array = nothing
        #: How many of ``created`` come from the front of the vertex queue.
        self.recycled = 0
        #: Freed indices that are queued once it is applied, beside those of ``gone``.
        self.queue_room = 0
        #: Vertex records after the batch.
        self.vertex_count = vertex_count
        #: Whether indices grow with users' ids over all that the batch names.
        self.ordered = batch.dense
        #: Vertex rows of the batch that put, and those that found their vertex.
        self.row_puts = self.row_puts_found = batch.put_vertex_row_count
        #: Vertex rows that delete and found their vertex.
        self.row_deletes_found = 0
        #: By direction, uint32 rows and columns: entries that name a deleted vertex, and for each
        #: deleted vertex one of its own row, so that it is among the rows.
        self.dangling: dict[str, tuple[Array, Array]] = {}
        #: uint8[vertex_count], 1 for deleted vertices; `None` where there are none.
        self.clear: Array = None

    def fill(self, facts: npt.NDArray[Any]) -> None:
        """Fill in `facts.MAPPED`."""
        batch = self.batch
        facts["lists"] = (
            address(self.put_rows), address(batch.put_indptr), self.put_rows.size,
            address(self.put_columns), self.put_columns.size,
            address(self.delete_rows), address(self.delete_indptr), self.delete_rows.size,
            address(self.delete_columns), self.delete_columns.size,
            address(self.put_vertices), self.put_vertices.size,
        )  # fmt: skip
        facts["entry_rows"] = address(self.put_entry_rows), address(self.delete_entry_rows)
        facts["row_counts"] = address(self.put_row_count), address(self.delete_row_count)
        facts["dangling"] = 0
        for number, direction in enumerate(("out", "in")):
            if direction in self.dangling:
                rows, columns = self.dangling[direction]
                facts["dangling"][0, number] = address(rows), address(columns), rows.size
        facts["clear"], facts["ordered"] = address(self.clear), self.ordered
