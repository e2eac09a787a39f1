"""Rows: the adjacency lists of one direction as plain arrays, all that an algorithm sees.

Neighbor ``i`` of vertex index ``v`` is ``columns[begin[v] + i * step]``, for ``i < degree[v]``, and
the weight of that entry ``weights[weight_begin[v] + i * step]``. The neighbors of a row increase.
Arrays are of the engine's array module (NumPy or CuPy); none of them may be written.

Live
    ``columns`` is the image of the graph itself, of layout ``runs``: no entry is copied, ``begin``
    and ``degree`` are written once between two batches. Valid until the next batch.
Pinned
    A copy as CSR, in memory of its own: rows lie one after the other (``indptr``), ``step`` is 1.
    Valid as long as it is held. Layouts whose rows lie in several pieces give no others.

Two words that lie apart in an entry are no float64: rows with float64 weights are pinned ones.

Which of the two an algorithm gets makes no difference to it. Rows come from
``engine.Reader.rows``, which `DynamicGraph` and `Epoch` both stand on.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

#: An array of the engine's array module.
Array = Any


@dataclass(frozen=True, eq=False)
class Rows:
    """Adjacency lists of all vertices in one direction.

    Where rows of some vertices were asked for, row ``v`` is that of the v-th of them.
    """

    #: int64[n]: index in ``columns`` of the first entry of each row; of no meaning for empty ones.
    begin: Array
    #: uint32[n]: entries of each row; 0 for absent vertices.
    degree: Array
    #: bool[n]: whether each vertex is in the graph.
    present: Array
    #: uint32: vertex indices, and, between the rows of a live graph, anything else.
    columns: Array
    #: Items from one entry of a row to the next, in ``columns`` and ``weights``.
    step: int
    #: Entries of all rows, and vertices that are in the graph.
    num_entries: int
    num_vertices: int
    #: int64[n + 1], of pinned rows: where each row begins and ends; None: they are live.
    indptr: Array | None = None
    #: float32 or float64; None: none were asked for.
    weights: Array | None = None
    #: int64[n]: index in ``weights`` of the first weight of each row; of pinned rows ``begin``.
    weight_begin: Array | None = None
    #: Whether rows may be read two entries at a time: each begins at an even item of ``columns``,
    #: and has an item after its last entry where there is an odd number of them.
    in_pairs: bool = False

    @property
    def count(self) -> int:
        """Number of rows: vertex indices ``0 … count - 1``."""
        return int(self.degree.size)

    @property
    def walked(self) -> tuple[Array, Array, Array, np.int64]:
        """Arguments of a kernel that reads rows: ``begin``, ``degree``, ``columns``, ``step``."""
        return self.begin, self.degree, self.columns, np.int64(self.step)


def entries_naming(rows: Rows, vertices: Array, xp: ModuleType) -> tuple[Array, Array]:
    """Find the entries of pinned rows that name one of some vertices.

    Parameters
    ----------
    rows
        Rows of all vertices.
    vertices
        Their indices, where the rows are.
    xp
        Array module of the rows.

    Returns
    -------
    rows, columns : uint32[k] each
        Vertex and neighbor of each such entry, row by row.
    """
    named = xp.zeros(rows.count, np.bool_)
    named[vertices] = True
    entries = xp.flatnonzero(named[rows.columns])
    sources = xp.searchsorted(rows.indptr, entries, side="right") - 1
    return sources.astype(np.uint32), rows.columns[entries]


class EntryTimes(NamedTuple):
    """A time of every entry of the rows of out-neighbors, in memory of their own."""

    #: int64[n + 1]: where the entries of each row begin and end, as of pinned rows.
    indptr: Array
    #: int64[entries], in the graph's unit.
    values: Array


@dataclass(frozen=True, eq=False)
class Adjacencies:
    """The rows of a graph in the directions that it stores."""

    #: Out-neighbors.
    out: Rows
    #: In-neighbors. Of an undirected graph ``out`` itself; None: not stored.
    into: Rows | None

    @property
    def directed(self) -> bool:
        """Whether the two directions differ."""
        return self.into is not self.out
