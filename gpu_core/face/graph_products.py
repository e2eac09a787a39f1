"""The adjacency matrix times a vector, and PageRank from many sources, as methods of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..algorithms import spmv as _spmv
from ..algorithms.centrality import pagerank as _pagerank
from ..algorithms.centrality import personalized_pagerank as _personalized
from ..algorithms.shared.vertex_vectors import VertexValues
from ..choices import check_weight
from ..errors import SettingsError
from ..names.user_ids import listed
from ..properties.masked import refuse_masked
from ..table import Table
from .arguments.checks import Id, Ids, count_of, yes_or_no
from .arguments.given_rows import Frame
from .graph_calls import GraphCalls

#: A value of every vertex in the order of `vertices`, or values of some, by their ids.
Vector = npt.ArrayLike | VertexValues | Table | Frame


class GraphProducts(GraphCalls):
    """Products with the adjacency matrix; see `GraphReader`."""

    def spmv(
        self, x: Vector, *, transpose: bool = False, weight: str | None = "weight"
    ) -> _spmv.SpmvResult:
        """Multiply the adjacency matrix and a vector: ``y = A x``, float64.

        ``A[u, v]`` is the weight of the edge from ``u`` to ``v``, as in `to_scipy`, so a vertex
        gets the sum over its out-neighbors. A row is added up in the order of the engine's vertex
        indices (that of `vertices` for ``ids="dense"``): the same bits with any number of threads;
        the other engine and SciPy differ by rounding.

        Parameters
        ----------
        x
            A value for every vertex, [n], in the order of `vertices`; or for some vertices, 0 for
            the others: a mapping of ids, a Series of pandas by its index, ``(ids, values)``, a
            frame with columns ``vertex`` and ``value``, or a result of one value a vertex, such as
            another product.
        transpose
            Whether the product is ``A^T x``: a vertex gets the sum over its in-neighbors. If the
            graph does not store these, all edges are transposed first.
        weight
            ``"weight"``: edges count by their weights, or 1 without weights. None: 1 each.

        Returns
        -------
        SpmvResult
            ``vertices`` [n] and ``value``, float64[n].

        Raises
        ------
        VertexNotFoundError
            ``x`` names a vertex that is not in the graph.
        SettingsError
            ``x`` has another form or length, or ``weight`` is unknown.

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph(records="weighted")
        >>> graph.insert_edges([1, 1, 2], [2, 3, 3], weight=[0.5, 2, 4]).edges_added
        3
        >>> graph.spmv([1, 10, 100]).value
        array([205., 400.,   0.])
        >>> graph.spmv({1: 1}, transpose=True).value
        array([0. , 0.5, 2. ])
        """
        check_weight(weight)
        is_transposed = yes_or_no("transpose", transpose)
        weighted = weight is not None and self._kind.record.has_weight
        with self._computing():
            found = _spmv.spmv(
                self._reader, *self._vector("x", x), transpose=is_transposed, weighted=weighted
            )
            return self._of_users(found)

    def _vector(
        self, name: str, given: Any
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint32] | None]:
        """float64[k] and uint32[k]: values of vertices, and whose; None: of all, in order."""
        named = self._named(name, given)
        if named is None:
            numbers, size = _numbers(name, given), self._reader.num_vertices
            if numbers.size != size:
                msg = (
                    f"{name} has {numbers.size:,} values, but the graph {size:,} vertices; "
                    f"give one each, in the order of vertices(), or a mapping of ids"
                )
                raise SettingsError(msg)
            return numbers, None
        ids, numbers = named[0], _numbers(name, named[1])
        indices = self._known(name, ids)
        if indices.size != numbers.size:
            msg = f"{name} has {indices.size:,} ids and {numbers.size:,} values; give pairs"
            raise SettingsError(msg)
        if np.unique(indices).size < indices.size:
            msg = f"{name} names a vertex more than once; name it once"
            raise SettingsError(msg)
        return numbers, indices

    def personalized_pagerank(
        self,
        sources: Id | Ids,
        *,
        k: int | None = None,
        alpha: float = 0.85,
        tol: float = 1e-6,
        max_iter: int = 500,
        weight: str | None = None,
    ) -> _personalized.PersonalizedPageRankResult:
        """PageRank from each of some vertices, many at once: all jumps land on the source.

        The ranks of a source are those of ``pagerank(personalization={source: 1})``, with an error
        bound of their own; eight sources share each pass over the edges.

        Parameters
        ----------
        sources
            Id of a vertex, or of several.
        k
            Only so many vertices of largest rank for each source, largest first. None: all
            vertices, in the order of `vertices`, which takes 24 bytes for each source and vertex.
        alpha, tol, max_iter, weight
            As of `pagerank`.

        Returns
        -------
        PersonalizedPageRankResult
            A row for each source and vertex: ``source``, ``vertex`` (users' ids), ``pagerank``
            float64. For each source, in the order given: ``sources``, ``iterations`` int64[s],
            ``residual`` and ``error_bound`` float64[s], a proven bound on the L1 distance from the
            exact ranks.

        Raises
        ------
        VertexNotFoundError
            A source is not in the graph.
        ConvergenceError
            ``max_iter`` steps were not enough for a source.
        SettingsError
            A parameter is out of its range, or a weight is negative.

        Notes
        -----
        Source: Jeh, Widom, "Scaling Personalized Web Search", WWW 2003.

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph()
        >>> graph.insert_edges([1, 2, 3, 3], [2, 3, 1, 4]).edges_added
        4
        >>> found = graph.personalized_pagerank([1, 3], k=2, tol=1e-9)
        >>> print(found)
        source  vertex  pagerank
             1       1  0.347275
             1       2  0.295184
             3       3  0.452233
             3       1  0.192199
        """
        given = _pagerank.ANALYTIC.plain({"alpha": alpha, "tol": tol, "max_iter": max_iter})
        with self._computing():
            indices = self._known("sources", listed(sources))
            found = _personalized.personalized_pagerank(
                self._reader, indices, k=None if k is None else count_of("k", k), weight=weight,
                **given,
            )  # fmt: skip
            keys = self._reader.ids_of(indices)
        ids = self._ids.ids_of_keys(keys)
        return _personalized.PersonalizedPageRankResult(
            ids, np.repeat(ids, found.counts), self._ids.ids_of_keys(found.vertices), found
        )


def _numbers(name: str, values: Any) -> npt.NDArray[np.float64]:
    """Values as float64[n], the array itself where it is such."""
    refuse_masked(name, values)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        array = np.empty(0, object)
    if array.ndim != 1 or (array.dtype.kind not in "iufb" and array.size):
        found = f"{array.dtype}{list(array.shape)}"
        msg = f"{name} is {found}; give one number a vertex, in the order of vertices()"
        raise SettingsError(msg)
    return np.asarray(array, np.float64)
