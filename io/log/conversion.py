"""Conversion of an Arrow table of the log to a batch: columns are checked and passed as arrays.

Columns without nulls are handed on as views of Arrow's buffers. Where a column has nulls, its
values are a view all the same and the nulls a mask beside it: what stands under a null of ``dst``,
or under a null property of a row that inserts no edge, is never looked at. Times are brought to the
unit of the graph, exactly or not at all.

Ids that are names are handed on as Arrow has their bytes (``columns/name_columns.py``).

Refused, with file and row (counted from 0 over the whole file): a null in ``src`` or ``op``; a
null property on a row that inserts an edge; a weight or type on a vertex row (its ``ts`` is the
time of the row, and no value); an ``op`` that is neither insert nor delete; ids that are not
of the graph's kind.

Not here: reading files (`update_log.py`), names and times of columns (`columns/`), what rows mean
(``gpu_core/batch/update_batch.py``).
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...gpu_core.batch.bad_rows import BadRowsError
from ...gpu_core.batch.update_batch import UpdateBatch
from ...gpu_core.errors import BatchError, UpdateLogError
from ...gpu_core.id_kinds import are_names, form_of
from ...gpu_core.kind import RowMeaning
from ...gpu_core.times import NAT, TimeUnit, convert, shown, time_unit_named
from ..arrow_types import is_text, valid_mask
from .columns.column_types import OP_BYTES, cure_of_ids, is_id, time_unit_of
from .columns.id_bounds import bounds_of
from .columns.name_columns import name_column
from .columns.own_columns import own_columns
from .columns.schema import needed_columns
from .columns.whole_decimals import integers_of
from .operations import USUAL, Operations, word_shown
from .row_kinds import RowKinds
from .row_origin import RowOrigin

Made = TypeVar("Made")
Flags = npt.NDArray[np.bool_]


def table_to_batch(table: pa.Table, **arguments: Any) -> UpdateBatch:
    """Convert rows of one file to what they come to; arguments as of `convert_table`."""
    return convert_table(table, UpdateBatch.of_rows, **arguments)


def convert_table(
    table: pa.Table,
    make: Callable[..., Made],
    *,
    meaning: RowMeaning,
    origin: RowOrigin,
    batch_id: int,
    time_unit: str | None = None,
    operations: Operations = USUAL,
) -> Made:
    """Check rows of one file, under the canonical column names, and make a batch of them.

    Parameters
    ----------
    table
        Columns ``src`` and ``dst``, and of ``op``, ``weight``, ``type``, ``ts`` and the properties
        of the user's own those there are; what the graph does not keep is not looked at.
    make
        Makes the batch: ``UpdateBatch.of_rows``, or what takes the same.
    meaning, batch_id
        As in ``UpdateBatch.of_rows``.
    origin
        Where the rows come from, for messages.
    time_unit
        What times are to count (`times.TimeUnit`); None: what they count in the file.
    operations
        Words of the column ``op``, where it is text.

    Raises
    ------
    UpdateLogError
        A column or a row breaks the log's contract; names file, row and cure. Where rows do, its
        cause is a `BadRowsError`, which knows all that break the same rule.
    """
    columns = _Columns(table, origin)
    try:
        op = columns.op(operations)
        src, _ = columns.ids("src", meaning.ids, nulls=False)
        dst, dst_valid = columns.ids("dst", meaning.ids, nulls=True)
        kinds = RowKinds(table.num_rows, op, dst_valid)
        properties: dict[str, Any] = {}
        for name in needed_columns(meaning.record.name, meaning.on_repeat):
            if name in _PROPERTY_TYPES and name in table.column_names:
                properties[name] = columns.property(name, kinds)
        if "ts" in properties and time_unit is not None:
            wanted = time_unit_named(time_unit)
            properties["ts"] = columns.times(properties["ts"], wanted, kinds)
        if meaning.has_values:
            properties["values"] = own_columns(table, meaning, kinds, origin.row)
        return make(
            op,
            src,
            dst,
            meaning,
            dst_valid=dst_valid,
            **properties,
            batch_id=batch_id,
            row_name=origin.row,
            bounds=bounds_of(table),
        )
    except BatchError as error:
        text = str(error)
        # A row is named with its file already; what concerns a whole column is not.
        msg = text if origin.names(text) else f"{origin.file}: {text}"
        raise UpdateLogError(msg) from error


#: Property column -> whether it may be of an Arrow type, and what it may be, in words.
_PROPERTY_TYPES = {
    "weight": (lambda t: pa.types.is_floating(t) or pa.types.is_integer(t), "numbers"),
    "type": (pa.types.is_integer, "int32 numbers"),
    "ts": (lambda t: pa.types.is_timestamp(t) or pa.types.is_integer(t), "timestamps or int64"),
}


class _Columns:
    """Columns of one table as NumPy arrays."""

    def __init__(self, table: pa.Table, origin: RowOrigin) -> None:
        self._table = table
        self._file, self._origin = origin.file, origin

    def op(self, operations: Operations = USUAL) -> npt.NDArray[Any] | None:
        """Ops as 1 and -1, or other numbers of the log; None where the log has no such column."""
        if "op" not in self._table.column_names:
            return None
        column = self._column("op")
        self._refuse_nulls("op", column, f"use {operations.described}")
        kind = column.type
        if pa.types.is_integer(kind):
            return _zeros_delete(_values(column))
        if kind == OP_BYTES:
            return _zeros_delete(_values(column, np.int8))
        if pa.types.is_boolean(kind):
            return np.where(column.to_numpy(zero_copy_only=False), np.int8(1), np.int8(-1))
        if pa.types.is_dictionary(kind) and is_text(kind.value_type):
            # Words of a dictionary that no row uses may be anything.
            kinds = operations.kinds(column.dictionary)[_values(column.indices)]
        elif is_text(kind):
            kinds = operations.kinds(column)
        else:
            msg = f"{self._file}: op is of type {kind}; use {operations.described}"
            raise UpdateLogError(msg)
        if not kinds.all():
            cure = f"{operations.described}, or name it in the setting op_insert or op_delete"
            raise BadRowsError(
                kinds == 0,
                self._origin.row,
                lambda at: f"op {word_shown(column[at])!r} is unknown; use {cure}",
            )
        return kinds

    def ids(self, name: str, kind: str = "any", *, nulls: bool) -> tuple[Any, Flags | None]:
        """Ids of any type that their kind may have, and where they are not null (None: nowhere)."""
        form = form_of(kind)
        column = self._chunked(name) if are_names(kind) else self._column(name)
        if not is_id(column.type, form):
            msg = f"{self._file}: {name} is of type {column.type}; {cure_of_ids(column.type, form)}"
            raise UpdateLogError(msg)
        if not nulls:
            self._refuse_nulls(name, column, "every row needs one; correct or leave out the row")
        if are_names(kind):
            names = name_column(column, form, name, self._origin.row)
            return names, names.valid
        if pa.types.is_decimal(column.type):
            wanted = pa.uint64() if form == "uint64" else pa.int64()
            column = integers_of(column, wanted, name, self._origin.row)
        return _values(column), valid_mask(column)

    def property(self, name: str, kinds: RowKinds) -> npt.NDArray[Any]:
        """Values of a property column, checked for nulls where it counts."""
        column = self._column(name)
        is_right, wanted = _PROPERTY_TYPES[name]
        if not is_right(column.type):
            msg = f"{self._file}: {name} is of type {column.type}; give {wanted}"
            raise UpdateLogError(msg)
        valid = valid_mask(column)
        if valid is not None:
            missing = ~valid & kinds.insert_edges
            self._refuse_first(missing, f"{name} is null on a row that inserts an edge; fill it in")
        if kinds.dst_valid is not None and name != "ts":
            given = ~kinds.dst_valid if valid is None else ~kinds.dst_valid & valid
            self._refuse_first(
                given, f"{name} is set on a vertex row (dst is null); vertices carry no values"
            )
        values = _values(column)
        if pa.types.is_timestamp(column.type) and (values == NAT).any():
            none = (values == NAT) & kinds.insert_edges
            what = f"{name} is {NAT}, which counts as no time; correct the row, or leave it out"
            self._refuse_first(none if valid is None else none & valid, what)
        return values

    def times(
        self, values: npt.NDArray[Any], wanted: TimeUnit, kinds: RowKinds
    ) -> npt.NDArray[Any]:
        """Times in another unit, which must hold those of all rows that insert an edge."""
        given = time_unit_of(self._table.schema.field("ts").type)
        converted, bad = convert(values, given, wanted)
        if bad is not None:
            counts = kinds.insert_edges & bad
            if counts.any():
                cure = (
                    "but the graph's times are, as those of the log's first file; round it, or "
                    "write that file in a finer unit and start a new state"
                )
                raise BadRowsError(
                    counts,
                    self._origin.row,
                    lambda at: f"ts {shown(values[at], given)} is no {wanted} within int64, {cure}",
                )
        return converted

    def _chunked(self, name: str) -> pa.ChunkedArray:
        if name not in self._table.column_names:
            msg = f"{self._file}: there is no column {name}; map its name in the setting 'columns'"
            raise UpdateLogError(msg)
        return self._table.column(name)

    def _column(self, name: str) -> pa.Array:
        column = self._chunked(name)
        # One chunk is used where it lies; `combine_chunks` would copy it.
        return column.chunk(0) if column.num_chunks == 1 else _joined(column)

    def _refuse_nulls(self, name: str, column: pa.Array | pa.ChunkedArray, cure: str) -> None:
        valid = valid_mask(column)
        if valid is not None:
            self._refuse_first(~valid, f"{name} is null; {cure}")

    def _refuse_first(self, bad: Flags, what: str) -> None:
        if bad.any():
            raise BadRowsError(bad, self._origin.row, lambda _: what)


def _zeros_delete(ops: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Ops of 1 and -1 as they are; of 1 and 0 as 1 and -1."""
    if ops.dtype == np.uint64:
        # Together with -1 they would become floats.
        ops = np.minimum(ops, np.uint64(np.iinfo(np.int64).max)).astype(np.int64)
    return ops if np.count_nonzero(ops) == ops.size else np.where(ops == 0, np.int8(-1), ops)


def _joined(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)


def _values(column: pa.Array, kind: npt.DTypeLike | None = None) -> npt.NDArray[Any]:
    """Values of a column of fixed width as a view; what stands under a null is left as it is.

    ``kind``: what its bytes are, where its type does not say it.
    """
    dtype = _dtype_of(column.type) if kind is None else np.dtype(kind)
    if len(column) == 0:
        return np.empty(0, dtype=dtype)
    return np.frombuffer(
        column.buffers()[1], dtype=dtype, count=len(column), offset=column.offset * dtype.itemsize
    )


def _dtype_of(kind: pa.DataType) -> np.dtype[Any]:
    """Of numbers, or of timestamps as numbers. Arrow's own answer imports pandas (Arrow 25)."""
    if pa.types.is_floating(kind):
        code = "f"
    else:
        code = "u" if pa.types.is_unsigned_integer(kind) else "i"
    return np.dtype(f"{code}{kind.bit_width // 8}")
