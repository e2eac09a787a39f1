"""Tables whose row groups are encoded side by side, and are one file in the end.

pyarrow encodes what it writes on one core. So each row group is encoded as a file of its own, in
memory, by several threads, and the bytes of the groups come one after the other. Then comes the
footer: that of a file without rows, with the row groups of all, whose offsets are moved. So
metadata may become known while rows are encoded. The file has the bytes that pyarrow writes, with
groups of so many rows.

Not here: which encodings are used, and what the metadata is (``checked_tables.py``).
"""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .thrift import Moves, field_spans, list_items, moved, number_bytes, structures_bytes

#: Rows of a group. In smaller ones columns with dictionaries take more bytes.
GROUP_ROWS = 1 << 19

#: Groups of a file that are encoded at once; more gain little where a digest is computed beside.
_AT_ONCE = 4

_MAGIC = b"PAR1"
#: The footer's length and the magic at the end.
_TRAILER_BYTES = 8

#: Fields of a footer and of what is in it.
_ROWS, _ROW_GROUPS = 3, 4
_CHUNKS, _GROUP_OFFSET = 1, 5
_CHUNK_METADATA = 3
_DATA_OFFSET, _INDEX_OFFSET, _DICTIONARY_OFFSET = 9, 10, 11


def write_groups(
    path: Path,
    table: pa.Table,
    encodings: Mapping[str, Any],
    metadata: Callable[[], Mapping[bytes, bytes]],
) -> None:
    """Write a table.

    Parameters
    ----------
    path
        Of the file.
    table
        Its rows; at least one.
    encodings
        Arguments of ``pyarrow.parquet.write_table``; they must not ask for indexes of pages or
        bloom filters, which lie elsewhere in a file.
    metadata
        Gives the metadata of the file; called when all groups are written.
    """
    encode = partial(_encoded, encodings)
    starts = range(0, table.num_rows, GROUP_ROWS)
    groups: list[memoryview] = []
    with ThreadPoolExecutor(_AT_ONCE, "graphtide-groups") as pool, path.open("wb") as file:
        file.write(_MAGIC)
        for data, footer in pool.map(lambda at: encode(table.slice(at, GROUP_ROWS)), starts):
            groups.append(_groups_at(footer, file.tell() - len(_MAGIC)))
            file.write(data)
        file.flush()
        # What is beside the rows may take as long as this.
        os.fsync(file.fileno())
        _, footer = encode(table.slice(0, 0).replace_schema_metadata(metadata()))
        joined = _joined(footer, groups, table.num_rows)
        file.write(joined + len(joined).to_bytes(4, "little") + _MAGIC)


def _encoded(encodings: Mapping[str, Any], rows: pa.Table) -> tuple[memoryview, memoryview]:
    """A file of one row group: what lies between magic and footer, and the footer."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, row_group_size=max(len(rows), 1), **encodings)
    file = memoryview(sink.getvalue()).cast("B")
    end = len(file) - _TRAILER_BYTES
    start = end - int.from_bytes(file[end : end + 4], "little")
    return file[len(_MAGIC) : start], file[start:end]


def _groups_at(footer: memoryview, by: int) -> memoryview:
    """The list of row groups of a footer, whose bytes lie so much further on."""
    offsets: Moves = {_DATA_OFFSET: by, _INDEX_OFFSET: by, _DICTIONARY_OFFSET: by}
    in_group: Moves = {_GROUP_OFFSET: by, _CHUNKS: {_CHUNK_METADATA: offsets}}
    footer = moved(footer, {_ROW_GROUPS: in_group})
    start, end = field_spans(footer)[_ROW_GROUPS]
    return footer[start:end]


def _joined(footer: memoryview, groups: list[memoryview], rows: int) -> bytes:
    """A footer with other row groups, and so many rows in them."""
    counts, items = zip(*(list_items(each) for each in groups), strict=True)
    (rows_start, rows_end), (start, end) = (field_spans(footer)[f] for f in (_ROWS, _ROW_GROUPS))
    return b"".join(
        [
            footer[:rows_start],
            number_bytes(rows),
            footer[rows_end:start],
            structures_bytes(list(items), sum(counts)),
            footer[end:],
        ]
    )
