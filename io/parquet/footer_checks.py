"""Checks of a Parquet footer, and of a whole file: against checksums, or else for consistency.

The format has no checksum for footers. Those of our own files (``file_writer.py``) carry one, in
two entries of their metadata: ``graphtide.data``, the CRC-32 of all bytes before the footer, so
that files with other rows have other footers; and ``graphtide.footer``, the SHA-256 of the footer,
in which that value itself is written as zeros. So both together cover every byte. In a footer
without one, what it says twice is compared: Arrow would end the process where that differs.

Not here: checksums of pages (``page_checks.py``); what a plan knows a file by (``footers.py``).
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from isal.isal_zlib import crc32

from .thrift import ThriftError, read_structure

#: Keys of a checked file's metadata.
DATA_KEY, FOOTER_KEY = "graphtide.data", "graphtide.footer"
_NO_DIGEST = "0" * 64

#: The entries as they lie in a footer: in Thrift's compact form, a text follows its length.
_DATA_ENTRY = re.compile(DATA_KEY.encode() + b"\x18\x08([0-9a-f]{8})")
_ENTRY = re.compile(FOOTER_KEY.encode() + b"\x18\x40([0-9a-f]{64})")

#: Fields of a footer, of an element of its schema, of a row group, and of a column chunk.
_SCHEMA, _ROWS, _ROW_GROUPS = 2, 3, 4
_KIND, _REPETITION, _CHILDREN = 1, 3, 5
_CHUNKS, _GROUP_ROWS, _CHUNK_METADATA = 1, 3, 3
_CODEC, _SIZES, _REPETITIONS, _DEFINITIONS = 4, 16, 2, 3
_STATISTICS, _BOUNDS = 12, (1, 2, 5, 6)
_REQUIRED, _REPEATED = 0, 2
#: Bytes of values of the types that have a fixed size.
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}
#: Number of the newest compression.
_MOST_CODEC = 7

#: Four bytes of footer length and the magic.
TRAILER_BYTES = 8
_MAGIC = b"PAR1"


class FooterError(ValueError):
    """A file or footer is not as its checksum says, or a footer contradicts itself."""


def check_footer(footer: bytes) -> None:
    """Raise `FooterError` where a footer, given without its length, is known to be damaged."""
    entry = _ENTRY.search(footer)
    if entry is None and DATA_KEY.encode() not in footer:
        try:
            _check_chunks(read_structure(memoryview(footer))[0])
        except (LookupError, TypeError, AttributeError, RecursionError, ThriftError) as error:
            msg = f"it cannot be read: {error}"
            raise FooterError(msg) from error
    elif entry is None or _digest(footer, entry) != entry[1].decode():
        msg = "it does not have the checksum that is written in it"
        raise FooterError(msg)


def check_file(file: memoryview) -> None:
    """Raise `FooterError` where a whole file is known to be damaged.

    Every byte of a checked file is covered; of another one, the footer alone.
    """
    size = int.from_bytes(file[-TRAILER_BYTES:-4], "little") + TRAILER_BYTES
    if file[-4:] != _MAGIC or size > len(file):
        msg = "it cannot be read: it is no Parquet file, or not all of one"
        raise FooterError(msg)
    footer = bytes(file[-size:-TRAILER_BYTES])
    try:
        check_footer(footer)
    except FooterError as error:
        msg = f"its footer is damaged: {error}"
        raise FooterError(msg) from None
    entry = _DATA_ENTRY.search(footer)
    if entry is not None and int(entry[1], 16) != crc32(file[:-size]):
        msg = "its rows do not have the checksum that they were written with"
        raise FooterError(msg)


def metadata_for(data_crc: int) -> dict[str, str]:
    """Entries of a checked file's metadata: CRC-32 of all before the footer, and room for its own.

    `with_digest` fills that in.
    """
    return {DATA_KEY: f"{data_crc:08x}", FOOTER_KEY: _NO_DIGEST}


def with_digest(footer: bytes) -> bytes:
    """A footer that has the entries of `metadata_for`, with its checksum."""
    entry = _ENTRY.search(footer)
    assert entry is not None, "the footer has not the entries of metadata_for"
    begin, end = entry.span(1)
    return footer[:begin] + _digest(footer, entry).encode() + footer[end:]


def _check_chunks(footer: dict[int, Any]) -> None:
    """Compare what a footer says of each column chunk with its schema."""
    elements = iter(footer[_SCHEMA])
    root: dict[int, Any] = next(elements, {})
    columns = _columns(elements, root[_CHILDREN], 0, 0)
    rows = sum(group[_GROUP_ROWS] for group in footer[_ROW_GROUPS])
    if rows != footer[_ROWS]:
        msg = f"it says {footer[_ROWS]} rows, and {rows} in all row groups"
        raise FooterError(msg)
    for number, group in enumerate(footer[_ROW_GROUPS]):
        chunks = [chunk[_CHUNK_METADATA] for chunk in group[_CHUNKS]]
        if len(chunks) != len(columns):
            msg = f"row group {number} has {len(chunks)} columns of {len(columns)}"
            raise FooterError(msg)
        for chunk, (kind, repetitions, definitions) in zip(chunks, columns, strict=True):
            sizes, statistics = chunk.get(_SIZES, {}), chunk.get(_STATISTICS, {})
            bounds = {len(statistics[each]) for each in _BOUNDS if each in statistics}
            if (
                chunk[_KIND] != kind
                or not 0 <= chunk[_CODEC] <= _MOST_CODEC
                or (kind in _WIDTHS and not bounds <= {_WIDTHS[kind]})
                or len(sizes.get(_REPETITIONS, ())) not in (0, repetitions + 1)
                or len(sizes.get(_DEFINITIONS, ())) not in (0, definitions + 1)
            ):
                msg = f"what it says of a column of row group {number} contradicts its schema"
                raise FooterError(msg)


def _columns(
    elements: Iterator[dict[int, Any]], children: int, repetitions: int, definitions: int
) -> list[tuple[int, int, int]]:
    """Type and largest levels of each column below an element of the schema."""
    columns = []
    for _ in range(children):
        element = next(elements, None)
        if element is None:
            msg = "the schema has fewer columns than it says"
            raise FooterError(msg)
        kind = element.get(_REPETITION, _REQUIRED)
        if not _REQUIRED <= kind <= _REPEATED:
            msg = f"the schema has a column of an unknown repetition, {kind}"
            raise FooterError(msg)
        levels = repetitions + (kind == _REPEATED), definitions + (kind != _REQUIRED)
        if element.get(_CHILDREN):
            columns += _columns(elements, element[_CHILDREN], *levels)
        else:
            columns.append((element[_KIND], *levels))
    return columns


def _digest(footer: bytes, entry: re.Match[bytes]) -> str:
    begin, end = entry.span(1)
    zeros = _NO_DIGEST.encode()
    return hashlib.sha256(footer[:begin] + zeros + footer[end:]).hexdigest()
