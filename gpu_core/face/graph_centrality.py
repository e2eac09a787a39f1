"""Centralities as methods of a graph, by their names in networkx.

The modules in ``algorithms/centrality/`` say what they compute, and what the parameters mean.
"""

from __future__ import annotations

from ..algorithms.centrality import betweenness_centrality as _betweenness
from ..algorithms.centrality import katz_centrality as _katz
from ..algorithms.centrality import pagerank as _pagerank
from ..algorithms.centrality.pagerank_result import PageRankResult
from ..algorithms.shared.vertex_vectors import VertexValues
from .graph_calls import GraphCalls


class GraphCentrality(GraphCalls):
    """Centralities of all vertices; see `GraphReader`."""

    def pagerank(
        self,
        *,
        alpha: float = 0.85,
        personalization: VertexValues | None = None,
        max_iter: int = 500,
        tol: float = 1e-6,
        nstart: VertexValues | PageRankResult | None = None,
        weight: str | None = None,
        dangling: VertexValues | None = None,
        networkx_tol: bool = False,
    ) -> PageRankResult:
        """PageRank of every vertex, with networkx' parameters.

        Parameters
        ----------
        alpha
            Damping factor, from 0 to 1: probability of following an edge rather than jumping.
        personalization
            Where jumps land: values by vertex, ``>= 0``; they need not sum to 1, and vertices left
            out get 0. They are a mapping of ids, a Series of pandas by its index, ``(ids,
            values)``, a frame with columns ``vertex`` and ``value``, or a result of one value a
            vertex. None: all vertices alike.
        max_iter
            Iterations at most.
        tol
            Ends when an iteration changes the ranks by at most this in sum (L1 norm).
        nstart
            Ranks to start from: values by vertex, or the result of an earlier call.
        weight
            ``"weight"``: edges are followed in proportion to their weights, which must be ``>= 0``.
            None: all alike.
        dangling
            Where the rank of vertices without out-edges goes; None: as ``personalization``.
        networkx_tol
            Whether ``tol`` is multiplied by the number of vertices, as networkx does.

        Returns
        -------
        PageRankResult
            ``vertices``, ``pagerank`` (float64[n], sum 1), ``iterations``, ``residual`` and
            ``error_bound``: a proven bound on the L1 distance from the exact ranks.

        Raises
        ------
        ConvergenceError
            ``max_iter`` iterations were not enough.
        VertexNotFoundError
            A vertex of ``personalization``, ``nstart`` or ``dangling`` is not in the graph.
        SettingsError
            A parameter is out of its range, values sum to 0, or a weight is negative.
        """
        given = _pagerank.ANALYTIC.plain({
            "alpha": alpha, "max_iter": max_iter, "tol": tol, "networkx_tol": networkx_tol,
        })  # fmt: skip
        with self._computing():
            if not isinstance(nstart, PageRankResult):
                nstart = self._keys_of_values("nstart", nstart)
            found = _pagerank.pagerank(
                self._reader,
                personalization=self._keys_of_values("personalization", personalization),
                nstart=nstart,
                weight=weight,
                dangling=self._keys_of_values("dangling", dangling),
                **given,
            )
        return self._of_users(found)

    def katz_centrality(
        self,
        *,
        alpha: float = 0.1,
        beta: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-6,
        normalized: bool = True,
        weight: str | None = None,
    ) -> _katz.KatzResult:
        """Katz centrality with networkx' parameters: walks that end at a vertex, longer ones less.

        Parameters
        ----------
        alpha
            Factor by which a walk counts less for each of its edges.
        beta
            Value of every vertex by itself.
        max_iter
            Iterations at most.
        tol
            Ends when an iteration changes the values by less than ``tol`` times the number of
            vertices in sum (L1 norm).
        normalized
            Whether values are divided by their Euclidean norm.
        weight
            ``"weight"``: a walk counts by the product of its weights. None: all alike.

        Returns
        -------
        KatzResult
            ``vertices``, ``katz_centrality`` (float64[n]) and ``iterations``.

        Raises
        ------
        ConvergenceError
            ``max_iter`` iterations were not enough: ``alpha`` is too large for this graph, mostly.
        SettingsError
            An argument is out of range, or the graph has no weights.
        """
        given = _katz.ANALYTIC.plain({
            "alpha": alpha, "beta": beta, "max_iter": max_iter, "tol": tol,
            "normalized": normalized,
        })  # fmt: skip
        with self._computing():
            return self._of_users(_katz.katz_centrality(self._reader, weight=weight, **given))

    def betweenness_centrality(
        self,
        k: int | None = None,
        *,
        normalized: bool = True,
        endpoints: bool = False,
        seed: int = 0,
    ) -> _betweenness.BetweennessResult:
        """Share of shortest paths through every vertex, by hops, with networkx' parameters.

        Parameters
        ----------
        k
            Vertices that paths are counted from, a sample drawn with ``seed``; None: all. Exact
            values take as many searches as there are vertices.
        normalized
            Whether values are divided by the number of pairs of vertices.
        endpoints
            Whether the two ends of a path are on it.
        seed
            Of the sample, which is that of networkx with this seed, if its graph was given its
            vertices in the order of `vertices`.

        Returns
        -------
        BetweennessResult
            ``vertices`` and ``betweenness_centrality`` (float64[n]).

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph(directed=False)
        >>> graph.insert_edges([1, 2, 3], [2, 3, 4]).edges_added
        3
        >>> graph.betweenness_centrality(normalized=False).betweenness_centrality
        array([0., 2., 2., 0.])
        """
        given = _betweenness.ANALYTIC.plain({
            "k": k, "normalized": normalized, "endpoints": endpoints, "seed": seed,
        })  # fmt: skip
        with self._computing():
            return self._of_users(_betweenness.betweenness_centrality(self._reader, **given))
