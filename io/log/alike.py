"""Tables of several files, made alike before their rows are joined in one.

What a file does not have means the same in all of its rows: without ``op`` each inserts, without
``weight`` each edge weighs 1, without ``type`` it is of type 0. Beside rows of another file this
has to be written into them. And what one file says by numbers another may say by words.

Not here: what else differs between types of Arrow, which joins whole numbers of several widths.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .schema import OP_BYTES

#: What a row that inserts an edge has in a column that its file has not.
_DEFAULTS = {"weight": 1, "type": 0}
_INSERTS = "insert"
_ENDS = ("src", "dst")


def alike(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Tables of a log's rows, under the canonical names, that can be joined.

    Raises
    ------
    ValueError
        A column is of texts in one table and of bytes in another.
    """
    tables = list(tables)
    kinds = {name: _types_of(name, tables) for name in ("op", *_DEFAULTS, *_ENDS)}
    if len(kinds["op"]) > 1:
        tables = [_put(table, "op", _words_of(table)) for table in tables]
    for name, default in _DEFAULTS.items():
        if len(kinds[name]) > 1:
            others = [kind for kind in kinds[name] if kind is not None]
            tables = [_with_default(table, name, default, others[0]) for table in tables]
    for name in _ENDS:
        if len(kinds[name]) > 1:
            tables = _ids_alike(name, tables)
    return tables


def _types_of(name: str, tables: Sequence[pa.Table]) -> list[pa.DataType | None]:
    """Types of a column, each once; None where a table has none."""
    found: list[pa.DataType | None] = []
    for table in tables:
        kind = table.schema.field(name).type if name in table.column_names else None
        if kind not in found:
            found.append(kind)
    return found


def _put(table: pa.Table, name: str, column: pa.ChunkedArray | pa.Array) -> pa.Table:
    if name not in table.column_names:
        return table.append_column(name, column)
    return table.set_column(table.column_names.index(name), name, column)


def _words_of(table: pa.Table) -> pa.ChunkedArray | pa.Array:
    """Operations as words; numbers and booleans are words of every log."""
    if "op" not in table.column_names:
        return pa.array([_INSERTS], pa.string()).take(pa.array(np.zeros(len(table), np.int64)))
    column = table["op"]
    if column.type == OP_BYTES:
        joined = column.combine_chunks()
        numbers = np.frombuffer(joined.buffers()[1], np.int8)[joined.offset :][: len(joined)]
        column = pa.array(numbers, mask=~np.asarray(joined.is_valid()))
    return _decoded(column).cast(pa.string())


def _with_default(table: pa.Table, name: str, default: int, kind: pa.DataType) -> pa.Table:
    """A table with a column that it lacks; rows about vertices have nothing there."""
    if name in table.column_names:
        return table
    of_edges = table["dst"].is_valid()
    column = pc.if_else(of_edges, pa.scalar(default).cast(kind), pa.scalar(None, kind))
    return table.append_column(name, column)


def _decoded(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _ids_alike(name: str, tables: Sequence[pa.Table]) -> list[pa.Table]:
    columns = [_decoded(table[name]) for table in tables]
    kinds = {column.type for column in columns}
    texts = {kind for kind in kinds if _is_text(kind)}
    if texts and len(texts) < len(kinds):
        shown = " and ".join(sorted(map(str, kinds)))
        msg = f"{name} is of the types {shown}"
        raise ValueError(msg)
    if pa.uint64() in kinds and all(map(pa.types.is_integer, kinds)):
        bounds = [pc.min_max(column).as_py() for column in columns]
        lowest = min((each["min"] for each in bounds if each["min"] is not None), default=0)
        kind = pa.int64() if lowest < 0 else pa.uint64()
        columns = [column.cast(kind) for column in columns]
    return [_put(table, name, column) for table, column in zip(tables, columns, strict=True)]


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )
