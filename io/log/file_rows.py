"""Rows that were read of a file of a log, whatever its form."""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from ..parquet.page_checks import ChunkSum
from ..text.wrong_lines import WrongLine


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
