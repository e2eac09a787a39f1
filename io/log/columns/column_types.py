"""Types of the columns of an update log: which have a meaning, and as which they are read.

Parquet has no integers of 8 bits: it stores them as 32, in blocks of packed differences at best,
which take 2.2 ns a row to read (Zen 4). So ops may also be *bytes*, int8 as binary of the fixed
size 1, which lie in the file as in memory.

Not here: what Arrow types are, whatever column they are of (``io/arrow_types.py``), which columns a
file must have (``schema.py``).
"""

from contextlib import suppress

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ....gpu_core.id_kinds import are_names, form_of
from ....gpu_core.times import INTEGERS, TimeUnit, is_zone
from ...arrow_types import (
    floats_of_decimals,
    is_bytes,
    is_text,
    is_uuid,
    is_whole_decimal,
    plain_type,
)
from ..file_errors import UnusableFileError

#: Type of times that are given as dates; text of dates is read so, too.
_STAMPS_OF_DATES = pa.timestamp("s")

#: Columns whose decimals are refused, in a log or a frame.
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

#: What to do about a column of a type without a meaning, by its canonical name.
_CURES = {
    "op": "write 1 and -1, or insert and delete",
    "weight": "write weights as float64, or as integers",
    "type": "write types as int32",
    "ts": "write times as timestamps, dates or int64, in text as 2026-01-31T10:00:00Z",
}


def check_type(canonical: str, name: str, kind: pa.DataType, file: str, form: str) -> None:
    """Refuse a column type without a meaning, with a hint to the type that has one."""
    # A column of nothing but nulls has no type of its own: vertex updates alone.
    is_untyped = canonical in ("dst", "ts") and pa.types.is_null(kind)
    if not is_untyped and not _is_right(canonical, kind, form):
        cure = _CURES.get(canonical, "properties are numbers or booleans")
        if canonical in ("src", "dst"):
            cure = cure_of_ids(kind, form)
        elif canonical == "ts" and pa.types.is_timestamp(kind):
            cure = "its time zone is unknown; write times in one as UTC or Europe/Rome"
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
        is_stamp = types.is_timestamp(kind) and (kind.tz is None or is_zone(kind.tz))
        good = integer or is_stamp or types.is_date(kind)
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


def id_type_of_text(ids: str) -> pa.DataType:
    """Type as which text is read in columns of ids: names as they stand there."""
    if are_names(ids):
        return pa.string()
    return pa.uint64() if ids == "uint64" else pa.int64()


def property_type_of_text(kind: str) -> pa.DataType:
    """Type as which text is read in a column of the user's own, which is to be of type ``kind``.

    Floats are rounded where they are kept, so that a whole number which would be can be refused.
    """
    return pa.float64() if kind.startswith("float") else pa.from_numpy_dtype(kind)


def time_unit_of(kind: pa.DataType) -> TimeUnit:
    """Unit of the times of a column."""
    if pa.types.is_date(kind):
        return TimeUnit(_STAMPS_OF_DATES.unit)
    return TimeUnit(kind.unit, kind.tz) if pa.types.is_timestamp(kind) else INTEGERS


def of_read_types(table: pa.Table) -> pa.Table:
    """Rows, under the canonical names, whose columns have the types that are read.

    Views become plain columns. Dates of the column ``ts`` become the times at which those days
    begin, decimals the numbers that text of them would be: whole ones of up to 18 digits int64,
    others the nearest float64. As operations, types and times they are refused as they are. Whole
    ones of more digits stay what they are where their values may be integers
    (``whole_decimals.py``): as properties of the user's own, and as ids, if not all of them fit
    int64.
    """
    table = without_views(table)
    for column, field in enumerate(table.schema):
        if field.name == "ts" and pa.types.is_date(field.type):
            changed = table[column].cast(_STAMPS_OF_DATES)
        elif pa.types.is_decimal(field.type) and field.name not in _NO_DECIMALS:
            changed = _number_of_decimals(field.name, table[column])
        else:
            continue
        table = table.set_column(column, field.name, changed)
    return table


def without_views(table: pa.Table) -> pa.Table:
    """Rows whose views of text and of bytes are plain columns.

    Arrow can neither take, filter nor sort rows of views. Polars writes them, and deltalake does in
    change data.
    """
    for column, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type):
            plain = pa.large_string()
        elif pa.types.is_binary_view(field.type):
            plain = pa.large_binary()
        else:
            continue
        table = table.set_column(column, field.name, table[column].cast(plain))
    return table


def _number_of_decimals(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if is_whole_decimal(column.type):
        if name in _IDS or column.type.precision <= _INT64_DIGITS:
            with suppress(pa.ArrowInvalid):
                return column.cast(pa.int64())
        if name != "weight":
            return column
    return floats_of_decimals(column)


def op_bytes(ops: npt.NDArray[np.int8]) -> pa.Array:
    """Ops as bytes, as they are read fastest."""
    return pa.Array.from_buffers(OP_BYTES, ops.size, [None, pa.py_buffer(ops)])
