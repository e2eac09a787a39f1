"""Summary of the files of a log for people: columns, rows, operations, times.

Nothing is checked here: a log that a run would refuse is shown as well. The columns ``op`` and
``ts`` are read, a row group at a time; all else is in the footers of Parquet files. Text is read
whole, and columns of floats in its first rows: they may look like numbers, as ``0,5`` does, and be
none in a log.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ...gpu_core.times import is_zone
from ..arrow_types import is_text
from ..tables.table_files import TableFile
from ..text.text_types import SAMPLE_LINES
from .columns.column_types import OP_BYTES
from .file_errors import UnreadableRowsError
from .log_files import LogFileReader, hidden_partitions
from .operations import USUAL, Operations, word_shown
from .paths.file_names import FileName
from .paths.log_paths import LogPath
from .update_log import UpdateLog

#: Operations by how a graph takes them.
_OPERATIONS = {1: "insert", -1: "delete"}


@dataclass(frozen=True)
class FileFacts:
    """Contents of one file of a log."""

    name: str
    #: ``parquet``, ``csv`` or ``json``.
    form: str
    #: Bytes.
    size: int
    rows: int
    #: ``(name, Arrow type)`` of each column, in the order of the file; then those in its path.
    columns: tuple[tuple[str, str], ...]
    #: Column in its path -> the value there; None where it is null.
    partitions: dict[str, str | None]
    #: Operation -> rows: ``insert``, ``delete``, or what stands there instead.
    operations: dict[str, int]
    #: Earliest and latest time as text; None where there is none.
    first_time: str | None
    last_time: str | None
    #: Whether the pages carry checksums: damage to pages without cannot always be seen.
    has_checksums: bool
    #: Of a table: the version that changes rows by this file, and how (``table_files.py``).
    version: int | None
    change: str | None
    #: Names of links to it, by which it is not read once more.
    links: tuple[str, ...]
    #: Columns in its path that are not taken, as it has columns of their names.
    hidden_partitions: tuple[str, ...]
    #: What is no number in the first rows of its columns of floats, as a run that reads the column
    #: would say; None: nothing.
    wrong_number: str | None


def inspect_log(log: UpdateLog) -> Iterator[FileFacts]:
    """Look into the files of a log, in the order in which they are read.

    Raises
    ------
    UpdateLogError
        There is no log, or it holds no file, something that is none of a log, or a damaged one.
    """
    op, ts = log.names_in_files(("op", "ts"))
    for path in log.paths():
        with log.opened(path) as file:
            yield _facts(path, file, op, ts, log.operations)


def _facts(path: LogPath, file: LogFileReader, op: str, ts: str, words: Operations) -> FileFacts:
    # Two columns of one name are ambiguous, and a run refuses them; lists and structures are not
    # read.
    once = [each for each in (op, ts) if file.schema.names.count(each) == 1]
    there = [each for each in once if not pa.types.is_nested(file.schema.field(each).type)]
    operations: dict[str, int] = {}
    times: list[pa.Scalar] = []
    for group in _groups(file, there):
        if op in there:
            for kind, rows in _counted_operations(group[op], words):
                operations[kind] = operations.get(kind, 0) + rows
        else:
            operations["insert"] = operations.get("insert", 0) + group.num_rows
        if ts in there and _is_time(group[ts].type) and group[ts].null_count < group.num_rows:
            ends = pc.min_max(group[ts])
            times += [ends["min"], ends["max"]]
    first, last = (_end(times, pick) for pick in ("min", "max"))
    of_table = TableFile.of_name(FileName.of(path.name).within)
    return FileFacts(
        name=path.name,
        form=file.form,
        size=file.size,
        rows=file.rows,
        columns=tuple((field.name, str(field.type)) for field in file.schema),
        partitions=path.partitions,
        operations=operations,
        first_time=first,
        last_time=last,
        has_checksums=file.has_checksums,
        version=of_table.version if of_table else None,
        change=of_table.change if of_table else None,
        links=path.links,
        hidden_partitions=tuple(sorted(hidden_partitions(file))),
        wrong_number=_wrong_number(file),
    )


def _wrong_number(file: LogFileReader) -> str | None:
    floats = [field.name for field in file.schema if pa.types.is_floating(field.type)]
    once = [name for name in floats if file.schema.names.count(name) == 1]
    if file.form != "csv" or not once:
        return None
    try:
        file.read(once, 0, min(file.rows, SAMPLE_LINES))
    except UnreadableRowsError as error:
        return str(error)
    return None


def _groups(file: LogFileReader, names: list[str]) -> Iterator[pa.Table]:
    """Columns of each row group; of no columns, tables that have the rows alone."""
    first = 0
    for rows in file.group_rows:
        if names:
            yield file.read(names, first, rows).table
        else:
            yield pa.table({"": pa.nulls(rows)})
        first += rows


def _counted_operations(column: pa.ChunkedArray, words: Operations) -> Iterator[tuple[str, int]]:
    # A log's own words are text, and a null is none of them.
    known = words.words if is_text(column.type) else USUAL.words
    for each in pc.value_counts(column):
        value = each["values"]
        if is_text(value.type):
            text = word_shown(value)
        elif value.type == OP_BYTES and value.is_valid:
            text = str(int.from_bytes(value.as_py(), "little", signed=True))
        else:
            text = str(value.as_py()) if value.is_valid else "null"
        kind = known.get(text.lower(), 0) if value.is_valid else 0
        yield _OPERATIONS.get(kind, text), each["counts"].as_py()


def _is_time(kind: pa.DataType) -> bool:
    """Whether a column can have an earliest and a latest time; a run refuses some of these."""
    has_order = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_string(kind)
    return bool(has_order or pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _end(times: list[pa.Scalar], pick: str) -> str | None:
    """The earliest or the latest of some times, as text; in UTC if their zone is unknown."""
    if not times:
        return None
    kind = times[0].type
    found = pc.min_max(pa.array(times, kind))[pick]
    if pa.types.is_timestamp(kind) and kind.tz is not None and not is_zone(kind.tz):
        found = found.cast(pa.timestamp(kind.unit, "UTC"))
    return str(found.cast(pa.string()))
