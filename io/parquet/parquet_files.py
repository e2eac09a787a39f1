"""One Parquet file of a log: its rows, all pages of which are checked before any is used.

Rows are read from the open file that the footer was read from: one short read shows what a file
holds and whether it is still the same, on a local disk as in an object store.

Not here: the footer (``footers.py``), row groups by what it says (``row_groups.py``), and checksums
of pages (``page_checks.py``).
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...gpu_core.errors import UpdateLogError
from ..arrow_types import is_text
from ..error_text import one_line
from ..log.file_errors import UnreadableRowsError
from ..log.file_rows import ReadRows
from .file_bytes import FileBytes, bytes_of
from .footers import fingerprint_of, parse_footer, read_footer
from .page_checks import ChunkSum, PageError, check_chunk, read_header
from .plain_columns import plain_column
from .row_groups import (
    bounds_of_rows,
    column_index,
    extent,
    extents,
    group_starts,
    groups_of_rows,
)

#: Rows decoded at a time where a row group is much longer than what is asked for.
_PIECE_ROWS = 1 << 17
#: Read of the first page to see whether it carries a checksum: that comes before its statistics.
_HEADER_BYTES = 1 << 12

#: Checksums of the chunks of local files that this process has checked. Several batches may be
#: views of one chunk, and a chunk is checked whole.
_checked: dict[tuple[Any, ...], ChunkSum] = {}
_MOST_CHECKED = 1 << 14


def has_checksums(file: Any, metadata: Any) -> bool:
    """Whether the first page of an open file carries a checksum; true where there is no page."""
    if metadata.num_rows == 0 or metadata.num_columns == 0:
        return True
    first = groups_of_rows(metadata, 0, 1)[0]
    start, _ = extent(metadata.row_group(first).column(0))
    try:
        file.seek(start)
        return read_header(memoryview(file.read(_HEADER_BYTES))).crc is not None
    except (OSError, ValueError):
        # The page is read again when its rows are, which finds what is wrong with it.
        return False


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

    def __init__(self, file: Any, shown: str, names: Collection[str]) -> None:
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
    dictionaries: Collection[str],
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
    starts = group_starts(metadata)
    # In pieces, each of them would have its own dictionary.
    is_whole = bool(groups) and starts[groups[-1] + 1] - starts[groups[0]] <= 2 * rows
    numbered = set(dictionaries) if is_whole else set()
    if data.identity is None:
        data.fetch(extents(metadata, groups, names))
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
    for start, length, name in sorted((*extent(chunks.column(indexes[n])), n) for n in names):
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
    start, length = extent(chunk)
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


def _decoded_rows(
    file: Any, names: list[str], first_row: int, rows: int, *, is_whole: bool
) -> pa.Table:
    """Read rows from the row groups that hold them, and drop the rows around them.

    Parquet is decoded from the start of a row group, so a batch within a long one costs what lies
    before it too; what lies after it is left out, and neither is held: unless ``is_whole``, where
    that is not much.
    """
    starts = group_starts(file.metadata)
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
