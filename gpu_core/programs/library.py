"""Algorithms written as programs: examples to begin from, and a measure of what programs cost.

`DynamicGraph` has the same as methods of its own, which know more about their problem: see
``docs/programs.md``. Ids are those of the graph.
"""

from __future__ import annotations

from .program import Function, Program


def hops_program() -> Program:
    """Hops, from 0 of sources and -1 of all others on: `DynamicGraph.bfs`."""

    def edge(source_value, weight, superstep):
        return superstep + 1

    def vertex(old, message):
        return message, True

    def wants(value):
        return value < 0

    return Program(edge, "any", vertex, value="int32", wants=wants)


def distances_program() -> Program:
    """Least sum of weights, from 0 of sources and inf of all others on: `DynamicGraph.sssp`."""

    def edge(source_value, weight):
        return source_value + weight

    def vertex(old, message):
        return min(old, message), message < old

    return Program(edge, "min", vertex)


def components_program() -> Program:
    """Smallest of the numbers that the vertices of a component begin with: its label."""

    def edge(source_value, weight):
        return source_value

    def vertex(old, message):
        return min(old, message), message < old

    return Program(edge, "min", vertex, value="int64", along="both")


def pagerank_program(alpha: float = 0.85) -> Program:
    """Ranks, from 1/n on; a ``tolerance`` ends it: `DynamicGraph.pagerank`."""

    def edge(source_value, weight, degree):
        return source_value / degree

    def dangling(value, degree):
        return value if degree == 0 else 0.0

    def vertex(old, message, num_vertices, total):
        return alpha * (message + total / num_vertices) + (1.0 - alpha) / num_vertices, True

    return Program(edge, "sum", vertex, total=dangling, all_vertices=True)


#: Programs by name.
LIBRARY: dict[str, Function] = {
    "bfs": hops_program,
    "sssp": distances_program,
    "components": components_program,
    "pagerank": pagerank_program,
}
