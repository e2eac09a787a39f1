"""One Parquet file of a log: its footer, its rows, its encodings.

The footer is read on its own, and metadata are made of it: one short read tells what a file holds
and whether it is still the same, on a local disk as in an object store.
"""

import hashlib
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

from ..gpu_core.errors import UpdateLogError
from .plain_columns import place_of, plain_column
from .schema import OP_BYTES

#: Cure for a file that is not as it was planned.
RESTORE = "put the file back as it was, or start anew with another --state"

_MAGIC = b"PAR1"
#: Four bytes of footer length and the magic.
_TRAILER_BYTES = 8
#: Rows decoded at a time where a row group is much longer than what is asked for.
_PIECE_ROWS = 1 << 17
#: Read at the end of a remote file, so that most footers need one request.
_TAIL_BYTES = 1 << 16


def read_footer(filesystem: Any, path: str, shown: str) -> tuple[int, bytes]:
    """Size of a file, and its footer without the trailer; refuses what is no Parquet file."""
    try:
        with filesystem.open(path, "rb", block_size=_TAIL_BYTES) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            tail = file.read()
            footer_bytes = int.from_bytes(tail[-_TRAILER_BYTES:-4], "little")
            if tail[-4:] == _MAGIC and len(tail) < footer_bytes + _TRAILER_BYTES <= size:
                file.seek(size - footer_bytes - _TRAILER_BYTES)
                tail = file.read()
            file.seek(0)
            head = file.read(4)
    except FileNotFoundError:
        msg = f"{shown} is gone from the log; {RESTORE}"
        raise UpdateLogError(msg) from None
    except OSError as error:
        msg = f"{shown} cannot be read: {one_line(error)}"
        raise UpdateLogError(msg) from error
    if size == 0:
        msg = f"{shown} is empty; remove it, or write it again"
        raise UpdateLogError(msg)
    if head != _MAGIC:
        msg = f"{shown} is not a Parquet file; move it out of the log, or write it as Parquet"
        raise UpdateLogError(msg)
    if tail[-4:] != _MAGIC or footer_bytes + _TRAILER_BYTES + 4 > size:
        msg = (
            f"{shown} is cut short, or still being written; copy it again, and write files of a "
            f"log under a name ending in .tmp until they are whole"
        )
        raise UpdateLogError(msg)
    return size, tail[len(tail) - footer_bytes - _TRAILER_BYTES : -_TRAILER_BYTES]


def parse_footer(footer: bytes, shown: str) -> Any:
    """Metadata of a Parquet file, from its footer alone."""
    length = len(footer).to_bytes(4, "little")
    try:
        return pq.read_metadata(pa.BufferReader(_MAGIC + footer + length + _MAGIC))
    except (pa.ArrowException, OSError) as error:
        msg = f"{shown}: the Parquet footer is damaged ({one_line(error)}); copy the file again"
        raise UpdateLogError(msg) from error


def fingerprint_of(size: int, footer: bytes) -> str:
    """What tells a file from a changed one: ``<size>-<SHA-256 of the footer>``."""
    return f"{size}-{hashlib.sha256(footer).hexdigest()}"


def read_rows(
    filesystem: Any, path: str, metadata: Any, names: list[str], first_row: int, rows: int
) -> pa.Table:
    """Read rows of a file whose metadata are at hand.

    Local files are memory-mapped; columns that need no decoding are views of them
    (``plain_columns.py``).
    """
    if not isinstance(filesystem, LocalFileSystem):
        with pq.ParquetFile(
            filesystem.open(path, "rb"), metadata=metadata, pre_buffer=True
        ) as file:
            return _decoded_rows(file, names, first_row, rows)
    mapped = pa.memory_map(path)
    groups = groups_of_rows(metadata, first_row, rows)
    schema = metadata.schema.to_arrow_schema()
    columns = {
        name: plain_column(mapped, metadata, groups, name, schema.field(name).type)
        for name in names
    }
    before = first_row - _group_starts(metadata)[groups[0]] if groups else 0
    others = [name for name, column in columns.items() if column is None]
    if others:
        with pq.ParquetFile(mapped, metadata=metadata) as file:
            decoded = _decoded_rows(file, others, first_row, rows)
    return pa.table(
        {
            name: decoded[name] if column is None else column.slice(before, rows)
            for name, column in columns.items()
        }
    )


def _decoded_rows(file: Any, names: list[str], first_row: int, rows: int) -> pa.Table:
    """Read rows from the row groups that hold them, and drop the rows around them.

    Parquet is decoded from the start of a row group, so a batch within a long one costs what lies
    before it too; what lies behind it is left out, and neither is held.
    """
    starts = _group_starts(file.metadata)
    end = first_row + rows
    groups = groups_of_rows(file.metadata, first_row, rows)
    if not groups:
        return file.schema_arrow.empty_table().select(names)
    start = starts[groups[0]]
    if starts[groups[-1] + 1] - start <= 2 * rows:
        table = file.read_row_groups(groups, columns=names, use_threads=False)
        return table.slice(first_row - start, rows).select(names)
    pieces = []
    for piece in file.iter_batches(
        _PIECE_ROWS, row_groups=groups, columns=names, use_threads=False
    ):
        skipped = max(0, first_row - start)
        if skipped < piece.num_rows:
            pieces.append(piece.slice(skipped, end - start - skipped))
        start += piece.num_rows
        if start >= end:
            break
    return pa.Table.from_batches(pieces).select(names)


def bounds_of_rows(
    metadata: Any, names: Sequence[str], first_row: int, rows: int
) -> list[tuple[int, int] | None]:
    """What no number of columns lies beyond, in the row groups of some rows, as the file says.

    Null is no number. None: the file does not say it of each of these groups. Not checked here: the
    file may be wrong.
    """
    groups = [metadata.row_group(group) for group in groups_of_rows(metadata, first_row, rows)]
    bounds: list[tuple[int, int] | None] = []
    for name in names:
        place = place_of(metadata.schema, name)
        said = [group.column(place).statistics for group in groups]
        if said and all(each is not None and each.has_min_max for each in said):
            bounds.append((min(each.min for each in said), max(each.max for each in said)))
        else:
            bounds.append(None)
    return bounds


def groups_of_rows(metadata: Any, first_row: int, rows: int) -> list[int]:
    """Row groups that hold any of these rows."""
    starts = _group_starts(metadata)
    return [
        group
        for group in range(metadata.num_row_groups)
        if starts[group] < first_row + rows and starts[group + 1] > first_row
    ]


def _group_starts(metadata: Any) -> list[int]:
    """First row of each row group, and the number of rows."""
    sizes = (metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
    return [0, *accumulate(sizes)]


def fast_encodings(schema: pa.Schema) -> dict[str, Any]:
    """Arguments of ``ParquetWriter`` for columns of ids, ops, counts, times and properties.

    Whole numbers are packed by their differences and not compressed: of ids in no order zstd takes
    no byte (2.66 of 8 stay either way), and undoing it took a third of the time of reading. Of a
    checkpoint it takes 3 %, and doubles the time of reading. Nor are single bytes compressed.
    """
    encodings, compressions = {}, {}
    for column in schema:
        kind = column.type
        is_whole = pa.types.is_integer(kind) or pa.types.is_timestamp(kind)
        encodings[column.name] = "DELTA_BINARY_PACKED" if is_whole else "PLAIN"
        compressions[column.name] = "none" if is_whole or kind == OP_BYTES else "zstd"
    return {
        "compression": compressions,
        "use_dictionary": False,
        "column_encoding": encodings,
        "write_statistics": True,
    }


def one_line(error: BaseException) -> str:
    """An error's text as part of a sentence."""
    return " ".join(str(error).split()) or type(error).__name__
