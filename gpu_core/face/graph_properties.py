"""Queries for users' own properties: values of edges and of vertices.

How they are kept and follow batches: ``properties/``.
"""

from __future__ import annotations

from typing import Any

from ..errors import SettingsError
from ..names.user_ids import is_one, listed
from ..properties.graph_values import GraphValues
from ..table import Column, TableRows
from .arguments.checks import Id, Ids
from .graph_calls import GraphCalls, check_edges


class GraphProperties(GraphCalls):
    """Queries for properties; see `GraphReader`."""

    #: Values of edges and vertices; None: there are no properties.
    _values: GraphValues | None = None

    @property
    def properties(self) -> dict[str, str]:
        """User-defined properties of edges: name -> type, such as ``float64``."""
        return dict(self._kind.properties)

    @property
    def vertex_properties(self) -> dict[str, str]:
        """User-defined properties of vertices: name -> type."""
        return dict(self._kind.vertex_properties)

    def edge_values(self, src: Id | Ids, dst: Id | Ids) -> Any:
        """Return the user-defined properties of edges.

        Parameters
        ----------
        src, dst
            Ids of the ends of an edge, or of k edges: k ids each.

        Returns
        -------
        dict or TableRows
            Name -> value of one edge; or the columns ``src``, ``dst`` and the properties, [k] each.

        Raises
        ------
        EdgeNotFoundError
            An edge is not in the graph.
        SettingsError
            The graph has no properties of edges.
        """
        if not self._kind.properties:
            msg = "edges have no properties here; make the graph with properties={'name': 'type'}"
            raise SettingsError(msg)
        sources, targets = self._pairs(listed(src), listed(dst))
        reader = self._reader
        with reader.lock:
            found = reader.has_edges(reader.indices_of(sources), reader.indices_of(targets))
            check_edges(found, src, dst)
            values = self._all_values().of_edges(sources, targets)
        if is_one(src) and is_one(dst):
            return _first(values)
        ends = {"src": self._ids.ids_of_keys(sources), "dst": self._ids.ids_of_keys(targets)}
        return TableRows({**ends, **values})

    def vertex_values(self, vertices: Id | Ids | None = None) -> Any:
        """Return the user-defined properties of vertices.

        A vertex that only edges created has missing values: NaN, 0, False.

        Parameters
        ----------
        vertices
            An id, or k ids; None: all, in the order of `vertices`.

        Returns
        -------
        dict or TableRows
            Name -> value of one vertex; or the columns ``vertex`` and the properties, [k] each.

        Raises
        ------
        VertexNotFoundError
            A vertex is not in the graph.
        SettingsError
            The graph has no properties of vertices.
        """
        if not self._kind.vertex_properties:
            msg = (
                "vertices have no properties here; make the graph with "
                "vertex_properties={'name': 'type'}"
            )
            raise SettingsError(msg)
        reader = self._reader
        with reader.lock:
            indices = self._chosen(None if vertices is None else listed(vertices))
            keys = reader.ids_of(indices)
            values = self._all_values().of_vertices(keys)
        if vertices is not None and is_one(vertices):
            return _first(values)
        return TableRows({"vertex": self._ids.ids_of_keys(keys), **values})

    def _all_values(self) -> GraphValues:
        assert self._values is not None
        self._values.ensure_in_step(self._reader)
        return self._values


def _first(values: dict[str, Column]) -> dict[str, Any]:
    return {name: column[0].item() for name, column in values.items()}
