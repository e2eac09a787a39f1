"""The algorithms as methods of a graph, by their names in networkx, and `compute`, by any name.

Each method turns users' ids into what the engine calls vertices, and the result back. The module in
``algorithms/`` that it calls says what it computes, and what its parameters mean. `compute` needs
no method: what is in the registry is there at once.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ..algorithms.centrality import betweenness_centrality as _betweenness
from ..algorithms.centrality import katz_centrality as _katz
from ..algorithms.centrality import pagerank as _pagerank
from ..algorithms.components import core_number as _core_number
from ..algorithms.registry import analytic_named
from ..algorithms.shared.vertex_vectors import VertexValues
from ..algorithms.traversal import bfs as _bfs
from ..algorithms.traversal import sssp as _sssp
from ..algorithms.triangles import clustering as _clustering
from ..algorithms.triangles import triangles as _triangles
from ..algorithms.triangles.definitions import DIRECTED
from ..algorithms.triangles.local_clustering import neighborhood
from ..errors import SettingsError, VertexNotFoundError
from ..image.fields import NONE
from ..names.hashing import NO_KEY
from ..names.user_ids import UserIds, is_one, listed, nth
from ..printable import others_shown
from ..programs import run as _programs
from ..programs.program import Program
from ..table import Table
from .arguments import Id, Ids, count_of, yes_or_no
from .graph_groups import GraphGroups
from .named_values import is_series, named_values

Int64s = npt.NDArray[np.int64]


class GraphAlgorithms(GraphGroups):
    """Algorithms of a graph; see `GraphReader`."""

    def compute(self, analytic: str, **parameters: Any) -> Any:
        """Compute an analytic by its name and parameters, as a run does between batches.

        ``docs/analytics.md`` lists them; most also have a method of their own name, with all that
        it can do.

        Raises
        ------
        SettingsError
            There is no such analytic, a parameter is unknown, missing or of the wrong type, or the
            graph is not of the kind that it needs.
        """
        found = analytic_named(analytic)
        found.check_names(parameters)
        parameters = found.plain(parameters)
        unmet = found.needs.unmet(
            directed=self._kind.directed, has_weights=self._kind.record.has_weight
        )
        if unmet is not None:
            msg = f"{analytic} {unmet}"
            raise SettingsError(msg)
        with self._computing():
            for each in found.parameters:
                given = parameters.get(each.name)
                if each.is_by_vertex:
                    parameters[each.name] = self._keys_of_values(each.name, given, strict=False)
                elif each.has_vertices and given is not None:
                    parameters[each.name] = self._keys_of_ids(each.name, given, strict=False)
            return self._of_users(found.compute(self._reader, **parameters))

    def _keys_of_ids(self, name: str, given: Any, *, strict: bool = True) -> Any:
        """Vertices as an algorithm takes them; unknown ones are refused, or of no vertex."""
        if type(self._ids) is UserIds:
            return given
        keys = self._ids.keys(name, listed(given))
        unknown = np.flatnonzero(keys == NO_KEY) if self._ids.names is not None else keys[:0]
        if strict and unknown.size:
            more = others_shown(unknown.size - 1)
            msg = f"{name} names vertex {nth(listed(given), int(unknown[0]))}, which is not in the "
            msg += f"graph{more}; check with has_vertices()"
            raise VertexNotFoundError(msg)
        return keys

    def _keys_of_values(self, name: str, given: Any, *, strict: bool = True) -> Any:
        """Values of vertices as an algorithm takes them, likewise; what has no ids as it is."""
        if given is None or isinstance(given, Table):
            return given
        named = self._named(name, given, strict=strict)
        if named is None:
            return given
        vertices, values = named
        return self._keys_of_ids(name, vertices, strict=strict), values

    def _named(self, name: str, given: Any, *, strict: bool = True) -> tuple[Any, Any] | None:
        """Users' ids and values of what has both, as `named_values`; None: it is values alone.

        ``strict``: a Series of unknown vertices is refused here, where it is known to be one.
        """
        named = named_values(name, given)
        if strict and named is not None and is_series(given):
            ids = self._ids.keys(f"the index of {name}", named[0])
            unknown = np.flatnonzero(self._reader.indices_of(ids) == NONE)
            if unknown.size:
                more = others_shown(unknown.size - 1)
                msg = f"{name} is a Series, whose index are ids of vertices, and vertex "
                msg += f"{nth(named[0], int(unknown[0]))} is not in the graph{more}; give "
                msg += "to_numpy() of one in the order of vertices()"
                raise VertexNotFoundError(msg)
        return named

    def pagerank(
        self,
        *,
        alpha: float = 0.85,
        personalization: VertexValues | None = None,
        max_iter: int = 500,
        tol: float = 1e-6,
        nstart: VertexValues | _pagerank.PageRankResult | None = None,
        weight: str | None = None,
        dangling: VertexValues | None = None,
        networkx_tol: bool = False,
    ) -> _pagerank.PageRankResult:
        """PageRank of every vertex, with networkx' parameters.

        Parameters
        ----------
        alpha
            Damping factor, from 0 to 1: probability of following an edge rather than jumping.
        personalization
            Where jumps land: values by vertex, ``>= 0``; they need not sum to 1, and vertices left
            out get 0. None: all vertices alike.
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
            found = _pagerank.pagerank(
                self._reader,
                personalization=self._keys_of_values("personalization", personalization),
                nstart=self._keys_of_values("nstart", nstart),
                weight=weight,
                dangling=self._keys_of_values("dangling", dangling),
                **given,
            )
        return self._of_users(found)

    @overload
    def clustering(
        self, vertices: None = None, *, directed: str = ...
    ) -> _clustering.ClusteringResult: ...

    @overload
    def clustering(self, vertices: Id, *, directed: str = ...) -> float: ...  # type: ignore[overload-overlap]

    @overload
    def clustering(self, vertices: Ids, *, directed: str = ...) -> _clustering.ClusteringResult: ...

    def clustering(
        self, vertices: Id | Ids | None = None, *, directed: str = DIRECTED[0]
    ) -> _clustering.ClusteringResult | float:
        """Degree, triangles and clustering coefficients; see `algorithms.triangles.clustering`.

        The result does not change with the graph. On a GPU its arrays are copied to the host when
        they are first read.

        Parameters
        ----------
        vertices
            Ids: a result of these vertices in the given order; only they and their neighbors are
            read. One id: its coefficient, a float. None: all vertices.
        directed
            Definition of the coefficients of a directed graph: ``"networkx"`` (Fagiolo's, the
            default) or ``"ldbc"`` (LDBC Graphalytics' LCC). In undirected graphs both are equal.

        Returns
        -------
        ClusteringResult, or float for one id
        """
        if vertices is None:
            with self._computing():
                return self._of_users(_clustering.clustering(self._reader, directed=directed))
        found = self._clustering_of(listed(vertices), directed)
        return float(found.clustering[0]) if is_one(vertices) else found

    def _clustering_of(self, vertices: Ids, directed: str) -> _clustering.ClusteringResult:
        from ... import DynamicGraph

        with self._computing():
            indices = self._known("vertices", vertices)
            keys = self._reader.ids_of(indices)
            sources, targets = neighborhood(self._reader, indices)
        around = DynamicGraph(directed=self._kind.directed, engine="host")
        around.insert_vertices(np.unique(indices))
        around.insert_edges(sources, targets)
        found = around.clustering(directed=directed).rows_of(indices, keys)
        return self._of_users(found)

    def bfs(self, sources: Id | Ids, *, parents: bool = False) -> _bfs.BfsResult:
        """Hops from the nearest of some vertices to all, along out-edges: breadth-first search.

        Parameters
        ----------
        sources
            Id of a vertex, or of several.
        parents
            Whether the result also has a ``parent`` for each vertex: among the vertices with an
            edge to it that are one hop nearer, the first in the order of `vertices`. Sources and
            vertices that are not reached have -1, or ``""`` if ids are text.

        Raises
        ------
        VertexNotFoundError
            A source is not in the graph.

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph()
        >>> graph.insert_edges([1, 2, 4], [2, 3, 1]).edges_added
        3
        >>> found = graph.bfs(1, parents=True)
        >>> found.distance
        array([ 0,  1,  2, -1], dtype=int32)
        >>> found.parent
        array([-1,  1,  2, -1])
        """
        with self._computing():
            keys = self._keys_of_ids("sources", sources)
            given = _bfs.ANALYTIC.plain({"parents": parents})
            return self._of_users(_bfs.bfs(self._reader, keys, **given))

    def sssp(self, source: Id, *, weight: str | None = "weight") -> _sssp.SsspResult:
        """Least sum of weights of a path from a vertex to every vertex, along out-edges.

        Parameters
        ----------
        source
            Id of a vertex.
        weight
            ``"weight"``: edges are as long as their weights, which must be ``>= 0``, or 1 where
            they have none. None: 1 each, so that distances are hops.

        Raises
        ------
        VertexNotFoundError
            The source is not in the graph.
        SettingsError
            A weight is negative.

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph(records="weighted")
        >>> graph.insert_edges([1, 1, 2, 4], [2, 3, 3, 1], weight=[0.5, 2, 1, 1]).edges_added
        4
        >>> graph.sssp(1).distance
        array([0. , 0.5, 1.5, inf])
        """
        with self._computing():
            keys = self._keys_of_ids("source", source)
            return self._of_users(_sssp.sssp(self._reader, keys, weight=weight))

    def core_number(self) -> _core_number.CoreNumberResult:
        """Largest k for which each vertex is in the k-core; edges in and out both count.

        Raises
        ------
        SettingsError
            A vertex has an edge to itself.

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph(directed=False)
        >>> graph.insert_edges([1, 2, 3, 3], [2, 3, 1, 4]).edges_added
        4
        >>> graph.core_number().core_number
        array([2, 2, 2, 1], dtype=int32)
        """
        with self._computing():
            return self._of_users(_core_number.core_number(self._reader))

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

        `algorithms.centrality.katz_centrality` says what the parameters mean.

        Raises
        ------
        ConvergenceError
            ``max_iter`` steps were not enough: ``alpha`` is too large for this graph, mostly.
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

    def run_program(
        self,
        program: Program,
        values: Any,
        *,
        default: float | None = None,
        active: Id | Ids | None = None,
        max_supersteps: int | None = None,
        tolerance: float | None = None,
        direction: str = "auto",
        weight: str | None = "weight",
        vertex_order: str = "none",
        remap: bool = False,
    ) -> _programs.ProgramResult:
        """Run functions of your own over all edges, superstep by superstep; see `Program`.

        Parameters
        ----------
        program
            The functions.
        values
            Initial values: one number for all vertices; one for each, in the order of `vertices`;
            or a mapping of ids, a pandas Series by its index, or ``(ids, values)``.
        default
            Initial value of vertices that such ``values`` leave out.
        active
            Ids of the vertices that send in the first superstep; None: all.
        max_supersteps
            Most supersteps; None: until no vertex is active, however many that takes.
        tolerance
            With ``all_vertices=True``: the program also ends when a superstep changes the values
            by at most this in sum (L1 norm).
        direction
            ``"push"``: active vertices write to their neighbors; ``"pull"``: all vertices read from
            theirs, from a reversed copy of all edges if in-neighbors are not stored; ``"auto"``:
            whichever is less work in each superstep. It does not change values.
        weight
            ``"weight"``: edges have their weights, or 1 where there are none. None: 1 each.
        vertex_order
            For pulls on a GPU: ``"linear"`` and ``"log2"`` sort vertices by degree into buckets of
            equal width or by the logarithm, so that neighboring threads read rows of similar
            length; ``"none"`` keeps their order. It does not change values.
        remap
            For pulls on a GPU: True reads short rows from a copy, made once per call, in which the
            entries of 32 rows are stored column by column. It does not change values.

        Raises
        ------
        SettingsError
            Values are no numbers of the program's type, some are missing, or the direction is not
            one of the program.
        VertexNotFoundError
            ``values`` or ``active`` names a vertex that is not in the graph.
        """
        if max_supersteps is not None:
            max_supersteps = count_of("max_supersteps", max_supersteps)
        with self._computing():
            return self._of_users(
                _programs.run_program(
                    self._reader,
                    program,
                    values if np.isscalar(values) else self._keys_of_values("values", values),
                    default=default,
                    active=None if active is None else self._keys_of_ids("active", listed(active)),
                    options=_programs.RunOptions(
                        max_supersteps,
                        tolerance,
                        direction,
                        weight,
                        vertex_order,
                        yes_or_no("remap", remap),
                    ),
                )
            )

    def triangles(self) -> Int64s:
        """int64[n]: triangles through each vertex, in the order of `vertices`."""
        with self._computing():
            return _triangles.triangles(self._reader)

    def average_clustering(self, *, directed: str = DIRECTED[0]) -> float:
        """Mean of the local clustering over all vertices; ``directed`` as of `clustering`."""
        return self.clustering(directed=directed).average

    def transitivity(self) -> float:
        """Three times the triangles over the paths of length two, whichever way edges point."""
        with self._computing():
            return _clustering.transitivity(self._reader)
