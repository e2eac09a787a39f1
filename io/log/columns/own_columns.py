"""Columns of a log that are properties of the user's own (``gpu_core/properties/``).

A null is a missing value, which floats have (NaN) and others have not: there it is refused, with
file and row, on a row that inserts what the property is of. A property of edges that is set on a
vertex row is refused, and the other way round. What stands on rows that delete is not looked at.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ....gpu_core.batch.bad_rows import BadRowsError
from ....gpu_core.errors import BatchError
from ....gpu_core.kind import RowMeaning
from ...arrow_types import floats_of_decimals, is_whole_decimal
from ...text.text_values import is_rounded, rounded
from ..row_kinds import Flags, RowKinds
from .whole_decimals import integers_of


def own_columns(
    table: pa.Table,
    meaning: RowMeaning,
    row_kinds: RowKinds,
    row_name: Callable[[int], str],
) -> dict[str, npt.NDArray[Any]]:
    """Values of each property that the table has, masked where they are null.

    Parameters
    ----------
    table
        Its columns.
    meaning
        Which of them are properties, and of what type.
    row_kinds
        Which rows insert, and which are about edges.
    row_name
        How messages name a row.

    Raises
    ------
    BatchError
        A column is of a type that has no meaning, or a row has a null, or a value, that it may not.
    """
    inserts, is_edge = row_kinds.are_inserts, row_kinds.are_edges
    of_edges, of_vertices = dict(meaning.properties), dict(meaning.vertex_properties)
    values: dict[str, npt.NDArray[Any]] = {}
    for name in meaning.value_names:
        if name not in table.column_names:
            continue
        column = table[name].combine_chunks()
        # Where the rows are about what has no such property.
        elsewhere = np.zeros(row_kinds.count, np.bool_)
        if name not in of_vertices:
            elsewhere = ~is_edge
        elif name not in of_edges:
            elsewhere = is_edge
        valid = np.asarray(column.is_valid())
        stray = elsewhere & valid & inserts
        if stray.any():
            raise BadRowsError(stray, row_name, _stray_text(name, of_edges=name in of_edges))
        kinds = {kinds[name] for kinds in (of_edges, of_vertices) if name in kinds}
        if pa.types.is_decimal(column.type):
            of_rows = [
                (kinds[name], rows & inserts)
                for kinds, rows in ((of_edges, is_edge), (of_vertices, ~is_edge))
                if name in kinds
            ]
            column = _of_decimals(name, column, of_rows, row_name)
            valid = np.asarray(column.is_valid())
        values[name] = _with_missing(name, column, valid, kinds)
    return values


def _of_decimals(
    name: str,
    column: pa.Array,
    kinds: Sequence[tuple[str, Flags]],
    row_name: Callable[[int], str],
) -> pa.Array:
    """Whole decimals as integers, where these hold them; else as floats.

    ``kinds``: a type of the property, and the rows whose values are kept so.
    """
    floats = [(kind, rows) for kind, rows in kinds if kind.startswith("float")]
    if floats:
        if is_whole_decimal(column.type):
            with suppress(pa.ArrowInvalid):
                return column.cast(pa.int64())  # of which floats hold some alone, as is seen later
            _refuse_rounded(name, column, floats, row_name)
        return floats_of_decimals(column)
    wanted = pa.uint64() if {kind for kind, _ in kinds} == {"uint64"} else pa.int64()
    counts = np.logical_or.reduce([rows for _, rows in kinds])
    return integers_of(column, wanted, name, row_name, counts)


def _refuse_rounded(
    name: str,
    column: pa.Array,
    kinds: Sequence[tuple[str, Flags]],
    row_name: Callable[[int], str],
) -> None:
    """Refuse whole decimals that floats of these types would round."""
    values = floats_of_decimals(column).to_numpy(zero_copy_only=False)
    for kind, rows in kinds:
        bad = rows & rounded(values, kind)
        for row in np.flatnonzero(bad):
            bad[row] = is_rounded(str(column[row].as_py()), kind)
        if bad.any():
            raise BadRowsError(bad, row_name, _unfit_text(name, column, kind))


def _unfit_text(name: str, column: pa.Array, kind: str) -> Callable[[int], str]:
    return lambda row: f"{name} {column[row]} does not fit into {kind}"


def _stray_text(name: str, *, of_edges: bool) -> Callable[[int], str]:
    row, what = ("a vertex row (dst is null)", "edges") if of_edges else ("an edge row", "vertices")
    return lambda _: f"{name} is set on {row}, but it is a property of {what}"


def _with_missing(name: str, column: pa.Array, valid: Flags, kinds: set[str]) -> npt.NDArray[Any]:
    """Values; of numbers with nulls a masked array, as whole ones have no NaN."""
    if not (
        pa.types.is_integer(column.type)
        or pa.types.is_floating(column.type)
        or pa.types.is_boolean(column.type)
        or pa.types.is_null(column.type)
    ):
        msg = f"{name} is of type {column.type}; give {' or '.join(sorted(kinds))}"
        raise BatchError(msg)
    if valid.all():
        return column.to_numpy(zero_copy_only=False)
    if pa.types.is_null(column.type):
        return np.ma.array(np.zeros(len(column), min(kinds)), mask=True)
    filled = column.fill_null(False if pa.types.is_boolean(column.type) else 0)
    return np.ma.array(filled.to_numpy(zero_copy_only=False), mask=~valid)
