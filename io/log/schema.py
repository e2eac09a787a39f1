"""The columns of an update log, and which of them a graph keeps.

One row is one update. ``op`` (as in ``operations.py``; absent: all inserts), ``src``, ``dst``
(null: a vertex update), ``weight`` (absent: 1), ``type`` (absent: 0), ``ts``. A log may
call them otherwise; ``columns`` maps the name here to the name there.

Parquet has no integers of 8 bits: it stores them as 32, in blocks of packed differences at best,
which take 2.2 ns a row to read (Zen 4). So ops may also be *bytes*, int8 as binary of the fixed
size 1, which lie in the file as in memory.

Checked here is what a file's schema shows, before any row is read: that the columns are there and
of a type that has a meaning. Values (nulls, unknown ops, NaN, overflow) are seen at conversion
(``conversion.py``), where the row is known.
"""

import shlex
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...gpu_core.errors import SettingsError
from ...gpu_core.id_kinds import are_names, form_of
from ...gpu_core.printable import listed
from ...gpu_core.records import record_named
from ...gpu_core.times import INTEGERS, TimeUnit
from .file_errors import UnusableFileError

#: Columns of an update log, by the names that the rest of the package knows; properties of the
#: user's own are columns as well.
CANONICAL = ("op", "src", "dst", "weight", "type", "ts")

#: Names of a column in a header, or in what the caller says; in small letters.
NAMES: Mapping[str, Sequence[str]] = {
    "op": ("op",),
    "src": ("src", "source", "from"),
    "dst": ("dst", "target", "to", "destination"),
    "weight": ("weight",),
    "type": ("type",),
    "ts": ("ts", "time", "timestamp"),
}

#: Type of times that are given as dates; text of dates is read so, too.
_STAMPS_OF_DATES = pa.timestamp("s")

#: Columns that are no decimals, in a log or a frame.
_NO_DECIMALS = frozenset(("op", "type", "ts"))

#: Digits of a whole number that int64 holds, whichever they are.
_INT64_DIGITS = 18

#: Columns of whole numbers.
_IDS = frozenset(("src", "dst"))

#: Arrow type of ops that are bytes.
OP_BYTES = pa.binary(1)

#: Type of a column without values, by its canonical name; ids that are names are as the others.
_TYPES_OF_NULLS = {
    "op": pa.int8(), "src": pa.int64(), "dst": pa.int64(), "weight": pa.float64(),
    "type": pa.int32(), "ts": pa.int64(), "first": pa.int64(), "last": pa.int64(),
}  # fmt: skip


#: What to do about a column of a type without a meaning, likewise.
_CURES = {
    "op": "write 1 and -1, or insert and delete",
    "weight": "write weights as float64, or as integers",
    "type": "write types as int32",
    "ts": "write times as timestamps, dates or int64, in text as 2026-01-31T10:00:00Z",
}


@dataclass(frozen=True)
class LogSchema:
    """Columns of one file of a log that one kind of records uses."""

    #: Canonical names of the columns to read, in canonical order.
    present: tuple[str, ...]
    #: Name of a `times.TimeUnit`, such as ``timestamp[us, tz=UTC]``; None where no time is read.
    time_unit: str | None
    #: NumPy types of sources and of destinations as they are converted, where none is null.
    id_types: tuple[str, str]
    #: Canonical columns that the file has and the records do not keep.
    not_kept: tuple[str, ...]
    #: Other columns of the file, by the file's names; nothing reads them.
    not_read: tuple[str, ...]


def needed_columns(records: str, on_repeat: str = "last") -> tuple[str, ...]:
    """Columns that a graph with these records, and this rule for repeats, reads from a log."""
    record = record_named(records)
    # Where inserts are counted, their weights are not read.
    properties = (("weight",) if record.has_weight and on_repeat != "count" else ()) + (
        ("type", "ts") if record.has_times else ()
    )
    return ("op", "src", "dst", *properties)


def check_mapping(columns: Mapping[str, str], own: Collection[str] = ()) -> None:
    """Refuse a column mapping that names a column which logs do not have."""
    known = (*CANONICAL, *own)
    unknown = [name for name in columns if name not in known]
    if unknown:
        msg = f"columns: {unknown[0]!r} is no column of a log; map some of {', '.join(known)}"
        raise SettingsError(msg)
    ends = [columns.get(name, name) for name in ("src", "dst")]
    if ends[0] == ends[1]:
        msg = f"columns: src and dst are both to be read from {ends[0]!r}; map each to its own"
        raise SettingsError(msg)


def check_schema(
    schema: pa.Schema,
    columns: Mapping[str, str],
    records: str,
    file: str,
    ids: str = "any",
    on_repeat: str = "last",
    own: Collection[str] = (),
    *,
    is_planned: bool = False,
) -> LogSchema:
    """Check the columns of a log file against what the records need.

    Parameters
    ----------
    schema
        Arrow schema of the file.
    columns
        Canonical name -> name in the file, for those that differ.
    records
        ``simple``, ``weighted`` or ``semantic``.
    file
        Name of the file, for messages.
    ids
        Kind of the graph's ids, which says of what type ``src`` and ``dst`` are.
    on_repeat
        Rule of the graph for repeats: with ``count`` the column ``weight`` is not looked at.
    own
        Names of the graph's own properties, which are columns, too; a file need not have them.
    is_planned
        Whether a state has planned the file: then it stays as it is, whatever its names are like.

    Raises
    ------
    UnusableFileError
        A column is missing, is there twice, or has a type without a meaning; or it would be read if
        its name were in small letters.
    """
    names = {canonical: columns.get(canonical, canonical) for canonical in (*CANONICAL, *own)}
    _check_presence(schema, columns, names, records, file)
    # A mapped name belongs to its canonical column alone: {src: a, dst: src} leaves no spare src.
    there = [canonical for canonical in names if names[canonical] in schema.names]
    needed = (*needed_columns(records, on_repeat), *own)
    kept = (*needed_columns(records), *own)
    time_unit = None
    for canonical in there:
        if canonical in needed:
            kind = schema.field(names[canonical]).type
            _check_type(canonical, names[canonical], kind, file, form_of(ids))
            # Of a column without a time it is that of other files.
            if canonical == "ts" and not pa.types.is_null(kind):
                time_unit = str(time_unit_of(kind))
    known = set(names.values())
    not_read = tuple(name for name in schema.names if name not in known)
    lacking = [
        canonical for canonical in needed_columns(records, on_repeat) if canonical not in there
    ]
    if not is_planned:
        _refuse_misspelled(lacking, not_read, file)
    return LogSchema(
        present=tuple(name for name in there if name in needed),
        time_unit=time_unit,
        id_types=(_id_type(schema.field(names["src"])), _id_type(schema.field(names["dst"]))),
        not_kept=tuple(name for name in there if name not in kept),
        not_read=not_read,
    )


def not_kept_line(
    schemas: list[LogSchema], records: str = "simple", on_repeat: str = "last"
) -> str | None:
    """One line on the columns of a log that do not enter the graph; None where all do.

    And on weights that were asked for, but are in none of its files.
    """
    not_kept = [name for name in CANONICAL if any(name in schema.not_kept for schema in schemas)]
    # In the order of the files, as their columns stand there.
    not_read = list(dict.fromkeys(name for schema in schemas for name in schema.not_read))
    parts = []
    # Semantic records are for times and types, too: they may do without weights.
    needs_weights = records == "weighted" or on_repeat != "last"
    if needs_weights and "weight" in needed_columns(records, on_repeat) and schemas:
        if not any("weight" in schema.present for schema in schemas):
            parts.append(
                "there is no column weight, so each weight is 1; --set columns.weight=NAME names it"
            )
    if not_kept:
        cure = "weighted" if not_kept == ["weight"] else "semantic"
        verb, them = ("is", "it") if len(not_kept) == 1 else ("are", "them")
        parts.append(f"{', '.join(not_kept)} {verb} not kept; --records {cure} keeps {them}")
    if not_read:
        parts.append(f"not read: {listed(not_read)}; --properties keeps numbers")
    return "; ".join(parts) or None


def _check_presence(
    schema: pa.Schema,
    columns: Mapping[str, str],
    names: Mapping[str, str],
    records: str,
    file: str,
) -> None:
    there = ", ".join(schema.names) or "none"
    for canonical, name in columns.items():
        if name not in schema.names and canonical in CANONICAL:
            msg = (
                f"{file}: there is no column {name!r}, which the setting columns gives as "
                f"{canonical}; the file has {there}"
            )
            raise UnusableFileError(msg)
    required = ("src", "dst", "ts") if "ts" in needed_columns(records) else ("src", "dst")
    for canonical in required:
        if names[canonical] not in schema.names:
            why = f", which {records} records need" if canonical == "ts" else ""
            mapping = _mapping_of(schema.names, names, required)
            if canonical == "ts" and {"first", "last"} <= {*schema.names}:
                msg = (
                    f"{file}: there is no column ts{why}; it has first and last, as edges that "
                    f"were exported: --set columns.ts=last reads the last times as those of "
                    f"inserts; DynamicGraph.from_edges takes both"
                )
                raise UnusableFileError(msg)
            msg = (
                f"{file}: there is no column {canonical}{why}; the file has {there}; if one of "
                f"them is it, say so in the setting columns: {mapping}"
            )
            raise UnusableFileError(msg)
    # Also of those that the records do not keep: other records would.
    for canonical in names:
        if schema.names.count(names[canonical]) > 1:
            msg = f"{file}: there are two columns {names[canonical]!r}; rename one of them"
            raise UnusableFileError(msg)


def _mapping_of(there: Collection[str], names: Mapping[str, str], required: Sequence[str]) -> str:
    """Flags that map the columns of a file, by the names that other programs give them."""
    flags = []
    for canonical in required:
        if names[canonical] in there:
            continue
        likely = [name for name in there if name.strip().lower() in NAMES[canonical]]
        flags.append(_flag_of(canonical, likely[0] if len(likely) == 1 else "NAME"))
    return " ".join(flags)


def _flag_of(canonical: str, name: str) -> str:
    """Flag that maps a column, as a shell takes it."""
    # A value is read as YAML, which drops blanks around it that are in no quotes.
    value = name if name == name.strip() else f'"{name}"'
    return f"--set {shlex.quote(f'columns.{canonical}={value}')}"


def _refuse_misspelled(lacking: Sequence[str], not_read: Sequence[str], file: str) -> None:
    """Refuse a column that is read by no name, but would be in small letters without blanks.

    A log does without these columns, so that it would be taken for another one without a word:
    where an ``Op`` is not read, deletes are inserts.
    """
    for canonical in lacking:
        for name in not_read:
            if name.strip().lower() == canonical:
                msg = (
                    f"{file}: column {name!r} is not read, and there is no column {canonical}; if "
                    f"it is that, say so: {_flag_of(canonical, name)}; if not, rename it"
                )
                raise UnusableFileError(msg)


def _check_type(canonical: str, name: str, kind: pa.DataType, file: str, form: str) -> None:
    """Refuse a column type without a meaning, with a hint to the type that has one."""
    # A column of nothing but nulls has no type of its own: vertex updates alone.
    is_untyped = canonical in ("dst", "ts") and pa.types.is_null(kind)
    if not is_untyped and not _is_right(canonical, kind, form):
        cure = _CURES.get(canonical, "properties are numbers or booleans")
        if canonical in ("src", "dst"):
            cure = cure_of_ids(kind, form)
        alias = "" if name == canonical else f" (as {canonical})"
        msg = f"{file}: column {name}{alias} is of type {kind}; {cure}"
        raise UnusableFileError(msg)


def _is_right(canonical: str, kind: pa.DataType, form: str) -> bool:
    """Whether a type has a meaning in a column; of properties of the user's own: as theirs."""
    types = pa.types
    integer = types.is_integer(kind)
    number = integer or types.is_floating(kind) or types.is_decimal(kind)
    if canonical == "op":
        good = integer or is_text(kind) or kind == OP_BYTES or types.is_boolean(kind)
    elif canonical in ("src", "dst"):
        good = is_id(kind, form)
    elif canonical == "weight":
        good = number
    elif canonical == "type":
        good = integer
    elif canonical in ("ts", "first", "last"):
        good = integer or types.is_timestamp(kind) or types.is_date(kind)
    else:
        good = number or types.is_boolean(kind) or types.is_null(kind)
    return bool(good)


def with_typed_nulls(table: pa.Table, ids: str) -> pa.Table:
    """Give columns of nothing but nulls, or without rows, a type that they may have.

    Where there are no values a type says nothing: it is Arrow's null, or what a library has for it.

    Parameters
    ----------
    table
        Rows under the canonical names.
    ids
        Kind of the graph's ids.
    """
    form = form_of(ids)
    for position, field in enumerate(table.schema):
        if _is_right(field.name, field.type, form):
            continue
        if table.column(position).null_count == table.num_rows:
            kind = _TYPES_OF_NULLS.get(field.name, pa.null())
            if field.name in ("src", "dst") and are_names(ids):
                source = table.schema.field("src").type
                kind = source if is_id(source, form) else pa.string()
            nulls = pa.nulls(table.num_rows, kind)
            table = table.set_column(position, field.name, nulls)
    return table


def is_id(kind: pa.DataType, form: str) -> bool:
    """Whether a column of this type can hold ids of a kind."""
    if form == "string":
        return is_text(kind)
    if form == "uuid":
        return is_text(kind) or is_uuid(kind) or is_bytes(kind)
    return bool(pa.types.is_integer(kind) or is_whole_decimal(kind))


def is_whole_decimal(kind: pa.DataType) -> bool:
    """Whether all decimals of a type are whole numbers; int64 need not hold them."""
    return bool(pa.types.is_decimal(kind)) and kind.scale == 0


def cure_of_ids(kind: pa.DataType, form: str) -> str:
    """Advice on ids of a type that does not go with the kind of the graph's."""
    plain = plain_type(kind)
    if is_text(kind):
        return "ids='string' takes names as they are (ids='uuid': UUIDs)"
    if is_uuid(kind):
        return "ids='uuid' takes them as they are"
    if pa.types.is_integer(plain) or is_whole_decimal(plain):
        return f"ids are {form} here; ids='any' takes numbers"
    if pa.types.is_floating(plain):
        return (
            "write ids as int64: floats cannot tell large ids apart (pandas has Int64 where there "
            "are nulls)"
        )
    if pa.types.is_decimal(plain):
        return "write ids as int64, or as decimals without a fraction"
    if is_bytes(kind):
        return "write names as strings: bytes may be no text (ids='uuid' takes UUIDs of 16 bytes)"
    return "write ids as int64, or as strings for ids='string'"


def _id_type(column: pa.Field) -> str:
    """NumPy type in which ids of a column are converted: those of 32 bits as they are."""
    return str(column.type) if column.type in (pa.int32(), pa.uint32()) else "int64"


def time_unit_of(kind: pa.DataType) -> TimeUnit:
    """Unit of the times of a column."""
    if pa.types.is_date(kind):
        return TimeUnit(_STAMPS_OF_DATES.unit)
    return TimeUnit(kind.unit, kind.tz) if pa.types.is_timestamp(kind) else INTEGERS


def of_read_types(table: pa.Table) -> pa.Table:
    """Rows, under the canonical names, whose columns have the types that are read.

    Dates of the column ``ts`` become the times at which those days begin, decimals the numbers that
    text of them would be: whole ones of up to 18 digits int64, others the nearest float64. As
    operations, types and times they are refused as they are. Whole ones of more digits stay what
    they are where their values may be integers (``whole_decimals.py``): as properties of the user's
    own, and as ids, if not all of them fit int64.
    """
    for column, field in enumerate(table.schema):
        if field.name == "ts" and pa.types.is_date(field.type):
            changed = table[column].cast(_STAMPS_OF_DATES)
        elif pa.types.is_decimal(field.type) and field.name not in _NO_DECIMALS:
            changed = _number_of_decimals(field.name, table[column])
        else:
            continue
        table = table.set_column(column, field.name, changed)
    return table


def _number_of_decimals(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if is_whole_decimal(column.type):
        if name in _IDS or column.type.precision <= _INT64_DIGITS:
            with suppress(pa.ArrowInvalid):
                return column.cast(pa.int64())
        if name != "weight":
            return column
    return floats_of_decimals(column)


def floats_of_decimals(column: Any) -> Any:
    """The nearest float64 of each decimal."""
    # By text: Arrow's own cast to float64 is off by the last bit for one in eight.
    return column.cast(pa.string()).cast(pa.float64())


def op_bytes(ops: npt.NDArray[np.int8]) -> pa.Array:
    """Ops as bytes, as they are read fastest."""
    return pa.Array.from_buffers(OP_BYTES, ops.size, [None, pa.py_buffer(ops)])


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Type of the values of a column: without a dictionary, and without a type of its own."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def is_uuid(kind: pa.DataType) -> bool:
    """Whether an Arrow type is 16 bytes: Arrow's own for UUIDs, or one without a meaning."""
    return bool(plain_type(kind) == pa.binary(16))


def is_bytes(kind: pa.DataType) -> bool:
    """Whether an Arrow type is bytes, as many as a value has: UUIDs, if each has 16."""
    kind = plain_type(kind)
    types = pa.types
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is text, dictionary-encoded or not."""
    kind = plain_type(kind)
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )
