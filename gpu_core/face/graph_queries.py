"""Queries about vertices and edges, in users' ids.

For one id they return a Python value, for an array of ids an array. Methods with a name of networkx
mean the same as there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..choices import check_weight, one_of
from ..errors import BatchError
from ..image.fields import NONE
from ..names.user_ids import is_one, listed, unwrapped
from ..records import TIME_PROPERTIES
from ..table import TableRows
from .arguments.checks import Id, Ids
from .graph_calls import Column, GraphCalls, Int64s, UInt32s, check_edges


class GraphQueries(GraphCalls):
    """Queries about some vertices or edges; see `GraphReader`."""

    # -- is it there -------------------------------------------------------------------------

    def __len__(self) -> int:
        """Vertices in the graph."""
        return self._reader.num_vertices

    def __bool__(self) -> bool:
        """True, also for an empty graph: ``if graph`` distinguishes it from None."""
        return True

    def __iter__(self) -> Iterator[Any]:
        """Users' ids of all vertices, increasing."""
        return iter(self.vertices().tolist())

    def __contains__(self, item: object) -> bool:
        """Return whether an id is a vertex, or a pair of ids an edge; what is no id is neither."""
        given = item if isinstance(item, tuple) else (item,)
        ids: list[Any] = [[unwrapped(each)] for each in given]
        try:
            if isinstance(item, tuple):
                return len(ids) == 2 and bool(self.has_edges(*ids)[0])
            return bool(self.has_vertices(*ids)[0])
        except BatchError:
            return False

    def vertices(self) -> Column:
        """Return users' ids [n] of all vertices, in the order of all results.

        Ids that are numbers increase. Names are in the order of their keys, which are hashes.
        """
        with self._reader.lock:
            keys = self._reader.user_ids()[self._reader.sorted_order()]
        return self._ids.ids_of_keys(keys)

    def has_vertices(self, vertices: Ids) -> npt.NDArray[np.bool_]:
        """Return for each id [k] whether it is a vertex of the graph: bool[k]."""
        with self._reader.lock:
            return self._reader.indices_of(self._ids.keys("vertices", vertices)) != NONE

    def has_edges(self, src: Ids, dst: Ids) -> npt.NDArray[np.bool_]:
        """Return for each pair ``(src, dst)`` [k] whether it is an edge: bool[k].

        Vertices that are not in the graph have no edges.

        Raises
        ------
        BatchError
            ``src`` and ``dst`` have different lengths.
        """
        sources, targets = self._pairs(src, dst)
        reader = self._reader
        with reader.lock:
            return reader.has_edges(reader.indices_of(sources), reader.indices_of(targets))

    def has_edge(self, u: Id, v: Id) -> bool:
        """Return whether ``(u, v)`` is an edge; False if a vertex is not in the graph."""
        return bool(self.has_edges([u], [v])[0])

    # -- neighbors ---------------------------------------------------------------------------

    def neighbors(self, vertex: Id) -> Column:
        """Return the ids of the out-neighbors of a vertex (undirected: neighbors) [degree].

        Numbers increase, names are in alphabetical order.

        Raises
        ------
        VertexNotFoundError
            The vertex is not in the graph.
        """
        return self._adjacent(vertex, "out")

    def predecessors(self, vertex: Id) -> Column:
        """Return the ids of the in-neighbors of a vertex, in the order of `neighbors`.

        Raises
        ------
        VertexNotFoundError
            The vertex is not in the graph.
        SettingsError
            The graph is directed and has no reverse adjacency (``reverse=True``).
        """
        self._need_reverse("predecessors")
        return self._adjacent(vertex, "in")

    def weighted_neighbors(
        self, vertex: Id, direction: str = "out"
    ) -> tuple[Column, npt.NDArray[np.floating[Any]]]:
        """Return the neighbors of a vertex and the weights of the edges to them.

        Parameters
        ----------
        vertex
            Its id.
        direction
            ``"out"``, or ``"in"`` for edges that point to it; in undirected graphs both are the
            same.

        Returns
        -------
        (ids, weights)
            Sorted ids [degree]; weights, float32 or float64 [degree].

        Raises
        ------
        VertexNotFoundError
            The vertex is not in the graph.
        SettingsError
            The graph has no weights, or for ``"in"`` no reverse adjacency.
        """
        self._need_weights("weighted_neighbors")
        one_of("direction", direction, ("out", "in"))
        if direction == "in":
            self._need_reverse("weighted_neighbors(direction='in')")
        reader = self._reader
        with reader.lock:
            indices = self._known_one(vertex)
            _, columns = reader.neighbors(indices, direction)
            ids = self._ids.ids_of_keys(reader.ids_of(columns))
            order = np.argsort(ids)
            weights = self._weights_of(np.repeat(indices, columns.size), columns, direction)
            return ids[order], weights[order]

    # -- degrees -----------------------------------------------------------------------------

    def degree(self, vertices: Id | Ids | None = None, weight: str | None = None) -> Any:
        """Return the degree as networkx defines it; see also `out_degree` and `in_degree`.

        In a directed graph incoming and outgoing edges count, a self loop twice.

        Parameters
        ----------
        vertices
            An id, or k ids; None: all, in the order of `vertices`.
        weight
            ``"weight"``: the sum of the weights instead.

        Returns
        -------
        int, float or array
            For one id a number; else int64[k], or float64[k] with ``weight``.

        Raises
        ------
        VertexNotFoundError
            A vertex is not in the graph.
        SettingsError
            The graph is directed and has no reverse adjacency, or it has no weights.
        """
        with self._reader.lock:
            if not self._kind.directed:
                return self._degree(vertices, weight, "out")
            self._need_reverse("degree")
            out = self._degree(vertices, weight, "out")
            return out + self._degree(vertices, weight, "in")

    def out_degree(self, vertices: Id | Ids | None = None, weight: str | None = None) -> Any:
        """Return the number of edges that begin at each vertex, or their weight; see `degree`."""
        return self._degree(vertices, weight, "out")

    def in_degree(self, vertices: Id | Ids | None = None, weight: str | None = None) -> Any:
        """Return the number of edges that end at each vertex, or their weight; see `degree`."""
        self._need_reverse("in_degree")
        return self._degree(vertices, weight, "in")

    def degrees(self, vertices: Ids | None = None) -> Int64s:
        """Return int64[k]: out-degrees of vertices; None: of all, in the order of `vertices`."""
        return self._degrees(vertices, "out")

    def in_degrees(self, vertices: Ids | None = None) -> Int64s:
        """Return int64[k]: in-degrees of vertices; None: of all, in the order of `vertices`."""
        self._need_reverse("in_degrees")
        return self._degrees(vertices, "in")

    # -- weights -----------------------------------------------------------------------------

    def edge_weights(self, src: Id | Ids, dst: Id | Ids) -> Any:
        """Return the weight of each edge ``(src, dst)``; NaN if there is no such edge.

        Parameters
        ----------
        src, dst
            Ids of the ends of an edge, or of k edges: k ids each.

        Returns
        -------
        float or array
            For one edge a number; else [k], float32 or float64 as the graph has them.

        Raises
        ------
        SettingsError
            The graph has no weights.
        BatchError
            ``src`` and ``dst`` have different lengths.
        """
        self._need_weights("edge_weights")
        sources, targets = self._pairs(listed(src), listed(dst))
        reader = self._reader
        with reader.lock:
            found, weights = reader.edge_property(
                "weight", reader.indices_of(sources), reader.indices_of(targets)
            )
        answer = np.where(found, weights, np.asarray(np.nan, weights.dtype))
        return float(answer[0]) if is_one(src) and is_one(dst) else answer

    def edge_records(self, src: Id | Ids, dst: Id | Ids) -> Any:
        """Return the records of edges: weight, type, first and last time.

        Parameters
        ----------
        src, dst
            Ids of the ends of an edge, or of k edges: k ids each.

        Returns
        -------
        dict or TableRows
            For one edge name -> value; else the columns ``src``, ``dst`` and those of the records,
            [k] each: ``weight`` float32 or float64, ``type`` int32, ``first`` and ``last`` as
            `edges` has times. Simple records have none.

        Raises
        ------
        EdgeNotFoundError
            An edge is not in the graph.
        """
        sources, targets = self._pairs(listed(src), listed(dst))
        reader = self._reader
        values: dict[str, npt.NDArray[Any]] = {}
        with reader.lock:
            pairs = reader.indices_of(sources), reader.indices_of(targets)
            check_edges(reader.has_edges(*pairs), src, dst)
            for name in self._kind.record.properties:
                _, values[name] = reader.edge_property(name, *pairs)
        if self._time_unit is not None:
            for name in TIME_PROPERTIES:
                values[name] = values[name].view(self._time_unit.dtype)
        if is_one(src) and is_one(dst):
            return {
                name: column[0] if column.dtype.kind == "M" else column[0].item()
                for name, column in values.items()
            }
        ends = {"src": self._ids.ids_of_keys(sources), "dst": self._ids.ids_of_keys(targets)}
        return TableRows({**ends, **values})

    def _adjacent(self, vertex: Id, direction: str) -> Column:
        reader = self._reader
        with reader.lock:
            indices = self._known_one(vertex)
            _, columns = reader.neighbors(indices, direction)
            return np.sort(self._ids.ids_of_keys(reader.ids_of(columns)))

    def _degrees(self, vertices: Ids | None, direction: str) -> Int64s:
        with self._reader.lock:
            return self._reader.degrees(self._chosen(vertices), direction)

    def _degree(self, vertices: Id | Ids | None, weight: str | None, direction: str) -> Any:
        many = None if vertices is None else listed(vertices)
        check_weight(weight)
        if weight is None:
            answer: npt.NDArray[Any] = self._degrees(many, direction)
        else:
            self._need_weights("degree(weight='weight')")
            answer = self._strengths(many, direction)
        return answer[0].item() if many is not None and is_one(vertices) else answer

    def _strengths(self, vertices: Ids | None, direction: str) -> npt.NDArray[np.float64]:
        """Sum of the weights of each vertex."""
        reader = self._reader
        with reader.lock:
            indices = self._chosen(vertices)
            indptr, columns = reader.neighbors(indices, direction)
            rows = np.repeat(np.arange(indices.size), np.diff(indptr))
            weights = self._weights_of(indices[rows], columns, direction)
        strengths = np.bincount(rows, weights, minlength=indices.size)
        return strengths.astype(np.float64, copy=False)

    def _weights_of(self, rows: UInt32s, columns: UInt32s, direction: str) -> npt.NDArray[Any]:
        """Weights of entries of a direction."""
        pairs = (rows, columns) if direction == "out" else (columns, rows)
        _, weights = self._reader.edge_property("weight", *pairs)
        return weights
