"""Groups of vertices as methods of a graph: components, communities and cores."""

from __future__ import annotations

from ..algorithms.components import core_number as _core_number
from ..algorithms.components import label_propagation as _labels
from ..algorithms.components import strongly_connected_components as _strong
from ..algorithms.components import weakly_connected_components as _weak
from ..algorithms.shared.components import ComponentsResult
from .graph_calls import GraphCalls


class GraphComponents(GraphCalls):
    """Components, communities and cores; see `GraphReader`."""

    def weakly_connected_components(self) -> ComponentsResult:
        """Component of every vertex; edges connect in both directions.

        A component is named by its first vertex in the order of `vertices`.

        Returns
        -------
        ComponentsResult
            ``vertices`` [n] and ``component`` [n], both users' ids; ``num_components``;
            ``largest``, the number of vertices of the largest.

        Notes
        -----
        Source: Sutton, Ben-Nun, Barak, "Optimizing Parallel Graph Connectivity Computation via
        Subgraph Sampling", IPDPS 2018.

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
        """Component of every vertex: the vertices that paths lead to and back from.

        A component is named by its first vertex in the order of `vertices`. In undirected graphs
        these are the connected components.

        Returns
        -------
        ComponentsResult
            As of `weakly_connected_components`.

        Notes
        -----
        Source: Pearce, "A Space-Efficient Algorithm for Finding Strongly Connected Components",
        Information Processing Letters 116, 2016.

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

        The communities are exactly those of ``nx.community.label_propagation_communities`` for a
        networkx graph whose vertices were added in the order of `vertices`. A community is named by
        its first vertex.

        Parameters
        ----------
        max_iter
            Maximum number of sweeps over all vertices; None: until a sweep changes no label.

        Returns
        -------
        CommunitiesResult
            ``vertices`` [n] and ``community`` [n], both users' ids; ``num_communities``;
            ``largest``; ``iterations``, sweeps that changed a label.

        Raises
        ------
        SettingsError
            The graph is directed, or ``max_iter`` is not a whole number.

        Notes
        -----
        Source: Cordasco, Gargano, "Community Detection via Semi-Synchronous Label Propagation
        Algorithms", BASNA 2010.

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
