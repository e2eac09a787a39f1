"""From a table of the log to an `UpdateBatch`: Arrow columns in, CSR out.

Columns without nulls are handed on as views of Arrow's buffers. Where a column has nulls, its
values are a view all the same and the nulls a mask beside it: what stands under a null of ``dst``,
or under a null property of a row that inserts no edge, is never looked at.

Refused, with file and row (counted from 0 over the whole file): a null in ``src`` or ``op``; a
null property on a row that inserts an edge; a weight or type on a vertex row (its ``ts`` is the
time of the row, and no value); an ``op`` that is neither insert nor delete; ids that are no
integers or do not fit int64.

Not here: reading files (`update_log.py`), names and times of columns (`schema.py`), what rows mean
(``gpu_core/batch.py``).
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..gpu_core.batch import UpdateBatch
from ..gpu_core.errors import BatchError, UpdateLogError
from ..gpu_core.records import record_named
from .id_bounds import bounds_of
from .schema import OP_BYTES

Batch = TypeVar("Batch")

#: Names of the ops in text columns.
INSERT, DELETE = "insert", "delete"


def table_to_batch(table: pa.Table, **arguments: Any) -> UpdateBatch:
    """Convert rows of one file to what they come to; arguments as of `convert_table`."""
    return convert_table(table, UpdateBatch.from_rows, **arguments)


def convert_table(
    table: pa.Table,
    make: Callable[..., Batch],
    *,
    file: str,
    first_row: int,
    directed: bool,
    records: str,
    self_loops: str,
    create_vertices: bool,
    batch_id: int,
) -> Batch:
    """Check rows of one file, under the canonical column names, and make a batch of them.

    Parameters
    ----------
    table
        Columns ``src`` and ``dst``, and of ``op``, ``weight``, ``type``, ``ts`` those there are;
        what the records do not keep is not looked at.
    make
        Makes the batch: ``UpdateBatch.from_rows``, or what takes the same.
    file, first_row
        Where the rows come from, for messages: file name, and position of the first row in it.
    directed, records, self_loops, create_vertices, batch_id
        As in ``UpdateBatch.from_rows``.

    Raises
    ------
    UpdateLogError
        A column or a row breaks the log's contract; names file, row and cure.
    """
    record = record_named(records)
    columns = _Columns(table, file, first_row)
    op = columns.op()
    src, _ = columns.ids("src", nulls=False)
    dst, dst_valid = columns.ids("dst", nulls=True)
    properties: dict[str, npt.NDArray[Any]] = {}
    names = [name for name, kept in _KEPT_IF.items() if getattr(record, kept)]
    for name in names:
        if name in table.column_names:
            properties[name] = columns.property(name, op, dst_valid)
    try:
        return make(
            op,
            src,
            dst,
            dst_valid=dst_valid,
            **properties,
            directed=directed,
            records=records,
            self_loops=self_loops,
            create_vertices=create_vertices,
            batch_id=batch_id,
            row_name=columns.row,
            bounds=bounds_of(table),
        )
    except BatchError as error:
        text = str(error)
        # A row is named with its file already; what concerns a whole column is not.
        msg = text if text.startswith(f"{file}, ") else f"{file}: {text}"
        raise UpdateLogError(msg) from error


#: Property column -> field of the record that says whether it is kept.
_KEPT_IF = {"weight": "has_weight", "type": "has_times", "ts": "has_times"}

_PROPERTY_TYPES = {
    "weight": (lambda t: pa.types.is_floating(t) or pa.types.is_integer(t), "numbers"),
    "type": (pa.types.is_integer, "int32 numbers"),
    "ts": (lambda t: pa.types.is_timestamp(t) or pa.types.is_integer(t), "timestamps or int64"),
}


class _Columns:
    """Columns of one table as NumPy arrays, and the place of each row."""

    def __init__(self, table: pa.Table, file: str, first_row: int) -> None:
        self._table = table
        self._file = file
        self._first_row = first_row

    def row(self, offset: int) -> str:
        """How messages name a row."""
        return f"{self._file}, row {self._first_row + offset}"

    def op(self) -> npt.NDArray[Any] | None:
        """Ops as 1 and -1, or other numbers of the log; None where the log has no such column."""
        if "op" not in self._table.column_names:
            return None
        column = self._column("op")
        self._refuse_nulls("op", column, f"use {INSERT} or {DELETE}, or 1 or -1")
        if pa.types.is_integer(column.type):
            return _values(column)
        if column.type == OP_BYTES:
            return _values(column, np.int8)
        if pa.types.is_dictionary(column.type) and _is_text(column.type.value_type):
            kinds = self._text_ops(column.dictionary, column)
            return kinds[_values(column.indices)]
        if _is_text(column.type):
            return self._text_ops(column, column)
        msg = (
            f"{self._file}: op is of type {column.type}; "
            f"use int8 1 and -1, or the strings {INSERT} and {DELETE}"
        )
        raise UpdateLogError(msg)

    def _text_ops(self, names: pa.Array, column: pa.Array) -> npt.NDArray[np.int8]:
        """Each name as 1 or -1. Names of a dictionary that no row uses may be anything."""
        if names.null_count:
            names = pc.fill_null(names, "")
        inserts = pc.equal(names, pa.scalar(INSERT, names.type)).to_numpy(zero_copy_only=False)
        deletes = pc.equal(names, pa.scalar(DELETE, names.type)).to_numpy(zero_copy_only=False)
        unknown = ~(inserts | deletes)
        if unknown.any():
            of_rows = unknown if names is column else unknown[_values(column.indices)]
            if of_rows.any():
                at = int(of_rows.argmax())
                found = column[at].as_py()
                msg = f"{self.row(at)}: op {found!r} is unknown; use {INSERT!r} or {DELETE!r}"
                raise UpdateLogError(msg)
        return np.where(inserts, np.int8(1), np.int8(-1))

    def ids(
        self, name: str, *, nulls: bool
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
        """Ids of any integer type, and where they are not null (None: nowhere null)."""
        column = self._column(name)
        if not pa.types.is_integer(column.type):
            is_text = _is_text(column.type) or pa.types.is_dictionary(column.type)
            cure = (
                "give each name an int64 number first, e.g. with pyarrow.compute.dictionary_encode"
                if is_text
                else "number the vertices with int64 ids"
            )
            msg = f"{self._file}: {name} is of type {column.type}; {cure}"
            raise UpdateLogError(msg)
        if not nulls:
            self._refuse_nulls(name, column, "every row needs one; mend the row, or leave it out")
        return _values(column), _valid(column)

    def property(
        self, name: str, op: npt.NDArray[Any] | None, dst_valid: npt.NDArray[np.bool_] | None
    ) -> npt.NDArray[Any]:
        """Values of a property column, checked for nulls where it counts."""
        column = self._column(name)
        is_right, wanted = _PROPERTY_TYPES[name]
        if not is_right(column.type):
            msg = f"{self._file}: {name} is of type {column.type}; give {wanted}"
            raise UpdateLogError(msg)
        valid = _valid(column)
        if valid is not None:
            missing = ~valid
            if op is not None:
                missing &= op > 0
            if dst_valid is not None:
                missing &= dst_valid
            self._refuse_first(missing, f"{name} is null on a row that inserts an edge; fill it in")
        if dst_valid is not None and name != "ts":
            given = ~dst_valid if valid is None else ~dst_valid & valid
            self._refuse_first(
                given, f"{name} is set on a vertex row (dst is null); vertices carry no values"
            )
        return _values(column)

    def _column(self, name: str) -> pa.Array:
        if name not in self._table.column_names:
            msg = f"{self._file}: there is no column {name}; map its name in the setting 'columns'"
            raise UpdateLogError(msg)
        column = self._table.column(name)
        # One chunk is used where it lies; `combine_chunks` would copy it.
        return column.chunk(0) if column.num_chunks == 1 else _joined(column)

    def _refuse_nulls(self, name: str, column: pa.Array, cure: str) -> None:
        valid = _valid(column)
        if valid is not None:
            self._refuse_first(~valid, f"{name} is null; {cure}")

    def _refuse_first(self, bad: npt.NDArray[np.bool_], what: str) -> None:
        if bad.any():
            msg = f"{self.row(int(bad.argmax()))}: {what}"
            raise UpdateLogError(msg)


def _joined(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _is_text(type_: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
        or pa.types.is_string_view(type_)
    )


def _values(column: pa.Array, kind: npt.DTypeLike | None = None) -> npt.NDArray[Any]:
    """Values of a column of fixed width as a view; what stands under a null is left as it is.

    ``kind``: what its bytes are, where its type does not say it.
    """
    if pa.types.is_timestamp(column.type):
        kind = np.int64
    dtype = np.dtype(column.type.to_pandas_dtype() if kind is None else kind)
    if len(column) == 0:
        return np.empty(0, dtype=dtype)
    return np.frombuffer(
        column.buffers()[1], dtype=dtype, count=len(column), offset=column.offset * dtype.itemsize
    )


def _valid(column: pa.Array) -> npt.NDArray[np.bool_] | None:
    """Where a column is not null; None where it has no nulls."""
    if not column.null_count:
        return None
    valid: npt.NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return valid
