"""Where rows and columns are in a Parquet file, by its footer: row groups, and their bytes."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any


def groups_of_rows(metadata: Any, first_row: int, rows: int) -> list[int]:
    """Row groups that hold any of these rows."""
    return groups_of_run(group_starts(metadata), first_row, rows)


def groups_of_run(group_starts: Sequence[int], first_row: int, rows: int) -> list[int]:
    """The same, from the first row of each row group, and the number of rows at the end.

    A row group without rows holds none of them; what the footer says of its pages is not looked at.
    """
    if rows == 0:
        return []
    first = bisect_right(group_starts, first_row) - 1
    last = bisect_left(group_starts, first_row + rows)
    return [each for each in range(first, last) if group_starts[each] < group_starts[each + 1]]


def group_starts(metadata: Any) -> list[int]:
    """First row of each row group, and the number of rows."""
    sizes = (metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
    return [0, *accumulate(sizes)]


def column_index(schema: Any, name: str) -> int | None:
    """Number of a column among those of the file; None where it is a column of others."""
    for index in range(len(schema)):
        column = schema.column(index)
        # A path is names with dots between, and so may be the name of another column.
        if column.path == column.name == name:
            return index
    return None


def extent(chunk: Any) -> tuple[int, int]:
    """First byte of a column chunk, and its bytes; a dictionary comes before all other pages."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    return start, chunk.total_compressed_size


def extents(metadata: Any, groups: Sequence[int], names: Sequence[str]) -> list[tuple[int, int]]:
    """First byte and bytes of some column chunks."""
    indexes = [
        index for name in names if (index := column_index(metadata.schema, name)) is not None
    ]
    return [extent(metadata.row_group(group).column(each)) for group in groups for each in indexes]


def bounds_of_rows(
    metadata: Any, names: Sequence[str], first_row: int, rows: int
) -> list[tuple[int, int] | None]:
    """Bounds of columns in the row groups of some rows, by the file's statistics.

    Null is no number; timestamps are numbers in their unit. None: the file does not say it of each
    of these groups. Not checked here: the file may be wrong.
    """
    groups = [metadata.row_group(group) for group in groups_of_rows(metadata, first_row, rows)]
    bounds: list[tuple[int, int] | None] = []
    for name in names:
        index = column_index(metadata.schema, name)
        statistics = [group.column(index).statistics for group in groups]
        if not statistics or not all(each is not None and each.has_min_max for each in statistics):
            bounds.append(None)
            continue
        # Times as they are stored: Python's have no nanoseconds, and no year after 9999.
        is_time = metadata.schema.column(index).logical_type.type == "TIMESTAMP"
        lows, highs = zip(
            *((s.min_raw, s.max_raw) if is_time else (s.min, s.max) for s in statistics),
            strict=True,
        )
        bounds.append((min(lows), max(highs)))
    return bounds
