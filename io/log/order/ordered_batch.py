"""One batch of rows in the order of a column: what is read, checked and sorted on a worker.

Which rows these are: ``row_order.py``.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ....gpu_core.errors import UpdateLogError
from ...parquet.page_checks import ChunkSum
from ..file_rows import ReadRows
from ..update_log import ORDER_KEY, UpdateLog
from .joined_tables import joined


@dataclass(frozen=True)
class KeyedGroup:
    """A row group, with the values of the column that gives the order."""

    file: str
    fingerprint: str
    #: In the file.
    first_row: int
    rows: int
    low: int
    high: int
    #: Highest value before it in the log; its own lowest one where it is the first.
    before: int


@dataclass(frozen=True)
class OrderedBatch:
    """Source of one batch: pickles in a few bytes."""

    column: str
    #: By how much a row may be late.
    within: int
    #: Runs of rows in the order of the log; ``low`` and ``high`` are not used.
    pieces: tuple[KeyedGroup, ...]
    #: Ordered rows of the pieces that come before the batch, and rows of the batch.
    skip: int
    rows: int

    def runs(self) -> list[tuple[str, int, int]]:
        """``(file, first row, rows)`` of what is read, a run a file."""
        ends: dict[str, tuple[int, int]] = {}
        for piece in self.pieces:
            first, end = ends.get(piece.file, (piece.first_row, 0))
            ends[piece.file] = min(first, piece.first_row), max(end, piece.first_row + piece.rows)
        return [(file, first, end - first) for file, (first, end) in ends.items()]

    def read(self, log: UpdateLog, file: str, known: Mapping[int, int] | None = None) -> ReadRows:
        """Read, check and sort the rows; ``known`` and the checksums are of ``file`` alone.

        Raises
        ------
        UpdateLogError
            A row has no value, or is late by more than the bound; or as of `read_checked`.
        """
        tables: list[pa.Table] = []
        keys: list[npt.NDArray[np.int64]] = []
        sums: dict[int, ChunkSum] = {}
        for piece in self.pieces:
            is_own = piece.file == file
            found = log.read_checked(
                piece.file, piece.first_row, piece.rows, piece.fingerprint,
                known if is_own else None, key=self.column,
            )  # fmt: skip
            shown = log.shown(piece.file)
            keys.append(keys_of(found.table[ORDER_KEY], self.column, shown, piece.first_row))
            _check_order(keys[-1], piece, self.column, self.within, shown)
            tables.append(found.table.drop_columns([ORDER_KEY]))
            sums.update(found.sums if is_own else {})
        try:
            table = joined(tables, log.operations)
        except (pa.ArrowException, ValueError) as error:
            names = ", ".join(log.shown(piece.file) for piece in self.pieces)
            msg = f"{names} cannot be sorted together: {error}; write their columns alike"
            raise UpdateLogError(msg) from error
        order = np.arange(self.skip, self.skip + self.rows)
        if self.within:
            order = np.argsort(np.concatenate(keys), kind="stable")[order]
            table = table.take(pa.array(order)).combine_chunks()
        else:
            table = table.slice(self.skip, self.rows)
        origin = self._origin(order)

        def row_name(offset: int) -> str:
            name, row = origin(offset)
            return f"{log.shown(name)}, row {row}"

        return ReadRows(table, sums, row_name, origin)

    def _origin(self, order: npt.NDArray[np.int64]) -> Callable[[int], tuple[str, int]]:
        starts = [0, *accumulate(piece.rows for piece in self.pieces)]

        def origin(offset: int) -> tuple[str, int]:
            at = int(order[offset])
            number = bisect_right(starts, at) - 1
            piece = self.pieces[number]
            return piece.file, piece.first_row + at - starts[number]

        return origin


def keys_of(column: Any, name: str, shown: str, first_row: int) -> npt.NDArray[np.int64]:
    """int64[n]: values of a column that gives the order.

    Raises
    ------
    UpdateLogError
        A row has none, or one beyond int64.
    """
    if column.null_count:
        at = pc.index(column.is_null(), pa.scalar(True)).as_py()
        msg = f"{shown}, row {first_row + at}: {name} is null, and gives the order; fill it in"
        raise UpdateLogError(msg)
    try:
        return column.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid as error:
        msg = f"{shown}: {name} has numbers beyond int64, and gives the order; use smaller ones"
        raise UpdateLogError(msg) from error


def _check_order(
    keys: npt.NDArray[np.int64], piece: KeyedGroup, column: str, within: int, shown: str
) -> None:
    highest = np.maximum(np.maximum.accumulate(keys), piece.before)
    late = highest - keys > within
    if late.any():
        raise late_row(shown, piece.first_row + int(late.argmax()), column, within)


def late_row(shown: str, row: int, column: str, within: int) -> UpdateLogError:
    """Error of a row that is late by more than the bound."""
    if within:
        cure = "is later than order_within allows; give a higher --order-within, or sort the log"
        return UpdateLogError(f"{shown}, row {row} is out of order by {column} and {cure}")
    return UpdateLogError(
        f"{shown}, row {row} is out of order: its {column} is lower than one before it; sort the "
        f"log, or say with --order-within how late rows may be"
    )
