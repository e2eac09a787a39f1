"""Traversals written with operators on frontiers: examples to begin from, and their measure.

`DynamicGraph` has the same as methods of its own, which know more about their problem: see
``docs/programs.md``. Each takes a graph or an epoch of it and returns a state, of which one array
is the result.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

from .frontier import Frontier
from .vertex_state import VertexState

#: More hops than any path has.
FAR = 2**62


class HasFrontiers(Protocol):
    """A graph, or an epoch of it."""

    def frontier(self, vertices: Any = None, *, direction: str = "out") -> Frontier:
        """Some of its vertices, or all."""

    def vertex_state(self, **values: Any) -> VertexState:
        """Arrays of its vertices."""


def hop(source_hops):
    """One hop more than the source."""
    return source_hops + 1


def relaxed(source_distance, weight):
    """A way on from the source."""
    return source_distance + weight


def label_of(source_label):
    """The label of the source."""
    return source_label


def is_peeled(left, is_gone, k):
    """Whether a vertex of at most ``k`` edges is there still."""
    return left <= k and not is_gone


def an_edge_less(target_is_gone):
    """What a vertex loses with the source, if it is there still."""
    return 0 if target_is_gone else -1


def hops_traversal(graph: HasFrontiers, source: Any) -> VertexState:
    """``hops`` from a vertex, -1 of what it does not reach: `DynamicGraph.bfs`."""
    state = graph.vertex_state(hops=FAR)
    frontier = graph.frontier(source).for_vertices(lambda: 0, state, into="hops")
    while frontier:
        frontier = frontier.for_edges(hop, state, combine="min", into="hops")
    graph.frontier().for_vertices(lambda hops: -1 if hops == FAR else hops, state, into="hops")
    return state


def distances_traversal(graph: HasFrontiers, source: Any) -> VertexState:
    """``distance``, the least sum of weights from a vertex, inf of no path: `DynamicGraph.sssp`."""
    state = graph.vertex_state(distance=math.inf)
    frontier = graph.frontier(source).for_vertices(lambda: 0.0, state, into="distance")
    while frontier:
        frontier = frontier.for_edges(relaxed, state, combine="min", into="distance")
    return state


def components_traversal(graph: HasFrontiers, labels: Any) -> VertexState:
    """``label``, the smallest in the component of each vertex, whatever the direction of edges.

    ``labels``: int64[n], in the order of ``vertices()``: `DynamicGraph.weakly_connected_components`
    has ids.
    """
    state = graph.vertex_state(label=labels)
    frontier = graph.frontier(direction="both")
    while frontier:
        frontier = frontier.for_edges(label_of, state, combine="min", into="label")
    return state


def cores_traversal(graph: HasFrontiers) -> VertexState:
    """``core``, the largest k of a k-core that each vertex is in: `DynamicGraph.core_number`."""
    state = graph.vertex_state(left=0, core=0, is_gone=False)
    remaining = graph.frontier(direction="both")
    remaining.for_vertices(lambda degree: degree, state, into="left")
    k = 0
    while remaining:
        numbers = {"k": k}
        peeled = remaining.filter(is_peeled, state, numbers=numbers)
        while peeled:
            peeled.for_vertices(
                lambda k: (k, True), state, into=("core", "is_gone"), numbers=numbers
            )
            touched = peeled.for_edges(an_edge_less, state, combine="sum", into="left")
            peeled = touched.filter(is_peeled, state, numbers=numbers)
        remaining = remaining.filter(lambda is_gone: not is_gone, state)
        k += 1
    return state
