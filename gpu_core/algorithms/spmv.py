"""Sparse matrix times vector: the adjacency matrix of the graph, and a value of every vertex.

::

    y[u] = sum over edges (u, v) of w(u, v) x[v]        A x, over out-neighbors
    y[v] = sum over edges (u, v) of w(u, v) x[u]        A^T x, over in-neighbors

``w`` are the weights, or 1. An undirected edge is an entry of both its vertices, a self loop one
entry: ``A`` is what ``to_scipy`` gives. Values, products and sums are float64, and a weight becomes
float64 before it is multiplied.

Order of sums: a row is added up in the order of vertex indices, from the first entry to the last on
the host, 32 partial sums side by side on a GPU. So an engine gives the same bits with any number of
threads; two engines, and SciPy where users' ids have another order, differ by rounding: by at most
``d u sum |w x|`` for ``d`` entries and ``u = 2^-53``.

What an engine offers: ``algorithms.spmv`` with ``multiply``, of rows alone. A product needs a
vector, which no run has, so this is no analytic. Not here: how users give ``x``
(`graph_products.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..printable import counted
from .shared.adjacencies import adjacencies_of
from .shared.by_vertex import ValuesResult, in_order, order_of

if TYPE_CHECKING:
    from ..engine import Reader

Vector = npt.NDArray[np.float64]


class SpmvResult(ValuesResult):
    """A value of every vertex."""

    @property
    def value(self) -> Vector:
        """float64[n], as `vertices`."""
        return self._columns.values

    @property
    def columns(self) -> Mapping[str, npt.NDArray[Any]]:
        """Columns by name: ``vertex`` and ``value``."""
        return {"vertex": self.vertices, "value": self.value}

    def __repr__(self) -> str:
        return f"<SpmvResult {counted(len(self), 'vertex')}>"


def spmv(
    reader: Reader,
    x: Vector,
    vertices: npt.NDArray[np.uint32] | None,
    *,
    transpose: bool,
    weighted: bool,
) -> SpmvResult:
    """Multiply; the reader's lock is held.

    Parameters
    ----------
    x
        float64[k], values of the vertices of these indices, each named once; of others it is 0.
    vertices
        uint32[k]; None: all, in increasing order of users' ids.
    transpose
        Whether rows of in-neighbors are added up.
    weighted
        By the weights, which the graph must have; else by 1.
    """
    order, twins = order_of(reader), reader.algorithms
    given = order.indices if vertices is None else vertices
    values = twins.spmv.multiply(
        reader.workspace,
        adjacencies_of(reader, weighted=weighted),
        twins.in_order.values_by_index(reader.workspace, x, given, reader.vertex_count),
        transpose=transpose,
        weighted=weighted,
    )
    return SpmvResult(in_order(reader, values, order))
