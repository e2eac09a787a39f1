"""Core numbers on the host: peeling in the order of degrees, on one thread.

Vertices lie in one array in the order of their degrees, in *bins*. The first of them is peeled off:
its degree is its core number, and each neighbor of larger degree loses an edge, which moves it by
one swap to the end of the bin before. So every entry is looked at once, by one thread.

Source: Batagelj, Zaveršnik, "An O(m) Algorithm for Cores Decomposition of Networks", 2003.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ....jit.compile import compiled
from ....jit.parallel import for_ranges
from ....rows import Adjacencies, Rows
from ..parts.compact_rows import in_rows

_NONE = 0xFFFFFFFF


def self_loop(workspace: None, out: Rows) -> int | None:
    """Smallest index of a vertex with an edge to itself; None: there is none."""
    found = min(for_ranges(first_loop, out.count, out.walked), default=_NONE)
    return None if found == _NONE else int(found)


def core_numbers(workspace: None, adjacencies: Adjacencies) -> npt.NDArray[np.int32]:
    """int32[vertex_count]: core number by vertex index.

    Parameters
    ----------
    adjacencies
        Rows of out-neighbors, and of in-neighbors where they are stored; without self loops.
    """
    out = adjacencies.out
    degree = out.degree.astype(np.int32)
    others = _NO_ROWS
    if adjacencies.directed:
        others = _walked_into(adjacencies)
        degree += others[1].astype(np.int32)
    if degree.size:
        peel(out.walked, others, degree)
    return degree


#: Rows of no vertices.
_NO_ROWS = (np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.uint32), np.int64(1))


def _walked_into(adjacencies: Adjacencies) -> tuple[Any, ...]:
    if adjacencies.into is not None:
        return adjacencies.into.walked
    rows = in_rows(adjacencies)
    degree = np.diff(rows.indptr).astype(np.uint32)
    return rows.indptr[:-1], degree, rows.indices, np.int64(1)


@compiled
def first_loop(low, high, walked):
    """First of the vertices ``low … high - 1`` that is its own neighbor; `_NONE`: there is none."""
    begin, degree, columns, step = walked
    for vertex in range(low, high):
        position = begin[vertex]
        for _ in range(degree[vertex]):
            if columns[position] == vertex:
                return vertex
            position += step
    return _NONE


@compiled
def take_edges(bins, columns, entry, entries, step, least):
    """Take an edge from every neighbor in a row, unless its degree is ``least`` or below.

    ``bins``: the degree of each vertex; the first position of each degree in the order of degrees;
    that order; and the position of each vertex in it.
    """
    degree, start, order, position = bins
    for _ in range(entries):
        vertex = columns[entry]
        entry += step
        own = degree[vertex]
        if own <= least:
            continue
        # The first of its bin takes its position; the bin begins one later, after the vertex.
        at, first = position[vertex], start[own]
        other = order[first]
        order[at], order[first] = other, vertex
        position[other], position[vertex] = at, first
        start[own] = first + 1
        degree[vertex] = own - 1


@compiled
def peel(walked, others, degree):
    """Lower ``degree`` to core numbers; ``others``: rows of the other direction, or empty ones."""
    begin, row, columns, step = walked
    other_begin, other_row, other_columns, other_step = others
    count = degree.size
    largest = np.int64(0)
    for vertex in range(count):
        largest = max(largest, np.int64(degree[vertex]))
    # First position of each degree, in the order of degrees. Loops: what NumPy has for them takes
    # Numba two seconds to compile.
    start = np.zeros(largest + 2, np.int64)
    for vertex in range(count):
        start[degree[vertex] + 1] += 1
    for value in range(1, start.size):
        start[value] += start[value - 1]
    order, position = np.empty(count, np.uint32), np.empty(count, np.uint32)
    for vertex in range(count):
        at = start[degree[vertex]]
        order[at], position[vertex] = vertex, at
        start[degree[vertex]] = at + 1
    # Now they are the ends: the first position of the next one.
    for value in range(start.size - 1, 0, -1):
        start[value] = start[value - 1]
    start[0] = 0
    bins = degree, start, order, position
    for at in range(count):
        vertex = order[at]
        least = degree[vertex]
        take_edges(bins, columns, begin[vertex], row[vertex], step, least)
        if other_row.size:
            take_edges(
                bins, other_columns, other_begin[vertex], other_row[vertex], other_step, least
            )
