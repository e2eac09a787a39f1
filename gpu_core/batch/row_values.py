"""Users' own properties in the rows of a batch, and their net effect.

The last insert of an edge decides about all its values, whatever ``on_repeat`` says, which rules
weights alone; likewise the last insert of a vertex. A vertex that only edges create has no values.
A property that the rows do not name is missing in all of them; only floats can be.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BatchError
from ..kind import RowMeaning
from ..properties.kinds import Column, Kinds, as_kind, has_missing, missing_column
from .bad_rows import BadRowsError
from .lengths import check_lengths

Flags = npt.NDArray[np.bool_]
Values = Mapping[str, Column]


def checked_values(
    given: Mapping[str, Any] | None,
    meaning: RowMeaning,
    *,
    puts_edge: Flags,
    is_vertex: Flags | None,
    inserts: Flags,
    row_name: Callable[[int], str],
) -> tuple[Values, Values]:
    """Columns of properties of edges, and of vertices, in their own types.

    Parameters
    ----------
    given
        Property -> value of each row; None: none is given.
    meaning
        What properties there are.
    puts_edge, is_vertex, inserts
        bool[rows]: rows that insert an edge, are about a vertex (None: none is), insert.
    row_name
        How messages name a row.

    Raises
    ------
    BatchError
        There is no such property, its column is of another type or length or left out, or a value
        that is kept does not fit.
    """
    given = given or {}
    known = dict((*meaning.properties, *meaning.vertex_properties))
    for name in given:
        if name not in known:
            there = ", ".join(known) or "none"
            msg = f"{name} is not a property of this graph, which has {there}; leave it out"
            raise BatchError(msg)
    check_lengths(inserts, **given)

    def refuse(bad: Flags, reason: Callable[[int], str]) -> BatchError:
        return BadRowsError(bad, row_name, reason)

    def columns(kinds: Kinds, counts: Flags) -> Values:
        if not counts.any():
            return {}
        lacking = [name for name, kind in kinds if name not in given and not has_missing(kind)]
        if lacking:
            kind = dict(kinds)[lacking[0]]
            msg = f"{lacking[0]} is left out, but {kind} has no missing value; give it for all rows"
            raise BatchError(msg)
        return {
            name: as_kind(name, kind, given[name], counts, refuse)
            for name, kind in kinds
            if name in given
        }

    of_edges = columns(meaning.properties, puts_edge)
    if is_vertex is None:
        return of_edges, {}
    return of_edges, columns(meaning.vertex_properties, inserts & is_vertex)


def values_at(kinds: Kinds, columns: Values, rows: npt.NDArray[np.int64]) -> Values:
    """Values of each property at these rows; missing ones where it has no column."""
    return {
        name: columns[name].take(rows) if name in columns else missing_column(kind, rows.size)
        for name, kind in kinds
    }


def spread_values(kinds: Kinds, values: Values, at: npt.NDArray[np.int64], size: int) -> Values:
    """Columns of ``size`` items with these values at some positions, and missing elsewhere."""
    out = {name: missing_column(kind, size) for name, kind in kinds}
    for name, column in out.items():
        column[at] = values[name]
    return out
