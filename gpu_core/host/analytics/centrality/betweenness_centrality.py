"""Betweenness centrality on the host (Brandes): one forward search and one backward pass a source.

Forward, breadth first, the shortest paths to each vertex are counted. Back, from the farthest
vertex on, each vertex adds up what lies after it: of every neighbor a hop farther its share,
``(1 + what lies after it) / its paths``, times the vertex' own paths. Out-neighbors are enough for
both.

A source is a thread's; `CHUNK` sources are added up by themselves, and these sums in the order of
the sources, so that the number of threads makes no difference to any bit.
"""

from functools import partial

import numpy as np
import numpy.typing as npt

from ....algorithms.traversal.bfs import UNREACHED
from ....jit.compile import compiled
from ....jit.parallel import for_ranges, run_all, thread_count
from ....rows import Adjacencies

Vector = npt.NDArray[np.float64]
UInt32s = npt.NDArray[np.uint32]

#: Sources of a sum of their own.
CHUNK = 8
#: Bytes that threads work in: beyond, there are fewer.
_MOST_BYTES = 1 << 31
#: Bytes that a thread works in for each vertex.
_VERTEX_BYTES = 32


def centrality(
    workspace: None,
    adjacencies: Adjacencies,
    sources: UInt32s,
    *,
    endpoints: bool,
    scale: float,
    scale_of_sources: float,
) -> Vector:
    """float64[vertex_count]: betweenness by vertex index.

    Parameters
    ----------
    adjacencies
        Rows of out-neighbors.
    sources
        uint32[k], indices of different vertices.
    endpoints
        Whether the ends of a path are on it.
    scale, scale_of_sources
        What sums are multiplied by, of vertices and of sources.
    """
    out, count = adjacencies.out, adjacencies.out.count
    total = np.zeros(count)
    chunks = [(low, min(low + CHUNK, sources.size)) for low in range(0, sources.size, CHUNK)]
    threads = max(1, min(thread_count(), len(chunks), _MOST_BYTES // (_VERTEX_BYTES * count + 1)))
    rooms = [_room(count) for _ in range(threads)]
    for first in range(0, len(chunks), threads):
        used = list(zip(chunks[first : first + threads], rooms, strict=False))
        run_all(
            [
                partial(add_sources, low, high, sources, out.walked, endpoints, room)
                for (low, high), room in used
            ]
        )
        for _, (*_, added) in used:
            for_ranges(move_sums, count, added, total)
    own = total[sources] * scale_of_sources
    total *= scale
    total[sources] = own
    return total


def _room(count: int) -> tuple[npt.NDArray[np.int32], UInt32s, Vector, Vector, Vector]:
    """Distances, queue, paths, shares and sums of a thread."""
    distance = np.full(count, UNREACHED, np.int32)
    queue = np.empty(count, np.uint32)
    return distance, queue, np.empty(count), np.empty(count), np.zeros(count)


@compiled
def add_sources(low, high, sources, walked, endpoints, room):
    """Add what ``sources[low:high]`` give to the sums of a room.

    Parameters
    ----------
    room
        As `_room` makes it: distances are `UNREACHED` before and after, of queue, paths and shares
        the content is of no meaning.
    """
    begin, degree, columns, step = walked
    distance, queue, paths, share, total = room
    for number in range(low, high):
        source = sources[number]
        queue[0], distance[source], paths[source] = source, 0, 1.0
        at, tail = 0, 1
        while at < tail:
            vertex = queue[at]
            at += 1
            farther = distance[vertex] + 1
            own = paths[vertex]
            position = begin[vertex]
            for _ in range(degree[vertex]):
                neighbor = columns[position]
                position += step
                far = distance[neighbor]
                if far == UNREACHED:
                    distance[neighbor], paths[neighbor] = farther, own
                    queue[tail] = neighbor
                    tail += 1
                elif far == farther:
                    paths[neighbor] += own
        for at in range(tail - 1, -1, -1):
            vertex = queue[at]
            farther = distance[vertex] + 1
            dependency = 0.0
            position = begin[vertex]
            for _ in range(degree[vertex]):
                neighbor = columns[position]
                position += step
                if distance[neighbor] == farther:
                    dependency += share[neighbor]
            dependency *= paths[vertex]
            share[vertex] = (1.0 + dependency) / paths[vertex]
            if at > 0:
                total[vertex] += dependency + 1.0 if endpoints else dependency
        if endpoints:
            total[source] += tail - 1
        for at in range(tail):
            distance[queue[at]] = UNREACHED


@compiled
def move_sums(low, high, added, total):
    """Add the sums of the vertices ``low … high - 1``, which are 0 afterwards."""
    for vertex in range(low, high):
        total[vertex] += added[vertex]
        added[vertex] = 0.0
