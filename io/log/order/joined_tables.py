"""Tables of several files, joined in one.

What a file does not have means the same in all of its rows: without ``op`` each inserts, without
``weight`` each edge weighs 1, without ``type`` it is of type 0. Beside rows of another file this
has to be written into them. And what one file says by numbers another may say by words.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...arrow_types import is_text, plain_type
from ..columns.column_types import OP_BYTES
from ..operations import Operations

#: What rows mean whose file lacks a column; others are null then.
ABSENT = {"op": 1, "weight": 1, "type": 0}
#: Of these, what rows about vertices do not have.
_OF_EDGES = ("weight", "type")
_ENDS = ("src", "dst")


def joined(tables: Sequence[pa.Table], operations: Operations) -> pa.Table:
    """Join tables of a log's rows, which have the canonical names.

    Parameters
    ----------
    operations
        Words of the column ``op``.

    Raises
    ------
    ValueError
        A column has types in these tables that do not go together.
    """
    tables = list(tables)
    if len(_types_of("op", tables)) > 1:
        tables = [_put(table, "op", _words_of(table, operations)) for table in tables]
    for name in _OF_EDGES:
        kinds = _types_of(name, tables)
        if None in kinds and len(kinds) > 1:
            kind = next(each for each in kinds if each is not None)
            tables = [
                table
                if name in table.column_names
                else _put(table, name, absent_column(name, table, kind))
                for table in tables
            ]
    for name in _ENDS:
        if len(_types_of(name, tables)) > 1:
            tables = _ids_alike(name, tables)
    return pa.concat_tables(tables, promote_options="permissive")


def absent_column(name: str, table: pa.Table, kind: pa.DataType) -> pa.ChunkedArray | pa.Array:
    """What the rows of a table mean by a column that it lacks, of these canonical names."""
    column = pa.repeat(pa.scalar(ABSENT.get(name), pa.int64()).cast(kind), table.num_rows)
    if name not in _OF_EDGES:
        return column
    return pc.if_else(table["dst"].is_valid(), column, pa.scalar(None, kind))


def _types_of(name: str, tables: Sequence[pa.Table]) -> set[pa.DataType | None]:
    """Types of a column; None where a table has none."""
    return {
        table.schema.field(name).type if name in table.column_names else None for table in tables
    }


def _put(table: pa.Table, name: str, column: pa.ChunkedArray | pa.Array) -> pa.Table:
    if name not in table.column_names:
        return table.append_column(name, column)
    return table.set_column(table.column_names.index(name), name, column)


def _words_of(table: pa.Table, operations: Operations) -> pa.ChunkedArray | pa.Array:
    """Operations as words; of numbers and booleans those that mean the same in this log."""
    words = operations.words
    insert, delete = (next(word for word in words if words[word] == kind) for kind in (1, -1))
    if "op" not in table.column_names:
        return pa.repeat(insert, table.num_rows)
    column = table["op"].cast(plain_type(table["op"].type))
    if column.type == OP_BYTES:
        joined_bytes = column.combine_chunks()
        numbers = np.frombuffer(
            joined_bytes.buffers()[1], np.int8, len(joined_bytes), joined_bytes.offset
        )
        is_null = ~np.asarray(joined_bytes.is_valid())
        column = pa.array(numbers, mask=is_null)
    if pa.types.is_boolean(column.type):
        return pc.if_else(column, insert, delete)
    if pa.types.is_integer(column.type):
        # No word of a log, so that it is refused as such a number is.
        others = pc.binary_join_element_wise("number", column.cast(pa.string()), " ")
        is_delete = pc.or_(pc.equal(column, 0), pc.equal(column, -1))
        return pc.if_else(pc.equal(column, 1), insert, pc.if_else(is_delete, delete, others))
    return column.cast(pa.string())


def _ids_alike(name: str, tables: Sequence[pa.Table]) -> list[pa.Table]:
    columns = [table[name].cast(plain_type(table[name].type)) for table in tables]
    kinds = {column.type for column in columns}
    if 0 < sum(map(is_text, kinds)) < len(kinds):
        # Arrow would take the letters for bytes.
        msg = f"{name} is of the types {' and '.join(sorted(map(str, kinds)))}"
        raise ValueError(msg)
    if pa.uint64() in kinds and all(map(pa.types.is_integer, kinds)):
        lowest = [pc.min(column).as_py() for column in columns if len(column)]
        are_unsigned = all(each is None or each >= 0 for each in lowest)
        kind = pa.uint64() if are_unsigned else pa.int64()
        columns = [column.cast(kind) for column in columns]
    return [_put(table, name, column) for table, column in zip(tables, columns, strict=True)]
