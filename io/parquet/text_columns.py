"""Columns of text without nulls, decoded page by page: in a third of the time of Arrow's decoder.

Pages are decompressed one by one, so that a page is in the cache when its strings are copied
(``gpu_core/names/text_pages.py``). A column chunk that a writer begins with a dictionary and goes
on plainly, as Arrow's does with names that are mostly different, is read in one pass.

Only what is certain is decoded here: pages of the first kind, of the codecs that detect a wrong
size. Whatever else is found, and whatever is odd, is left to Arrow, with its errors.

Not here: whether pages are as they were written (``page_checks.py``), whether text is UTF-8
(``io/log/columns/name_columns.py``), and columns that are numbers of a dictionary throughout.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...gpu_core.jit.arrays import readonly
from ...gpu_core.names.text_pages import (
    DAMAGED,
    put_strings,
    read_numbers,
    read_strings,
    total_length,
)
from ...gpu_core.names.words import SLACK
from .file_bytes import FileBytes
from .page_checks import DATA, DICTIONARY, PageError, PageHeader, read_header
from .row_groups import column_index, extent

Bytes = npt.NDArray[np.uint8]

#: Arrow types -> of their offsets.
_OFFSETS: dict[pa.DataType, type[np.int32 | np.int64]] = {
    pa.string(): np.int32,
    pa.large_string(): np.int64,
}
#: Names of codecs in a footer -> Arrow's.
_CODECS = {"UNCOMPRESSED": None, "SNAPPY": "snappy", "ZSTD": "zstd"}
_PLAIN, _NUMBERED = (0,), (2, 8)


class _OddPageError(ValueError):
    """A page is none that is decoded here."""


class _Words(NamedTuple):
    """Strings of a dictionary page."""

    starts: npt.NDArray[np.int64]
    data: Bytes


class _Page(NamedTuple):
    """A page of data; decompressed and unpacked where it has numbers of the dictionary."""

    header: PageHeader
    #: As it is stored.
    payload: memoryview
    #: int32[values]; None: its strings are plain.
    numbers: npt.NDArray[np.int32] | None
    #: Bytes of its strings, or more.
    nbytes: int


def text_column(
    data: FileBytes, metadata: Any, groups: Sequence[int], name: str, kind: pa.DataType
) -> pa.ChunkedArray | None:
    """Decode a column of text in some row groups; None where Arrow has to.

    Parameters
    ----------
    data
        The file, whose pages have been checked.
    metadata
        Its footer.
    name, kind
        Name and Arrow type of the column.
    """
    index = column_index(metadata.schema, name)
    if kind not in _OFFSETS or index is None:
        return None
    column = metadata.schema.column(index)
    if column.physical_type != "BYTE_ARRAY":
        return None
    is_nullable = column.max_definition_level == 1
    chunks = [metadata.row_group(group).column(index) for group in groups]
    try:
        return pa.chunked_array(
            [_decoded(data, chunk, kind, is_nullable=is_nullable) for chunk in chunks], kind
        )
    except (_OddPageError, PageError, pa.ArrowException, OSError):
        return None


def _decoded(data: FileBytes, chunk: Any, kind: pa.DataType, *, is_nullable: bool) -> pa.Array:
    """Decode a column chunk."""
    if chunk.compression not in _CODECS:
        raise _OddPageError
    codec = _CODECS[chunk.compression]
    words, pages = _pages(data, chunk, codec, is_nullable=is_nullable)
    nbytes = sum(page.nbytes for page in pages)
    offset_type = _OFFSETS[kind]
    if nbytes > np.iinfo(offset_type).max:
        raise _OddPageError
    starts = np.zeros(chunk.num_values + 1, offset_type)
    text = np.empty(nbytes + SLACK, np.uint8)
    at = end = 0
    for page in pages:
        count = page.header.num_values
        of_page = starts[at : at + count + 1]
        if page.numbers is None:
            content = _unpacked(page.header, page.payload, codec)
            first = _skip_levels(content, count) if is_nullable else 0
            end = read_strings(content, first, count, of_page, text)
        else:
            end = put_strings(page.numbers, *words, of_page, text)
        if end == DAMAGED:
            raise _OddPageError
        at += count
    buffers = [None, pa.py_buffer(starts), pa.py_buffer(text[:end])]
    return pa.Array.from_buffers(kind, chunk.num_values, buffers)


def _pages(
    data: FileBytes, chunk: Any, codec: str | None, *, is_nullable: bool
) -> tuple[_Words, list[_Page]]:
    """Pages of a column chunk, and its dictionary: of no words where it has none."""
    content = data.range(*extent(chunk))
    words = _Words(np.zeros(1, np.int64), np.empty(0, np.uint8))
    pages: list[_Page] = []
    at = seen = 0
    while seen < chunk.num_values:
        header = read_header(content, at)
        at += header.nbytes + header.payload_bytes
        payload = content[at - header.payload_bytes : at]
        if header.kind == DICTIONARY and header.encoding in (*_PLAIN, *_NUMBERED) and not pages:
            words = _words(header, _unpacked(header, payload, codec))
        elif header.kind != DATA:
            raise _OddPageError
        else:
            pages.append(_page(header, payload, words, codec, is_nullable=is_nullable))
            seen += header.num_values
    if seen != chunk.num_values:
        raise _OddPageError
    return words, pages


def _page(
    header: PageHeader, payload: memoryview, words: _Words, codec: str | None, *, is_nullable: bool
) -> _Page:
    if header.encoding in _PLAIN:
        return _Page(header, payload, None, header.unpacked_bytes)
    if header.encoding not in _NUMBERED:
        raise _OddPageError
    content = _unpacked(header, payload, codec)
    first = _skip_levels(content, header.num_values) if is_nullable else 0
    numbers = np.empty(header.num_values, np.int32)
    if read_numbers(content, first, words.starts.size - 1, numbers) == DAMAGED:
        raise _OddPageError
    return _Page(header, payload, numbers, total_length(numbers, words.starts))


def _words(header: PageHeader, content: Bytes) -> _Words:
    starts = np.zeros(header.num_values + 1, np.int64)
    data = np.empty(content.size + SLACK, np.uint8)
    if read_strings(content, 0, header.num_values, starts, data) == DAMAGED:
        raise _OddPageError
    return _Words(starts, data)


def _unpacked(header: PageHeader, payload: memoryview, codec: str | None) -> Bytes:
    """Bytes of a page, decompressed."""
    content: Any = payload
    if codec == "snappy" and _first_number(payload)[0] != header.unpacked_bytes:
        # It would be read, with anything after it.
        raise _OddPageError
    if codec is not None:
        content = pa.Codec(codec).decompress(payload, header.unpacked_bytes)
    # Of one type, so that a kernel is compiled once.
    found: Bytes = readonly(np.frombuffer(content, np.uint8))
    if found.size != header.unpacked_bytes:
        raise _OddPageError
    return found


def _skip_levels(content: Bytes, count: int) -> int:
    """Offset of the values in a page of a column that may have nulls, and has none."""
    if content.size < 4:
        raise _OddPageError
    end = 4 + int.from_bytes(content[:4].tobytes(), "little")
    levels = content[4:end].tobytes()
    # One run of so many ones, or more: where a writer makes several, Arrow reads them.
    header, at = _first_number(levels)
    if header & 1 or header >> 1 < count or at >= len(levels) or levels[at] != 1:
        raise _OddPageError
    return end


def _first_number(data: memoryview | bytes) -> tuple[int, int]:
    """The number at the beginning, in bytes of 7 bits, the lowest first, and where it ends."""
    number = 0
    for at, byte in enumerate(data[:5]):
        number |= (byte & 127) << 7 * at
        if byte < 128:
            return number, at + 1
    raise _OddPageError
