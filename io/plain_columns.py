"""Columns that lie in a Parquet file as they lie in memory: views of the mapped file, not copies.

Such is a column chunk without nulls, compression and encoding, whose values are one page: a header
and an array. Its place follows from the footer; the header is looked at, to be sure that there is
but one page. `write_log_file` stores 32-bit ids and ops of one byte so.

A view lasts as long as the mapping, which it keeps. A file of a log does not change; one that is
cut short while a batch is made of it ends the process (SIGBUS). The batch is then read anew, which
tells that the file has changed.

Source: the Parquet format's description of pages and of their headers, in Thrift's compact form.
On a GPU's host, 14 processes side by side (Sapphire Rapids), a load of 4 M raw rows takes 16 to 18
ms, hand-over included, where it took 40 to 44 with ops of packed differences and copies of all.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from .schema import OP_BYTES

#: Arrow types whose values are those of the file, and their bytes.
_WIDTHS = {pa.int32(): 4, pa.uint32(): 4, pa.int64(): 8, pa.uint64(): 8, OP_BYTES: 1}

#: Bytes of the fields of a header that are looked at, at most: the type, and two sizes.
_HEADER_BYTES = 18
#: The next field, a number of 32 bits; a page of data.
_NEXT_NUMBER, _DATA_PAGE = 0x15, 0


def plain_column(
    mapped: Any, metadata: Any, groups: Sequence[int], name: str, kind: pa.DataType
) -> pa.ChunkedArray | None:
    """View a column in some row groups; None where it has to be decoded.

    Parameters
    ----------
    mapped
        Arrow's memory map of the file.
    metadata
        Its footer.
    name, kind
        Name and Arrow type of the column; columns within others have no view.
    """
    width, place = _WIDTHS.get(kind), place_of(metadata.schema, name)
    if width is None or place is None or metadata.schema.column(place).max_definition_level:
        return None
    chunks = []
    for group in groups:
        chunk = metadata.row_group(group).column(place)
        nbytes = chunk.num_values * width
        if not _is_plain(mapped, chunk, nbytes):
            return None
        mapped.seek(chunk.data_page_offset + chunk.total_compressed_size - nbytes)
        values = mapped.read_buffer(nbytes)
        chunks.append(pa.Array.from_buffers(kind, chunk.num_values, [None, values]))
    return pa.chunked_array(chunks, kind)


def place_of(schema: Any, name: str) -> int | None:
    """Number of a column among those of the file; None where it is a column of others."""
    for place in range(len(schema)):
        column = schema.column(place)
        # A path is names with dots between, and so may be the name of another column.
        if column.path == column.name == name:
            return place
    return None


def _is_plain(mapped: Any, chunk: Any, nbytes: int) -> bool:
    """Whether a column chunk is one page of so many bytes of values, as they are."""
    if (
        chunk.compression != "UNCOMPRESSED"
        # Levels, which are not there, would be run lengths.
        or not {"PLAIN"} <= set(chunk.encodings) <= {"PLAIN", "RLE"}
        # Its page lies before the one of data.
        or chunk.has_dictionary_page
        or chunk.data_page_offset + chunk.total_compressed_size > mapped.size()
    ):
        return False
    mapped.seek(chunk.data_page_offset)
    return _sizes_of_page(mapped.read(_HEADER_BYTES)) == (nbytes, nbytes)


def _sizes_of_page(header: bytes) -> tuple[int, int] | None:
    """Bytes of a page of data before compression and behind it; None where it is another page."""
    numbers = []
    at = 0
    for _ in range(3):
        if at >= len(header) or header[at] != _NEXT_NUMBER:
            return None
        at += 1
        number = shift = 0
        while at < len(header):
            number |= (header[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if header[at - 1] < 0x80:
                break
        # Sizes are not negative: their sign is the lowest bit.
        numbers.append(number >> 1)
    kind, before, behind = numbers
    return (before, behind) if kind == _DATA_PAGE else None
