"""One Parquet file of a log: its footer, its rows, its encodings.

The footer is read on its own, and metadata are made of it: one short read shows what a file holds
and whether it is still the same, on a local disk as in an object store. Rows are read from the
open file that the footer was read from, and all pages are checked (``page_checks.py``) before any
of them is used.
"""

import errno
import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...gpu_core.errors import UpdateLogError
from ..arrow_types import is_text
from ..log.columns.column_types import OP_BYTES
from ..log.file_errors import GoneFileError, UnreadableRowsError, UnusableFileError
from ..text.wrong_lines import WrongLine
from .file_bytes import FileBytes, bytes_of
from .footer_checks import FooterError, check_footer
from .page_checks import ChunkSum, PageError, check_chunk, read_header
from .plain_columns import column_index, plain_column

#: Cure for a file that is not as it was planned.
RESTORE = "put the file back as it was, or start over with another --state"

#: What a Parquet file begins with, and ends with.
PARQUET_BEGINS = b"PAR1"
#: Four bytes of footer length and the magic.
_TRAILER_BYTES = 8
#: Rows decoded at a time where a row group is much longer than what is asked for.
_PIECE_ROWS = 1 << 17
#: Read at the end of a file, and ahead in one that is not local: most footers need one request.
TAIL_BYTES = 1 << 16
#: Read of the first page to see whether it carries a checksum: that comes before its statistics.
_HEADER_BYTES = 1 << 12

#: Checksums of the chunks of local files that this process has checked. Several batches may be
#: views of one chunk, and a chunk is checked whole.
_checked: dict[tuple[Any, ...], ChunkSum] = {}
_MOST_CHECKED = 1 << 14


def read_footer(file: Any, shown: str) -> tuple[int, bytes]:
    """Size of an open file, and its footer without the trailer; refuses what is not Parquet."""
    try:
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL_BYTES))
        tail = file.read()
        footer_bytes = int.from_bytes(tail[-_TRAILER_BYTES:-4], "little")
        if tail[-4:] == PARQUET_BEGINS and len(tail) < footer_bytes + _TRAILER_BYTES <= size:
            file.seek(size - footer_bytes - _TRAILER_BYTES)
            tail = file.read()
        file.seek(0)
        head = file.read(4)
    except OSError as error:
        if error.errno == errno.ENOENT:
            # Some file systems open without looking.
            msg = f"{shown} is gone from the log; {RESTORE}"
            raise GoneFileError(msg) from None
        msg = f"{shown} cannot be read: {one_line(error)}"
        raise UpdateLogError(msg) from error
    if size == 0:
        msg = f"{shown} is empty; remove it, or write it again"
        raise UnusableFileError(msg)
    if head != PARQUET_BEGINS:
        msg = (
            f"{shown} is not a Parquet file, and text is known by its name (.csv, .tsv, .jsonl, "
            f".ndjson, .json); move it out of the log, rename it, or make a log of an edge list "
            f"with graphtide import"
        )
        raise UnusableFileError(msg)
    if tail[-4:] != PARQUET_BEGINS or footer_bytes + _TRAILER_BYTES + 4 > size:
        msg = (
            f"{shown} is cut short, or still being written; copy it again, and write files of a "
            f"log under a name ending in .tmp until they are whole"
        )
        raise UnusableFileError(msg)
    return size, tail[len(tail) - footer_bytes - _TRAILER_BYTES : -_TRAILER_BYTES]


def parse_footer(footer: bytes, shown: str) -> Any:
    """Metadata of a Parquet file, from its footer alone, which must have the checksum in it."""
    try:
        return _parsed(footer)
    except MemoryError:
        raise
    except pa.ArrowNotImplementedError as error:
        # Then it opens no file with such a column, whether that is needed or not.
        msg = (
            f"{shown} has a column of a type that Arrow does not read ({one_line(error)}); write "
            f"it as another one, such as Int64 of Polars for Int128, or leave it out"
        )
        raise UnusableFileError(msg) from error
    except (pa.ArrowException, OSError, ValueError, IndexError) as error:
        msg = f"{shown}: the Parquet footer is damaged ({one_line(error)}); copy the file again"
        raise UnusableFileError(msg) from error


@lru_cache(maxsize=16)
def _parsed(footer: bytes) -> Any:
    """Metadata of a footer; the batches of a file come one after the other."""
    check_footer(footer)
    length = len(footer).to_bytes(4, "little")
    metadata = pq.read_metadata(pa.BufferReader(PARQUET_BEGINS + footer + length + PARQUET_BEGINS))
    _check_names(metadata)
    return metadata


def _check_names(metadata: Any) -> None:
    """Compare the names of columns, which a footer holds once for each row group and once for all.

    A column of another name would not be missed where it may be absent, as ``op`` may.
    """
    metadata.schema.to_arrow_schema()
    for index in range(metadata.num_columns if metadata.num_row_groups else 0):
        of_group, of_all = metadata.row_group(0).column(index), metadata.schema.column(index)
        if of_group.path_in_schema != of_all.path:
            msg = f"it calls column {index} {of_all.path} and {of_group.path_in_schema}"
            raise FooterError(msg)


def fingerprint_of(size: int, footer: bytes) -> str:
    """Fingerprint of a file, by which a change is found: ``<size>-<SHA-256 of the footer>``."""
    return f"{size}-{hashlib.sha256(footer).hexdigest()}"


def has_checksums(file: Any, metadata: Any) -> bool:
    """Whether the first page of an open file carries a checksum; true where there is no page."""
    if metadata.num_rows == 0 or metadata.num_columns == 0:
        return True
    first = groups_of_rows(metadata, 0, 1)[0]
    start, _ = _extent(metadata.row_group(first).column(0))
    try:
        file.seek(start)
        return read_header(memoryview(file.read(_HEADER_BYTES))).crc is not None
    except (OSError, ValueError):
        # The page is read again when its rows are, which finds what is wrong with it.
        return False


@dataclass(frozen=True)
class ReadRows:
    """Rows of a file."""

    table: pa.Table
    #: Row group that holds any of them -> checksum of its chunks of the columns that are read.
    sums: dict[int, ChunkSum]
    #: How messages name a row of the table, where its rows are no run of one file.
    row_name: Callable[[int], str] | None = None
    #: Name of the file and position in it of a row of the table, likewise.
    origin: Callable[[int], tuple[str, int]] | None = None
    #: Lines of text that were asked for and are no rows: not in the table. Their rows and columns
    #: are those of the file.
    wrong: tuple[WrongLine, ...] = ()


class ParquetLogFile:
    """An open Parquet file of a log: what `log_files.LogFileReader` asks for.

    Parameters
    ----------
    file
        As `opened` gives it.
    shown
        Its name, for messages.
    names
        Columns that are read as a dictionary and numbers of it where they are text that is stored
        so.
    """

    form = "parquet"
    index = None

    def __init__(self, file: Any, shown: str, names: Collection[str] = ()) -> None:
        self._file, self._shown = file, shown
        self.size, self._footer = read_footer(file, shown)
        self._metadata = parse_footer(self._footer, shown)
        self.schema: pa.Schema = self._metadata.schema.to_arrow_schema()
        self.rows: int = self._metadata.num_rows
        fields = [field for field in self.schema if field.name in names]
        self._texts = frozenset(field.name for field in fields if is_text(field.type))

    @property
    def fingerprint(self) -> str:
        """Size and SHA-256 of the footer."""
        return fingerprint_of(self.size, self._footer)

    @cached_property
    def group_rows(self) -> tuple[int, ...]:
        """Rows of each row group."""
        count = self._metadata.num_row_groups
        return tuple(self._metadata.row_group(group).num_rows for group in range(count))

    @property
    def has_checksums(self) -> bool:
        """Whether the first page carries a checksum; true where there is no page."""
        return has_checksums(self._file, self._metadata)

    def read(self, names: list[str], first_row: int, rows: int) -> ReadRows:
        """Read columns of a run of rows, in one thread."""
        wide = [name for name in names if self._is_wide_time(name)]
        try:
            found = read_rows(self._file, self._metadata, names, first_row, rows, self._texts)
            coarse = _coarse_times(self._file, self._metadata, wide, first_row, rows)
        except MemoryError:
            raise
        except (pa.ArrowException, OSError, ValueError, IndexError) as error:
            what = f"{self._shown}: rows {first_row} to {first_row + rows - 1} cannot be read"
            if isinstance(error, OSError) and error.errno is not None:
                # A disk or a server does not give them: that may pass.
                msg = f"{what} ({one_line(error)}); run again when they can"
                raise UpdateLogError(msg) from error
            msg = f"{what} ({one_line(error)}); the file is damaged: copy it again"
            raise UnreadableRowsError(msg) from error
        for name in wide:
            self._refuse_wrapped(name, coarse[name], first_row)
        return found

    def _is_wide_time(self, name: str) -> bool:
        """Whether a column is of INT96, as Spark and Impala write timestamps by default."""
        index = column_index(self._metadata.schema, name)
        return index is not None and self._metadata.schema.column(index).physical_type == "INT96"

    def _refuse_wrapped(self, name: str, times: pa.ChunkedArray, first_row: int) -> None:
        """Refuse times that nanoseconds within int64 cannot say: Arrow gives others for them."""
        most = np.iinfo(np.int64).max // 1_000_000
        numbers = times.cast(pa.int64())
        wrong = pc.or_(pc.greater(numbers, most), pc.less(numbers, -most))
        row = pc.index(wrong, value=True).as_py()
        if row >= 0:
            msg = (
                f"{self._shown}, row {first_row + row}: {name} is {times[row].cast(pa.string())}, "
                f"but timestamps of INT96 are read from 1677 to 2262 alone; write them as INT64 "
                f"(Spark: spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS)"
            )
            raise UnreadableRowsError(msg)

    def bounds(
        self, names: Sequence[str], first_row: int, rows: int
    ) -> list[tuple[int, int] | None]:
        """As `bounds_of_rows`."""
        return bounds_of_rows(self._metadata, names, first_row, rows)


def read_rows(
    file: Any,
    metadata: Any,
    names: list[str],
    first_row: int,
    rows: int,
    dictionaries: Collection[str] = (),
) -> ReadRows:
    """Read rows of an open file whose metadata are at hand.

    Local files are memory-mapped; columns that need no decoding are views of them
    (``plain_columns.py``). Of those in ``dictionaries``, a value that stands in a row group once is
    read once, if all of them do.

    Raises
    ------
    PageError
        The footer contradicts itself, or a page is damaged.
    """
    data = bytes_of(file)
    groups = groups_of_rows(metadata, first_row, rows)
    sums: dict[int, ChunkSum] = {}
    starts = _group_starts(metadata)
    # In pieces, each of them would have its own dictionary.
    is_whole = bool(groups) and starts[groups[-1] + 1] - starts[groups[0]] <= 2 * rows
    numbered = set(dictionaries) if is_whole else set()
    if data.identity is None:
        data.fetch(_extents(metadata, groups, names))
    for group in groups:
        sums[group], of_group = _check_group(data, metadata, group, names)
        numbered &= of_group
    schema = metadata.schema.to_arrow_schema()
    columns = {
        name: plain_column(data, metadata, groups, name, schema.field(name).type) for name in names
    }
    before = first_row - starts[groups[0]] if groups else 0
    texts = [name for name in set(dictionaries) - numbered if name in columns] if is_whole else []
    if texts:
        # Imports Numba, which commands that read no rows go without.
        from .text_columns import text_column

        for name in texts:
            kind = schema.field(name).type
            columns[name] = text_column(data, metadata, groups, name, kind)
    others = [name for name, column in columns.items() if column is None]
    if others:
        with pq.ParquetFile(
            data.arrow_file(), metadata=metadata, read_dictionary=list(numbered)
        ) as parquet:
            decoded = _decoded_rows(parquet, others, first_row, rows, is_whole=is_whole)
    table = pa.table(
        {
            name: decoded[name] if column is None else column.slice(before, rows)
            for name, column in columns.items()
        }
    )
    return ReadRows(table, sums)


def _coarse_times(
    file: Any, metadata: Any, names: list[str], first_row: int, rows: int
) -> Mapping[str, pa.ChunkedArray]:
    """Columns of INT96 in milliseconds, which have room for all years."""
    if not names:
        return {}
    with pq.ParquetFile(
        bytes_of(file).arrow_file(), metadata=metadata, coerce_int96_timestamp_unit="ms"
    ) as parquet:
        table = _decoded_rows(parquet, names, first_row, rows, is_whole=False)
    return {name: table[name] for name in names}


def _check_group(
    data: FileBytes, metadata: Any, group: int, names: Sequence[str]
) -> tuple[ChunkSum, set[str]]:
    """Check some columns of a row group; the checksum depends on their order.

    Returns the checksum, and which of them are stored as numbers of a dictionary.
    """
    chunks = metadata.row_group(group)
    end, crc, has_checksums = 0, 0, True
    indexes = {name: column_index(metadata.schema, name) for name in names}
    for start, length, name in sorted((*_extent(chunks.column(indexes[n])), n) for n in names):
        chunk = chunks.column(indexes[name])
        if (
            chunk.path_in_schema != name
            or chunk.num_values != chunks.num_rows
            or not end <= start <= start + length <= data.nbytes
        ):
            msg = f"what the footer says of column {name} in row group {group} cannot be"
            raise PageError(msg)
        end = start + length
    numbered: set[str] = set()
    for name in names:
        try:
            found = _check_chunk(data, chunks.column(indexes[name]))
        except PageError as error:
            msg = f"column {name}, row group {group}: {error}"
            raise PageError(msg) from error
        crc = crc32(found.crc.to_bytes(4, "little"), crc)
        has_checksums &= found.has_checksums
        if found.is_numbered:
            numbered.add(name)
    return ChunkSum(crc, has_checksums), numbered


def _check_chunk(data: FileBytes, chunk: Any) -> ChunkSum:
    start, length = _extent(chunk)
    key = (data.identity, start, length, chunk.num_values, chunk.encodings)
    found = _checked.get(key)
    if found is None:
        data.will_need(start, length)
        found = check_chunk(data.range(start, length), chunk.num_values, chunk.encodings)
        if data.identity is not None:
            if len(_checked) >= _MOST_CHECKED:
                _checked.clear()
            _checked[key] = found
    return found


def _extent(chunk: Any) -> tuple[int, int]:
    """First byte of a column chunk, and its bytes; a dictionary comes before all other pages."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    return start, chunk.total_compressed_size


def _extents(metadata: Any, groups: Sequence[int], names: Sequence[str]) -> list[tuple[int, int]]:
    """First byte and bytes of some column chunks."""
    indexes = [
        index for name in names if (index := column_index(metadata.schema, name)) is not None
    ]
    return [_extent(metadata.row_group(group).column(each)) for group in groups for each in indexes]


def _decoded_rows(
    file: Any, names: list[str], first_row: int, rows: int, *, is_whole: bool
) -> pa.Table:
    """Read rows from the row groups that hold them, and drop the rows around them.

    Parquet is decoded from the start of a row group, so a batch within a long one costs what lies
    before it too; what lies after it is left out, and neither is held: unless ``is_whole``, where
    that is not much.
    """
    starts = _group_starts(file.metadata)
    end = first_row + rows
    groups = groups_of_rows(file.metadata, first_row, rows)
    if not groups:
        return file.schema_arrow.empty_table().select(names)
    start = starts[groups[0]]
    if is_whole:
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
    """Bounds of columns in the row groups of some rows, by the file's statistics.

    Null is no number. None: the file does not say it of each of these groups. Not checked here: the
    file may be wrong.
    """
    groups = [metadata.row_group(group) for group in groups_of_rows(metadata, first_row, rows)]
    bounds: list[tuple[int, int] | None] = []
    for name in names:
        index = column_index(metadata.schema, name)
        statistics = [group.column(index).statistics for group in groups]
        if statistics and all(each is not None and each.has_min_max for each in statistics):
            bounds.append(
                (min(each.min for each in statistics), max(each.max for each in statistics))
            )
        else:
            bounds.append(None)
    return bounds


def groups_of_rows(metadata: Any, first_row: int, rows: int) -> list[int]:
    """Row groups that hold any of these rows."""
    return groups_of_run(_group_starts(metadata), first_row, rows)


def groups_of_run(group_starts: Sequence[int], first_row: int, rows: int) -> list[int]:
    """The same, from the first row of each row group, and the number of rows at the end.

    A row group without rows holds none of them; what the footer says of its pages is not looked at.
    """
    if rows == 0:
        return []
    first = bisect_right(group_starts, first_row) - 1
    last = bisect_left(group_starts, first_row + rows)
    return [each for each in range(first, last) if group_starts[each] < group_starts[each + 1]]


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
