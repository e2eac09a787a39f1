"""Plain columns of a Parquet file, read as views of the mapped file without a copy.

A column chunk is *plain* if it has no nulls, no compression and no encoding, and its values are one
page: a header and an array. The header is read, to be sure that there is but one page.
`write_log_file` stores 32-bit ids and ops of one byte like this.

A view lasts as long as the mapping, which it keeps. A file of a log does not change; one that is
cut short while a batch is made of it ends the process (SIGBUS). The batch is then read again, which
shows that the file has changed.

Not here: whether the values are as they were written (``page_checks.py``).

Source: on a GPU's host, 14 processes side by side (Sapphire Rapids), a load of 4 M raw rows takes
16 to 18 ms, hand-over included, where it took 40 to 44 with ops of packed differences and copies of
all.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ..log.columns.column_types import OP_BYTES
from .file_bytes import FileBytes
from .page_checks import DATA, PageError, read_header
from .row_groups import column_index

#: Arrow types whose values are those of the file, and their bytes.
_WIDTHS = {pa.int32(): 4, pa.uint32(): 4, pa.int64(): 8, pa.uint64(): 8, OP_BYTES: 1}


def plain_column(
    data: FileBytes, metadata: Any, groups: Sequence[int], name: str, kind: pa.DataType
) -> pa.ChunkedArray | None:
    """View a column in some row groups; None where it has to be decoded.

    Parameters
    ----------
    data
        The file.
    metadata
        Its footer.
    name, kind
        Name and Arrow type of the column; columns within others have no view.
    """
    width, index = _WIDTHS.get(kind), column_index(metadata.schema, name)
    if width is None or index is None or metadata.schema.column(index).max_definition_level:
        return None
    chunks = []
    for group in groups:
        chunk = metadata.row_group(group).column(index)
        nbytes = chunk.num_values * width
        values = _plain_values(data, chunk, nbytes)
        if values is None:
            return None
        chunks.append(pa.Array.from_buffers(kind, chunk.num_values, [None, pa.py_buffer(values)]))
    return pa.chunked_array(chunks, kind)


def _plain_values(data: FileBytes, chunk: Any, nbytes: int) -> memoryview | None:
    """Values of a column chunk that is one page of ``nbytes`` bytes as they are; else None."""
    if (
        chunk.compression != "UNCOMPRESSED"
        # Levels, which are not there, would be run lengths.
        or not {"PLAIN"} <= set(chunk.encodings) <= {"PLAIN", "RLE"}
        # Its page lies before the one of data.
        or chunk.has_dictionary_page
    ):
        return None
    page = data.range(chunk.data_page_offset, chunk.total_compressed_size)
    try:
        header = read_header(page)
    except PageError:
        return None
    sizes = (header.unpacked_bytes, header.payload_bytes, len(page) - header.nbytes)
    if header.kind != DATA or header.encoding != 0 or sizes != (nbytes,) * 3:
        return None
    return page[header.nbytes :]
