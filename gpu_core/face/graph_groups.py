"""Groups of vertices, components and communities, as methods of a graph."""

from __future__ import annotations

from ..algorithms.components import label_propagation as _labels
from ..algorithms.components import strongly_connected_components as _strong
from ..algorithms.components import weakly_connected_components as _weak
from ..algorithms.shared.components import ComponentsResult
from .graph_pairs import GraphPairs


class GraphGroups(GraphPairs):
    """Components, communities and cores; see `GraphReader`."""

    def weakly_connected_components(self) -> ComponentsResult:
        """Component of every vertex, whichever way edges point; its first vertex is its name.

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph()
        >>> graph.insert_edges([1, 2, 7], [2, 3, 4]).edges_added
        3
        >>> graph.weakly_connected_components().component
        array([1, 1, 1, 4, 4])
        """
        with self._computing():
            return self._of_users(_weak.weakly_connected_components(self._reader))

    def strongly_connected_components(self) -> ComponentsResult:
        """Component of every vertex: those that paths lead to and back from.

        Its first vertex is its name. Of undirected graphs they are the connected components.

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph()
        >>> graph.insert_edges([1, 2, 3, 7], [2, 3, 1, 2]).edges_added
        4
        >>> graph.strongly_connected_components().component
        array([1, 1, 1, 7])
        """
        with self._computing():
            return self._of_users(_strong.strongly_connected_components(self._reader))

    def label_propagation(self, *, max_iter: int | None = None) -> _labels.CommunitiesResult:
        """Community of every vertex of an undirected graph, by the labels of its neighbors.

        These are ``nx.community.label_propagation_communities`` to the letter, of a networkx graph
        that was given its vertices in the order of `vertices`. A community is called by its first
        vertex.

        Parameters
        ----------
        max_iter
            Sweeps over all vertices at most; None: until none changes a label.

        Raises
        ------
        SettingsError
            The graph has directions.

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph(directed=False)
        >>> graph.insert_edges([1, 1, 2, 4, 4, 5, 3], [2, 3, 3, 5, 6, 6, 4]).edges_added
        7
        >>> graph.label_propagation().community
        array([1, 1, 1, 4, 4, 4])
        """
        given = _labels.ANALYTIC.plain({"max_iter": max_iter})
        with self._computing():
            return self._of_users(_labels.label_propagation(self._reader, **given))
