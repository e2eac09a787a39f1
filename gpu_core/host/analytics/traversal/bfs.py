"""Breadth-first search on the host: levels are pushed by one thread, or pulled by all.

The *frontier* has the vertices of the newest level. A level is *pushed* where it is small: every
neighbor of the frontier that has no distance gets the next one. It is *pulled* where it is large:
every vertex without a distance looks through its in-neighbors until it meets one of the frontier,
which leaves most entries unread. Pushing goes through a queue of all vertices that were pushed, in
which a level is a range; one thread does it, for the thousands of small levels of a grid cost less
than meeting at the end of each. Pulling writes to the vertex that looks alone, so the threads are
in no thread's way.

`PUSH_SHARE` and `PULL_SHARE` are Beamer's: from pushing to pulling where the frontier grows and has
more than a 14th of the entries that are left, back where it shrinks below a 24th of the vertices.
Without in-neighbors (``reverse=False``) all levels are pushed.

Parents are found after the search, by all threads. Every vertex looks through its in-neighbors for
the first in the order of ids that is a hop nearer; where indices are in that order as well, as of
dense ids, it is the first that it meets. Without in-neighbors every vertex offers itself to the
neighbors that are a hop farther, and of what a vertex is offered the first stays.

Rows are read where they are (`rows.Rows`). Not here: what the distances mean
(`algorithms/traversal/bfs.py`).

Source: Beamer, Asanović, Patterson, "Direction-Optimizing Breadth-First Search", SC 2012.
"""

import numpy as np
import numpy.typing as npt

from ....algorithms.shared.by_vertex import NO_POSITION
from ....algorithms.traversal.bfs import PULL_SHARE, PUSH_SHARE, UNREACHED
from ....jit.atomics import compare_and_swap
from ....jit.compile import compiled
from ....jit.parallel import for_ranges
from ....rows import Adjacencies

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]


def distances(workspace: None, adjacencies: Adjacencies, sources: UInt32s) -> Int32s:
    """int32[vertex_count]: hops from the nearest source by vertex index, `UNREACHED` of none.

    Parameters
    ----------
    workspace
        What a twin on a device works in.
    adjacencies
        Rows of out-neighbors, and of in-neighbors where they are stored.
    sources
        uint32[k], indices of different vertices.
    """
    out, back = adjacencies.out, adjacencies.into
    distance = np.full(out.count, UNREACHED, np.int32)
    if not sources.size:
        return distance
    distance[sources] = 0
    #: Vertices that are or were pushed: those of the newest level from ``first`` to ``end``.
    queue = np.empty(distance.size, np.uint32)
    queue[: sources.size] = sources
    first, end, level = 0, sources.size, 0
    entries = int(out.degree[sources].sum(dtype=np.int64))
    left = out.num_entries - entries
    while end > first:
        first, end, level, entries, left = push_levels(
            out.walked, distance, queue, (first, end, level, entries, left),
            0 if back is None else PUSH_SHARE,
        )  # fmt: skip
        if end == first or back is None:
            break
        size, pulled = end - first, True
        while pulled:
            before = size
            parts = for_ranges(pull_level, distance.size, back.walked, out.degree, distance, level)
            size = sum(count for count, _ in parts)
            entries = sum(found for _, found in parts)
            left, level = left - entries, level + 1
            pulled = size > 0 and (size >= before or size * PULL_SHARE >= distance.size)
        first, end = end, end + size
        queue[first:end] = np.flatnonzero(distance == level) if size else ()
    return distance


def distances_and_parents(
    workspace: None, adjacencies: Adjacencies, sources: UInt32s, order: Int64s
) -> tuple[Int32s, UInt32s]:
    """`distances`, and the position of each vertex' parent, `NO_POSITION` of none.

    Parameters
    ----------
    adjacencies, sources
        As of `distances`.
    order
        int64[n]: vertex indices in increasing order of users' ids; positions are those in it.
    """
    distance = distances(workspace, adjacencies, sources)
    position = np.zeros(distance.size, np.uint32)
    position[order] = np.arange(order.size, dtype=np.uint32)
    parent = np.full(distance.size, NO_POSITION, np.uint32)
    given = distance, position, parent
    if adjacencies.into is None:
        for_ranges(offer_parents, distance.size, adjacencies.out.walked, *given)
    else:
        in_order = bool(np.all(order[1:] > order[:-1]))
        for_ranges(look_for_parents, distance.size, adjacencies.into.walked, *given, in_order)
    return distance, parent


@compiled
def push_levels(walked, distance, queue, frontier, push_share):
    """Push levels until one is empty, or is to be pulled.

    Parameters
    ----------
    walked
        Rows of out-neighbors.
    frontier
        Where it begins and ends in ``queue``, its distance, and its entries; and the entries of all
        vertices without a distance.
    push_share
        `PUSH_SHARE`; 0: no level is to be pulled.

    Returns
    -------
    first, end, level, entries, left
        The same of the new frontier.
    """
    begin, degree, columns, step = walked
    first, end, level, entries, left = frontier
    before = end - first
    while end > first:
        if entries * push_share > left and end - first > before:
            break
        before = end - first
        level += 1
        entries = 0
        tail = end
        for at in range(first, end):
            vertex = queue[at]
            entry = begin[vertex]
            for _ in range(degree[vertex]):
                neighbor = columns[entry]
                entry += step
                if distance[neighbor] == UNREACHED:
                    distance[neighbor] = level
                    queue[tail] = neighbor
                    tail += 1
                    entries += np.int64(degree[neighbor])
        first, end = end, tail
        left -= entries
    return first, end, level, entries, left


@compiled
def pull_level(low, high, walked, out_degree, distance, level):
    """Reach those of the vertices ``low … high - 1`` that have an in-neighbor at ``level``.

    Returns
    -------
    count, entries
        How many were reached, and the out-neighbors that they have.
    """
    begin, degree, columns, step = walked
    count, entries = 0, 0
    for vertex in range(low, high):
        if distance[vertex] != UNREACHED:
            continue
        entry = begin[vertex]
        for _ in range(degree[vertex]):
            if distance[columns[entry]] == level:
                distance[vertex] = level + 1
                count += 1
                entries += np.int64(out_degree[vertex])
                break
            entry += step
    return count, entries


@compiled
def look_for_parents(low, high, walked, distance, position, parent, in_order):
    """Find the parents of the vertices ``low … high - 1`` among their in-neighbors.

    ``in_order``: positions increase with indices, so those of a row do.
    """
    begin, degree, columns, step = walked
    for vertex in range(low, high):
        nearer = distance[vertex] - 1
        if nearer < 0:
            continue
        first = np.uint32(NO_POSITION)
        entry = begin[vertex]
        for _ in range(degree[vertex]):
            neighbor = columns[entry]
            entry += step
            if distance[neighbor] == nearer:
                first = min(first, position[neighbor])
                if in_order:
                    break
        parent[vertex] = first


@compiled
def offer_parents(low, high, walked, distance, position, parent):
    """Offer the vertices ``low … high - 1`` as parents; the first in the order of ids is kept."""
    begin, degree, columns, step = walked
    for vertex in range(low, high):
        if distance[vertex] == UNREACHED:
            continue
        farther = distance[vertex] + 1
        own = position[vertex]
        entry = begin[vertex]
        for _ in range(degree[vertex]):
            neighbor = columns[entry]
            entry += step
            if distance[neighbor] != farther:
                continue
            before = parent[neighbor]
            while own < before and not compare_and_swap(parent, neighbor, before, own):
                before = parent[neighbor]
