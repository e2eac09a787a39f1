"""Columns of a log that are properties of the user's own (``gpu_core/properties/``).

A null is a missing value, which floats have (NaN) and others have not: there it is refused, with
file and row, on a row that inserts what the property is of. A property of edges that is set on a
vertex row is refused, and the other way round. What stands on rows that delete is not looked at.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...gpu_core.batch.bad_rows import BadRowsError
from ...gpu_core.errors import BatchError
from ...gpu_core.kind import RowMeaning
from ...gpu_core.properties.kinds import has_missing

Flags = npt.NDArray[np.bool_]


def own_columns(
    table: pa.Table,
    meaning: RowMeaning,
    op: npt.NDArray[Any] | None,
    dst_valid: Flags | None,
    row_name: Callable[[int], str],
) -> dict[str, npt.NDArray[Any]]:
    """Values of each property that the table has.

    Parameters
    ----------
    table
        Its columns.
    meaning
        Which of them are properties, and of what type.
    op
        Positive where a row inserts; None: everywhere.
    dst_valid
        Where a row is about an edge; None: everywhere.
    row_name
        How messages name a row.

    Raises
    ------
    BatchError
        A column is of a type that has no meaning, or a row has a null, or a value, that it may not.
    """
    rows = table.num_rows
    inserts = np.ones(rows, np.bool_) if op is None else np.asarray(op) > 0
    is_edge = np.ones(rows, np.bool_) if dst_valid is None else dst_valid
    of_edges, of_vertices = dict(meaning.properties), dict(meaning.vertex_properties)
    values: dict[str, npt.NDArray[Any]] = {}
    for name in meaning.value_names:
        if name not in table.column_names:
            continue
        column = table[name].combine_chunks()
        # Where the rows are about what has no such property.
        elsewhere = np.zeros(rows, np.bool_)
        if name not in of_vertices:
            elsewhere = ~is_edge
        elif name not in of_edges:
            elsewhere = is_edge
        counts = inserts & ~elsewhere
        valid = np.asarray(column.is_valid())
        stray = elsewhere & valid & inserts
        if stray.any():
            raise BadRowsError(stray, row_name, _stray_text(name, of_edges=name in of_edges))
        kinds = {kinds[name] for kinds in (of_edges, of_vertices) if name in kinds}
        values[name] = _filled(name, column, valid, counts, kinds, row_name)
    return values


def _stray_text(name: str, *, of_edges: bool) -> Callable[[int], str]:
    row, what = ("a vertex row (dst is null)", "edges") if of_edges else ("an edge row", "vertices")
    return lambda _: f"{name} is set on {row}, but it is a property of {what}"


def _filled(
    name: str,
    column: pa.Array,
    valid: Flags,
    counts: Flags,
    kinds: set[str],
    row_name: Callable[[int], str],
) -> npt.NDArray[Any]:
    """Values with NaN for nulls, where all kinds of the property have such a thing; else 0."""
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
    has_nan = all(map(has_missing, kinds))
    missing = counts & ~valid
    if missing.any() and not has_nan:
        kind = min(kinds)
        raise BadRowsError(
            missing, row_name, lambda _: f"{name} is null, which {kind} cannot be; fill it in"
        )
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan) if has_nan else np.zeros(len(column), min(kinds))
    if has_nan:
        floats = column.cast(pa.float64(), safe=False)
        return np.where(valid, floats.fill_null(0).to_numpy(zero_copy_only=False), np.nan)
    return column.fill_null(False if pa.types.is_boolean(column.type) else 0).to_numpy(
        zero_copy_only=False
    )
