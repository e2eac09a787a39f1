"""Writing a Parquet file in several threads, with checksums of every byte.

pyarrow encodes a file in one thread. Here each row group is encoded as a file of its own in memory,
several at once, and their pages are written one group after the other. The footer begins as that of
a file without rows; it gets the entry of each row group, with the positions of its pages moved to
where they are now. So the bytes do not depend on the number of threads.

Source of the fields: the Parquet format's ``parquet.thrift``.
"""

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from isal.isal_zlib import crc32

from .footer_checks import TRAILER_BYTES, metadata_for, with_digest
from .thrift import changed, field_spans, number_bytes, structures_bytes

_MAGIC = b"PAR1"

#: Fields of a footer.
_ROWS, _ROW_GROUPS = 3, 4
#: Fields of a row group that lead to positions in the file; and its number.
_CHUNK, _CHUNK_METADATA = 1, 3
_POSITIONS = [
    (_CHUNK, 2),
    *((_CHUNK, _CHUNK_METADATA, page) for page in (9, 10, 11)),  # first of data, index, dictionary
    (5,),
]
_ORDINAL = (7,)

#: More would take processors from those that read and apply updates meanwhile.
_MOST_THREADS = 8
#: Rows of a row group, where the caller does not say.
ROW_GROUP_ROWS = 1 << 18


def write_file(
    path: Path, table: pa.Table, row_group_rows: int = ROW_GROUP_ROWS, **arguments: Any
) -> None:
    """Write a table; ``arguments``: of `pyarrow.parquet.ParquetWriter`, but no page index."""
    with path.open("wb") as file, file_writer(file, table.schema, **arguments) as writer:
        writer.write(table, row_group_rows)


@contextmanager
def file_writer(file: Any, schema: pa.Schema, **arguments: Any) -> Iterator["FileWriter"]:
    """A writer of tables of one schema to an open file, which gets its footer at the end.

    ``arguments``: as for `write_file`.
    """
    threads = max(1, min(_MOST_THREADS, len(os.sched_getaffinity(0)) // 2))
    with ThreadPoolExecutor(threads, "graphtide-parquet") as pool:
        writer = FileWriter(file, schema, arguments, pool, 2 * threads)
        try:
            yield writer
            writer.end()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


class FileWriter:
    """Writes row groups and the footer; see `file_writer`, which makes it.

    Parameters
    ----------
    file, schema, arguments
        As there.
    pool
        Threads that encode.
    most_waiting
        Encoded row groups, and such in the making, that are held in memory.
    """

    def __init__(
        self,
        file: Any,
        schema: pa.Schema,
        arguments: dict[str, Any],
        pool: ThreadPoolExecutor,
        most_waiting: int,
    ) -> None:
        self._file, self._schema, self._arguments = file, schema, arguments
        self._pool, self._most_waiting = pool, most_waiting
        self._encoding: deque[Future[memoryview]] = deque()
        #: What the footer will say of the row groups that are written.
        self._groups: list[bytes] = []
        self._rows = self._position = self._crc = 0
        self._put(_MAGIC)

    def write(self, table: pa.Table, row_group_rows: int = ROW_GROUP_ROWS) -> None:
        """Write a table in row groups of so many rows; the last one has what is left.

        As pyarrow does, one of an empty table is empty: some readers need one.
        """
        self._rows += len(table)
        for first in range(0, max(1, len(table)), row_group_rows):
            rows = table.slice(first, row_group_rows)
            self._encoding.append(
                self._pool.submit(_encoded, self._schema, self._arguments, rows, {})
            )
            while len(self._encoding) > self._most_waiting:
                self._write_group()

    def end(self) -> None:
        """Write what is left, and the footer."""
        while self._encoding:
            self._write_group()
        metadata = metadata_for(self._crc)
        footer = _footer(_encoded(self._schema, self._arguments, None, metadata))
        spans = field_spans(footer)
        changes = {
            spans[_ROWS]: number_bytes(self._rows),
            spans[_ROW_GROUPS]: structures_bytes(self._groups),
        }
        whole = with_digest(_replaced(footer, changes))
        self._file.write(whole + len(whole).to_bytes(4, "little") + _MAGIC)

    def _write_group(self) -> None:
        """Write the first of the row groups that are being encoded."""
        content = self._encoding.popleft().result()
        footer = _footer(content)
        begin, end = field_spans(footer)[_ROW_GROUPS]
        # The list of groups has one, behind a byte with its length.
        shift, number = self._position - len(_MAGIC), len(self._groups)
        changes = dict.fromkeys(_POSITIONS, lambda at: at + shift if at else 0)
        group = changed(footer[begin + 1 : end], {**changes, _ORDINAL: lambda _: number})
        self._groups.append(group)
        self._put(content[len(_MAGIC) : len(content) - len(footer) - TRAILER_BYTES])

    def _put(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self._crc = crc32(data, self._crc)
        self._position += len(data)


def _encoded(
    schema: pa.Schema, arguments: dict[str, Any], rows: pa.Table | None, metadata: dict[str, str]
) -> memoryview:
    """A file with the rows as its only row group, or with none."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, schema, **arguments) as writer:
        if rows is not None:
            writer.write_table(rows, row_group_size=max(1, len(rows)))
        if metadata:
            writer.add_key_value_metadata(metadata)
    return memoryview(sink.getvalue()).cast("B")


def _footer(content: memoryview) -> memoryview:
    """The footer of a file, without its length."""
    nbytes = int.from_bytes(content[-TRAILER_BYTES:-4], "little")
    return content[-TRAILER_BYTES - nbytes : -TRAILER_BYTES]


def _replaced(data: memoryview, changes: dict[tuple[int, int], bytes]) -> bytes:
    """Bytes with others in the place of some spans."""
    pieces: list[bytes | memoryview] = []
    at = 0
    for (begin, end), new in sorted(changes.items()):
        pieces += data[at:begin], new
        at = end
    return b"".join([*pieces, data[at:]])
