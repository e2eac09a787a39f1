"""A graph as it is read: queries, exports and algorithms, of a `DynamicGraph` or an `Epoch` of it.

All calls are vectorized, arrays in and arrays out, in users' own ids; results are sorted by
the int64 ids that the engine knows them by (``names/user_ids.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .algorithms import bfs as _bfs
from .algorithms import clustering as _clustering
from .algorithms import pagerank as _pagerank
from .algorithms import triangles as _triangles
from .algorithms.local_clustering import neighborhood
from .algorithms.registry import analytic_named
from .arguments import Id, Ids
from .engine import Reader
from .errors import SettingsError, VertexNotFoundError
from .graph_forms import GraphForms
from .graph_queries import GraphQueries
from .kind import GraphKind
from .maintenance import arrays_of
from .names.hashing import NO_KEY
from .names.table import Mark
from .names.user_ids import UserIds, is_one, listed, nth
from .records import TIME_PROPERTIES
from .snapshot import CanonicalEdges, CsrSnapshot, checkpoint_arrays, state_hash
from .table import Table, VertexTable
from .times import TimeUnit

Int64s = npt.NDArray[np.int64]


class GraphReader(GraphQueries, GraphForms):
    """What can be asked of a graph.

    A class of it sets ``_kind``, what the graph is, ``_time_unit``, what its times count, ``_ids``,
    how users call vertices, and says by which ``_reader`` it is read.
    """

    _kind: GraphKind
    _time_unit: TimeUnit | None
    #: Names that are of the graph; None: all that there are.
    _names_mark: Mark | None = None

    @property
    def _reader(self) -> Reader:
        raise NotImplementedError

    @property
    def lock(self) -> AbstractContextManager[Any, bool | None]:
        """Held by every call; ``with graph.lock:`` asks several things of the same graph."""
        return self._reader.lock

    @property
    def kind(self) -> GraphKind:
        """What the graph is, as one value."""
        return self._kind

    def _described(self) -> str:
        """Size and kind, for people."""
        direction = "directed" if self._kind.directed else "undirected"
        vertices, edges = self._reader.num_vertices, self._reader.num_edges
        device = "" if self.device is None else f" on GPU {self.device}"
        rule = f" ({self.on_repeat} of repeats)" if self._kind.combines_weights else ""
        return (
            f"{vertices:,} {'vertex' if vertices == 1 else 'vertices'}, "
            f"{edges:,} {'edge' if edges == 1 else 'edges'}, "
            f"{direction}, {self._kind.record.name}{rule}, {self._reader.name}{device}"
        )

    # -- what the graph is -------------------------------------------------------------------

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self._kind.directed

    @property
    def records(self) -> str:
        """Edge records: ``simple``, ``weighted`` or ``semantic``; with float64 weights ``…64``."""
        return self._kind.record.name

    @property
    def weights(self) -> str | None:
        """What weights are kept as: ``float32`` or ``float64``; None: there are none."""
        return self._kind.record.weights

    @property
    def storage(self) -> str:
        """``soa`` or ``aos``."""
        return self._kind.storage

    @property
    def layout(self) -> str:
        """``runs``, ``chain`` or ``tree``."""
        return self._kind.layout

    @property
    def engine(self) -> str:
        """The engine that works on the image: ``host`` or ``cuda``."""
        return self._reader.name

    @property
    def device(self) -> int | None:
        """Ordinal of the GPU that holds the graph; None: host memory."""
        return self._reader.ordinal

    @property
    def ids(self) -> str:
        """``any``, ``dense``, ``string``, ``uuid`` or ``uint64``."""
        return self._kind.ids

    @property
    def user_ids(self) -> UserIds:
        """How users call the vertices that the engine knows by int64 ids."""
        return self._ids

    @property
    def reverse(self) -> bool:
        """Whether in-neighbors can be asked for (undirected graphs: always)."""
        return self._kind.has_reverse

    @property
    def self_loops(self) -> str:
        """What happens to self loops: ``drop``, ``keep`` or ``reject``."""
        return self._kind.self_loops

    @property
    def create_vertices(self) -> bool:
        """Whether inserting an edge creates its end points."""
        return self._kind.create_vertices

    @property
    def on_repeat(self) -> str:
        """Which weight an edge has that was inserted again, such as ``last`` or ``sum``."""
        return self._kind.on_repeat

    @property
    def time_unit(self) -> str | None:
        """What times count, as Arrow calls it, such as ``timestamp[us]``; None: not decided yet."""
        return None if self._time_unit is None else str(self._time_unit)

    @property
    def num_vertices(self) -> int:
        """Vertices in the graph."""
        return self._reader.num_vertices

    @property
    def num_edges(self) -> int:
        """Edges in the graph; an undirected edge counts once."""
        return self._reader.num_edges

    # -- copies ------------------------------------------------------------------------------

    def to_csr(self) -> CsrSnapshot:
        """Copy the graph as CSR over its vertices in the order of `vertices`."""
        csr = self.csr_of_keys()
        return replace(csr, vertices=self._ids.shown(csr.vertices))

    def csr_of_keys(self) -> CsrSnapshot:
        """As `to_csr`, with vertices by the int64 ids that the engine knows (``names/``)."""
        reader = self._reader
        with reader.lock:
            order = reader.sorted_order()
            indptr, columns, properties = reader.csr(order)
            ids = reader.user_ids()[order]
        if self._time_unit is not None:
            properties |= {
                name: properties[name].view(self._time_unit.dtype) for name in TIME_PROPERTIES
            }
        return CsrSnapshot(
            ids, indptr, columns.view(np.int32), properties, self._kind.directed, self.time_unit
        )

    def edges(self, *, since: Any = None, until: Any = None) -> CanonicalEdges:
        """Copy the edges, sorted by (src, dst); undirected: each once, ``src <= dst``.

        Names have the order of `vertices`, which is not that of the alphabet.

        Parameters
        ----------
        since, until
            Of semantic records: only edges whose last time is at or after ``since`` and before
            ``until``. An integer in the graph's unit of time, a `datetime`, `numpy.datetime64` or
            what that makes of a string; UTC where it has no zone and the graph's times have one.
        """
        return self.to_csr().edges().between(since, until)

    def checkpoint_arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Everything that a restart needs, by vertex index.

        Returns
        -------
        dict of arrays
            ``vertex_ids`` int64, ``present`` bool and ``out_degree`` uint32, one item a vertex
            record; ``free_indices`` uint32 in the order in which they will be used again;
            ``dst_index`` uint32, row after row, each increasing, undirected with src <= dst; the
            property columns; where times have a unit, ``time_unit``, its name as one string; where
            clustering is maintained, ``triangles``, int64, one item a vertex record.
        """
        with self._reader.lock:
            arrays = checkpoint_arrays(self._reader) | self._ids.arrays(self._names_mark)
            arrays |= arrays_of(self._reader)
        if self._time_unit is not None:
            arrays["time_unit"] = np.array([str(self._time_unit)])
        return arrays

    def state_hash(self) -> str:
        """SHA-256 of the canonical graph: same for every layout, engine, batch size, restart."""
        return state_hash(self.csr_of_keys(), records=self._kind.record.name)

    # -- analytics ---------------------------------------------------------------------------

    def compute(self, analytic: str, **parameters: Any) -> Any:
        """Compute an analytic by its name and parameters, as a run does between batches.

        ``docs/analytics.md`` lists them; most also have a method of their own name, with all that
        it can do.

        Raises
        ------
        SettingsError
            There is no such analytic, a parameter is unknown or missing, or the graph is not of the
            kind that it needs.
        """
        found = analytic_named(analytic)
        found.check_names(parameters)
        unmet = found.needs.unmet(
            directed=self._kind.directed, has_weights=self._kind.record.has_weight
        )
        if unmet is not None:
            msg = f"{analytic} {unmet}"
            raise SettingsError(msg)
        with self._reader.lock:
            for each in found.parameters:
                given = parameters.get(each.name)
                if each.is_by_vertex:
                    parameters[each.name] = self._keys_of_values(each.name, given, strict=False)
                elif each.has_vertices and given is not None:
                    parameters[each.name] = self._keys_of_ids(each.name, given, strict=False)
            return self._of_users(found.compute(self._reader, **parameters))

    def _of_users(self, result: Any) -> Any:
        """A result of an algorithm, in users' ids."""
        if type(self._ids) is UserIds or not isinstance(result, VertexTable):
            return result
        return result.in_users_ids(self._ids)

    def _keys_of_ids(self, name: str, given: Any, *, strict: bool = True) -> Any:
        """What an algorithm takes for vertices; unknown ones are refused, or of no vertex."""
        if type(self._ids) is UserIds:
            return given
        keys = self._ids.keys(name, listed(given))
        unknown = np.flatnonzero(keys == NO_KEY) if self._ids.names is not None else keys[:0]
        if strict and unknown.size:
            more = f" ({unknown.size - 1} more are not either)" if unknown.size > 1 else ""
            msg = f"{name} names vertex {nth(listed(given), int(unknown[0]))}, which is not in the "
            msg += f"graph{more}; has_vertices() tells which are"
            raise VertexNotFoundError(msg)
        return keys

    def _keys_of_values(self, name: str, given: Any, *, strict: bool = True) -> Any:
        """What an algorithm takes for values of vertices, likewise."""
        if type(self._ids) is UserIds or given is None or isinstance(given, Table):
            return given
        pair = (list(given.keys()), list(given.values())) if isinstance(given, Mapping) else given
        vertices, values = pair
        return self._keys_of_ids(name, vertices, strict=strict), values

    def pagerank(
        self,
        *,
        alpha: float = 0.85,
        personalization: _pagerank.VertexValues | None = None,
        max_iter: int = 500,
        tol: float = 1e-6,
        nstart: _pagerank.VertexValues | _pagerank.PageRankResult | None = None,
        weight: str | None = None,
        dangling: _pagerank.VertexValues | None = None,
        networkx_tol: bool = False,
    ) -> _pagerank.PageRankResult:
        """PageRank with networkx' parameters; `algorithms.pagerank.pagerank` says what they mean.

        It ends when a step changes the ranks by at most ``tol`` in all (L1); with ``networkx_tol``,
        by ``tol`` times the number of vertices, after the steps that networkx makes. Otherwise
        undirected graphs need fewer steps than those.
        """
        with self._reader.lock:
            found = _pagerank.pagerank(
                self._reader,
                alpha=alpha,
                personalization=self._keys_of_values("personalization", personalization),
                max_iter=max_iter,
                tol=tol,
                nstart=self._keys_of_values("nstart", nstart),
                weight=weight,
                dangling=self._keys_of_values("dangling", dangling),
                networkx_tol=networkx_tol,
            )
        return self._of_users(found)

    def clustering(
        self, vertices: Id | Ids | None = None, *, directed: str = _clustering.DIRECTED[0]
    ) -> Any:
        """Degree, triangles and local clustering; see `algorithms.clustering`.

        They do not change with the graph; what a GPU made is fetched when it is looked at.

        Parameters
        ----------
        vertices
            Ids: a result of those alone, in the order given, for the cost of their neighbors' rows.
            One id: its coefficient, a float. None: all.
        directed
            Definition of the coefficients of a directed graph: ``"networkx"`` (Fagiolo's, the
            default) or ``"ldbc"`` (LDBC Graphalytics' LCC). Undirected graphs have one only.

        Returns
        -------
        ClusteringResult, or float for one id
        """
        if vertices is None:
            with self._reader.lock:
                return self._of_users(_clustering.clustering(self._reader, directed=directed))
        found = self._clustering_of(listed(vertices), directed)
        return float(found.clustering[0]) if is_one(vertices) else found

    def _clustering_of(self, vertices: Ids, directed: str) -> _clustering.ClusteringResult:
        from .. import DynamicGraph

        with self._reader.lock:
            indices = self._known("vertices", vertices)
            keys = self._reader.ids_of(indices)
            sources, targets = neighborhood(self._reader, indices)
        around = DynamicGraph(directed=self._kind.directed, engine="host")
        around.insert_vertices(np.unique(indices))
        around.insert_edges(sources, targets)
        found = around.clustering(directed=directed).rows_of(indices, keys)
        return self._of_users(found)

    def bfs(self, sources: Id | Ids) -> _bfs.BfsResult:
        """Hops from the nearest of some vertices to all, along out-edges: breadth-first search.

        Parameters
        ----------
        sources
            Id of a vertex, or of several.

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
        >>> graph.bfs(1).distance
        array([ 0,  1,  2, -1], dtype=int32)
        """
        with self._reader.lock:
            return self._of_users(_bfs.bfs(self._reader, self._keys_of_ids("sources", sources)))

    def triangles(self) -> Int64s:
        """int64[n]: triangles through each vertex, in the order of `vertices`."""
        with self._reader.lock:
            return _triangles.triangles(self._reader)

    def average_clustering(self, *, directed: str = _clustering.DIRECTED[0]) -> float:
        """Mean of the local clustering over all vertices; ``directed`` as of `clustering`."""
        return self.clustering(directed=directed).average

    def transitivity(self) -> float:
        """Three times the triangles over the paths of length two, whichever way edges point."""
        return self.clustering().transitivity


def size_text(size: int) -> str:
    """Bytes for people: ``12.3 MB``."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} B"
