"""Writing a file of an update log in the encodings that read fastest.

Source: our measurements on one core, 1 M rows of uniform ids: DELTA_BINARY_PACKED and nothing else
takes 5.7 bytes and 5.8 ns a row; with zstd over it 5.5 bytes and 8.9 ns; zstd alone three times as
long. Ids of 32 bits: 5.8 bytes and 11.3 ns a row by differences, 8.4 bytes and 6.7 ns plain, in 14
processes side by side (Sapphire Rapids). Marks of nulls, where there are none, add 6 ns there.
Plain ids and ops of bytes take 9 bytes a row, and 0.1 ns as views (``plain_columns.py``).
"""

from collections.abc import Iterable, Iterator
from inspect import signature
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ...gpu_core.errors import UpdateLogError
from ..file_systems import is_local_address, new_file_at
from ..parquet.encodings import fast_encodings
from ..parquet.file_writer import file_writer
from .columns.column_types import OP_BYTES

#: Rows of a row group: divides the usual batches, and is long enough to read fast.
ROW_GROUP_ROWS = 250_000
#: The same of a local file that is not decoded, where a batch is a view if it lies in one group.
_PLAIN_GROUP_ROWS = 4_000_000
#: Arguments of ``ParquetWriter`` for pages as long as a row group: each has a header, which is read
#: and checked. With pages of 20,000 rows, as Arrow writes them, six columns took a fourth longer to
#: read (25.3 and 19.8 ns a row). Versions that do not know the number of rows have no such limit.
_ONE_PAGE = {"data_page_size": 1 << 26}
if "max_rows_per_page" in signature(pq.ParquetWriter).parameters:
    _ONE_PAGE["max_rows_per_page"] = _PLAIN_GROUP_ROWS


def write_log_file(
    path: str, table: pa.Table | Iterable[pa.Table], row_group_rows: int | None = None
) -> None:
    """Write a file of an update log in the encodings that read fastest.

    The file is there when it is whole, see `new_file_at`. Its pages and its footer carry checksums.

    Parameters
    ----------
    path
        A local path or any fsspec URL.
    table
        Columns as ``columns/schema.py`` knows them; or tables of one schema, to be written in turn.
    row_group_rows
        Rows of a row group, at most; None: as many as suit how the file will be read.
    """
    tables = iter([table] if isinstance(table, pa.Table) else table)
    plain_group_rows = _PLAIN_GROUP_ROWS if is_local_address(path) else ROW_GROUP_ROWS
    with new_file_at(path, UpdateLogError) as temporary, temporary.open("wb") as file:
        _write_tables(file, tables, row_group_rows, plain_group_rows)


def _write_tables(
    file: Any, tables: Iterator[pa.Table], row_group_rows: int | None, plain_group_rows: int
) -> None:
    """Write tables in turn; ``plain_group_rows``: of a row group, if all columns are plain."""
    first = next(tables)
    is_plain = _is_plain(first.schema)
    arguments = _encodings(first.schema) | _ONE_PAGE
    if row_group_rows is None:
        row_group_rows = plain_group_rows if is_plain else ROW_GROUP_ROWS
    with file_writer(file, first.schema, write_page_checksum=True, **arguments) as writer:
        for table in _whole_groups(chain([first], tables), row_group_rows):
            writer.write(table, row_group_rows)


def _whole_groups(tables: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
    """Join tables, and cut them, to multiples of ``rows`` rows; the last one is what is left."""
    waiting = next(tables)
    for table in tables:
        whole = waiting.num_rows // rows * rows
        if whole:
            yield waiting.slice(0, whole)
        waiting = pa.concat_tables([waiting.slice(whole), table])
    yield waiting


def _encodings(schema: pa.Schema) -> dict[str, Any]:
    """Arguments of ``ParquetWriter``: ids of 32 bits are stored as they are."""
    encodings = fast_encodings(schema)
    for column in schema:
        if _has_narrow_ids(column):
            encodings["column_encoding"][column.name] = "PLAIN"
    return encodings


def _has_narrow_ids(column: pa.Field) -> bool:
    return column.name in ("src", "dst") and column.type in (pa.int32(), pa.uint32())


def _is_plain(schema: pa.Schema) -> bool:
    """Whether no column is encoded, compressed, or marks nulls: then all are read as views."""
    return not any(
        column.nullable or not (_has_narrow_ids(column) or column.type == OP_BYTES)
        for column in schema
    )
