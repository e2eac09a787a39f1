"""Columns by name: what results, edges and result files have in common, and how others take them.

polars, DuckDB and others read a table through Arrow's stream, ``pandas.DataFrame(table)`` row by
row (`Table.to_pandas` is faster). What other libraries make of it lies above this package
(``io/interchange/to_libraries.py``): methods of their names are the functions of ``graphtide`` of
those names.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import namedtuple
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from .choices import choice_shown, is_among, is_integer
from .errors import SettingsError
from .printable import printable, rows_aligned

Column = npt.NDArray[Any]

#: Rows at each end that `Table.__str__` shows.
_SHOWN_ROWS = 5
#: Values of which the largest is compared first, where few are looked for.
_BLOCK = 1024


class Table:
    """Columns of one length; a class of it says which by `columns`."""

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, Column]:
        """Name -> values, one item a row."""

    #: What stands after times that are shown: they are UTC; empty: they have no zone.
    _time_mark: str = ""

    #: Column that `top` ranks by if none is named; None: the last one. Empty: there is none,
    #: because all columns are ids of vertices.
    _ranked_by: str | None = None

    def __len__(self) -> int:
        return next((int(column.size) for column in self.columns.values()), 0)

    def __getitem__(self, name: str) -> Column:
        """A column by its name."""
        columns = self.columns
        if not isinstance(name, str):
            msg = f"a table is asked for a column by its name, not for {type(name).__name__}; "
            msg += "rows of one: table['vertex'][1:3], or to_pandas()"
            raise TypeError(msg)
        if name not in columns:
            msg = f"column {name!r} is unknown; there are {', '.join(columns)}"
            raise KeyError(msg)
        return columns[name]

    def __iter__(self) -> Iterator[Any]:
        """Rows as named tuples of Python values; ``pandas.DataFrame(table)`` reads them, too.

        Times are NumPy's where Python has no such ones: in nanoseconds, or after the year 9999.
        """
        columns = self.columns
        row = _row_type(tuple(columns))
        values = map(_items, columns.values())
        return map(row._make, zip(*values, strict=True))

    def top(self, k: int = 10, by: str | None = None) -> TableRows:
        """Return the ``k`` rows with the largest values, largest first; equal ones in row order.

        Values that are not finite come last: a vertex that cannot be reached has the distance
        inf, but is not the farthest.

        Parameters
        ----------
        k
            Number of rows, at most.
        by
            Column to rank by; by default the one that the table is about, such as ``pagerank``.
            Components and communities have no default: their columns are ids of vertices.

        Raises
        ------
        SettingsError
            ``k`` is negative or no integer, there is no column ``by``, or ``by`` is needed.
        """
        check_count(k)
        columns = dict(self.columns)
        name = self._ranked_by if by is None else by
        if name is None:
            name = list(columns)[-1]
        if by is None and not name:
            msg = f"{', '.join(columns)} are ids of vertices, not measures; name a column with by="
            raise SettingsError(msg)
        if not is_among(name, columns):
            msg = f"by={choice_shown(name)} is no column; there are {', '.join(columns)}"
            raise SettingsError(msg)
        rows = largest(columns[name], int(k))
        return TableRows({name: column[rows] for name, column in columns.items()}, name)

    # -- for others --------------------------------------------------------------------------

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export as an Arrow stream (the PyCapsule interface)."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table``; values are not copied."""
        from .. import to_arrow

        return to_arrow(self)

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``."""
        from .. import to_pandas

        return to_pandas(self)

    def to_polars(self) -> Any:
        """Return a ``polars.DataFrame``."""
        from .. import to_polars

        return to_polars(self)

    def __str__(self) -> str:
        count = len(self)
        ends = [*range(min(count, _SHOWN_ROWS)), *range(max(count - _SHOWN_ROWS, 0), count)]
        shown = list(dict.fromkeys(ends))
        texts = [
            [name, *_texts(column[shown], self._time_mark)] for name, column in self.columns.items()
        ]
        if len(shown) < count:
            for column in texts:
                column.insert(1 + _SHOWN_ROWS, "")
            texts[0][1 + _SHOWN_ROWS] = "…"
        lines = rows_aligned(texts)
        if len(shown) < count:
            lines.append(f"({count:,} rows)")
        return "\n".join(line.rstrip() for line in lines)


class MapsKeysToIds(Protocol):
    """What has users' ids of the engine's keys (`names.user_ids.UserIds`)."""

    def ids_of_keys(self, keys: npt.NDArray[np.int64]) -> Column:
        """Ids of some keys, as users have them."""


class VertexTable(Table):
    """One row a vertex, which the engine calls by an int64 *key*.

    A class of it has ``vertex_keys`` (``keys`` would make it a mapping to ``dict``), and
    ``_made_of``, what it is made of once more: arguments of it.
    """

    #: What has users' ids of the keys; None: they are the ids.
    _ids: MapsKeysToIds | None = None

    @property
    @abstractmethod
    def vertex_keys(self) -> npt.NDArray[np.int64]:
        """int64[n]: what the engine calls the vertices, increasing."""

    @abstractmethod
    def _made_of(self) -> tuple[Any, ...]:
        """Arguments that make the same table, of arrays in host memory alone."""

    @cached_property
    def vertices(self) -> Column:
        """Users' ids of all vertices, in the order of `DynamicGraph.vertices`."""
        return self._ids_of_keys(self.vertex_keys)

    def _ids_of_keys(self, keys: npt.NDArray[np.int64]) -> Column:
        return keys if self._ids is None else self._ids.ids_of_keys(keys)

    def _listed(self, keys: npt.NDArray[np.int64], values: Column) -> list[tuple[Any, Any]]:
        """Users' ids and values of some vertices, as Python's own."""
        return list(zip(self._ids_of_keys(keys).tolist(), values.tolist(), strict=True))

    def in_users_ids(self, ids: MapsKeysToIds) -> Self:
        """Have users' ids in place of the keys; gives the table itself."""
        self._ids = ids
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process has no part in what this one keeps, on its device or of names.
        vertices = None if self._ids is None else self.vertices
        return _vertex_table, (type(self), self._made_of(), vertices)


def _vertex_table(
    kind: type[VertexTable], arguments: tuple[Any, ...], vertices: Column | None
) -> VertexTable:
    """A table from another process."""
    table = kind(*arguments)
    if vertices is not None:
        table.in_users_ids(_IdsOfTable(table.vertex_keys, vertices))
        table.__dict__["vertices"] = vertices
    return table


class _IdsOfTable:
    """Users' ids of the vertices of one table, which goes without its graph.

    ``keys``, ``ids``: [n] each.
    """

    def __init__(self, keys: npt.NDArray[np.int64], ids: Column) -> None:
        self._keys, self._ids = keys, ids

    def ids_of_keys(self, keys: npt.NDArray[np.int64]) -> Column:
        """Ids of some of these keys."""
        # Rows of some vertices may stand in any order.
        order = np.argsort(self._keys, kind="stable")
        return self._ids[order[np.searchsorted(self._keys, keys, sorter=order)]]


class TableRows(Table):
    """Some rows of a table.

    Parameters
    ----------
    columns
        Name -> values.
    ranked_by
        Column that `top` goes by.
    """

    def __init__(self, columns: Mapping[str, Column], ranked_by: str | None = None) -> None:
        self._columns = dict(columns)
        self._ranked_by = ranked_by

    @property
    def columns(self) -> Mapping[str, Column]:
        """Name -> values, one item a row."""
        return self._columns

    def __repr__(self) -> str:
        return str(self)


def _row_type(names: tuple[str, ...]) -> Any:
    """A named tuple with these fields; one that is no name in Python is read by `getattr`."""
    make: Any = namedtuple
    row = make("Row", names, rename=True)
    if row._fields == names:
        return row
    # `namedtuple` calls such fields _0, _1, …: a class of it has them under their own names.
    own = {name: getattr(row, field) for name, field in zip(names, row._fields, strict=True)}
    own = {name: read for name, read in own.items() if not hasattr(row, name)}
    return type("Row", (row,), {**own, "__slots__": (), "_fields": names, "__repr__": _row_shown})


def _row_shown(row: Any) -> str:
    """A row, with the names of its columns."""
    pairs = zip(row._fields, row, strict=True)
    return f"Row({', '.join(f'{name}={value!r}' for name, value in pairs)})"


def check_count(k: object) -> None:
    """Refuse what is no number of rows."""
    if not is_integer(k) or k < 0:
        msg = f"k={k!r} is not a whole number, 0 or more"
        raise SettingsError(msg)


def largest(values: Column, k: int) -> npt.NDArray[np.int64]:
    """int64: positions of the ``k`` largest values, equal ones in order.

    Infinite ones come after all numbers, and what is no number after these.
    """
    if values.dtype.kind == "f" and not (is_finite := np.isfinite(values)).all():
        numbers = np.flatnonzero(is_finite)
        found = numbers[largest(values[numbers], k)]
        others = np.flatnonzero(~is_finite)
        order = np.argsort(np.isnan(values[others]), kind="stable")
        return np.concatenate([found, others[order]])[:k]
    among = _likely_largest(values, k)
    # From the back, so that equal values come in their order once it is turned round.
    order = np.argsort(values[among][::-1], kind="stable")[::-1]
    return among[::-1][order][:k]


def _likely_largest(values: Column, k: int) -> npt.NDArray[np.int64]:
    """Positions of all values that may be among the ``k`` largest, few more; in their order."""
    among = np.arange(values.size)
    if not 0 < k < values.size:
        return among
    blocks = values.size // _BLOCK
    if values.dtype.kind in "iuf" and blocks > k:
        # So many reach the k-th largest of the blocks' maxima. To partition all of them takes 25
        # times as long where most are equal, as ranks seen from one vertex are.
        maxima = values[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
        among = np.flatnonzero(~(values < _kth_largest(maxima, k)))
    within = values[among]
    return among[~(within < _kth_largest(within, k))]


def _kth_largest(values: Column, k: int) -> Any:
    return np.partition(values, values.size - k)[values.size - k]


def _items(values: Column) -> list[Any]:
    """Values as Python's own; times that Python has not, of which NumPy makes integers, as such."""
    items: list[Any] = values.tolist()
    return list(values) if values.dtype.kind == "M" and int in map(type, items) else items


def _texts(values: Column, time_mark: str) -> list[str]:
    """Values for people; times without a fraction where all are of whole seconds."""
    if values.dtype.kind != "M":
        return [_text(value) for value in values]
    seconds = values.astype("M8[s]")
    shown = seconds if (np.isnat(values) | (seconds == values)).all() else values
    return [
        text if text == "NaT" else text + time_mark
        for text in np.datetime_as_string(shown).tolist()
    ]


def _text(value: Any) -> str:
    """A value for people."""
    if isinstance(value, np.floating):
        return f"{value:.6g}"
    return printable(value)
