"""Betweenness centrality on the host (Brandes): one forward search and one backward pass a source.

Forward, breadth first, the shortest paths to each vertex are counted. Back, from the farthest
vertex on, each vertex adds up what lies after it: of every neighbor a hop farther its share,
``(1 + what lies after it) / its paths``, times the vertex' own paths. Out-neighbors are enough for
both.

Numbers of paths double with every hop in the worst case, and are soon too large for float64, which
also gives 0 for their shares. So a number is ``paths * 2 ** (512 * exponent)``, with ``paths`` from
1 to 2^512. In most graphs all exponents are 0, and nothing is looked at but ``paths``. Of two
numbers whose exponents differ the smaller counts as it is where they differ by 1, and as 0 beyond:
it is below the other's last bit.

A source is a thread's; `CHUNK` sources are added up by themselves, and these sums in the order of
the sources, so that the number of threads makes no difference to any bit.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ....algorithms.shared.twin_constants import EXPONENT_STEP, MOST_PATHS
from ....algorithms.traversal.bfs import UNREACHED
from ....jit.compile import borrowing, compiled, inlined
from ....jit.parallel import for_ranges, run_all, thread_count
from ....rows import Adjacencies

Vector = npt.NDArray[np.float64]
UInt32s = npt.NDArray[np.uint32]
Int32s = npt.NDArray[np.int32]

#: Sources of a sum of their own.
CHUNK = 8
#: Bytes that threads work in: beyond, there are fewer.
_MOST_BYTES = 1 << 31
#: Bytes that a thread works in for each vertex.
_VERTEX_BYTES = 36


class SearchScratch(NamedTuple):
    """What a thread works in, by vertex, as a kernel argument.

    Between two sources only `distance`, all `UNREACHED`, and `total` have a meaning.
    """

    #: int32: hops from the source.
    distance: Int32s
    #: uint32: vertices in the order in which they are reached.
    queue: UInt32s
    #: int32, float64: ``paths * 2**(512 exponent)`` shortest paths lead from the source.
    exponent: Int32s
    paths: Vector
    #: float64: ``(1 + what lies after it) / its paths``.
    share: Vector
    #: float64: sums over sources.
    total: Vector


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
    scratches = [_scratch(count) for _ in range(threads)]
    for first in range(0, len(chunks), threads):
        used = list(zip(chunks[first : first + threads], scratches, strict=False))
        run_all(
            [
                partial(add_sources, low, high, sources, out.walked, endpoints, scratch)
                for (low, high), scratch in used
            ]
        )
        for _, scratch in used:
            for_ranges(move_sums, count, scratch.total, total)
    own = total[sources] * scale_of_sources
    total *= scale
    total[sources] = own
    return total


def _scratch(count: int) -> SearchScratch:
    distance = np.full(count, UNREACHED, np.int32)
    queue, exponent = np.empty(count, np.uint32), np.empty(count, np.int32)
    return SearchScratch(
        distance, queue, exponent, np.empty(count), np.empty(count), np.zeros(count)
    )


@compiled
def add_sources(low, high, sources, walked, endpoints, scratch):
    """Add what ``sources[low:high]`` give to the sums of a `SearchScratch`."""
    for number in range(low, high):
        reached, is_wide = count_paths(sources[number], walked, scratch)
        add_dependencies(reached, is_wide, walked, endpoints, scratch)
        for at in range(reached):
            scratch.distance[scratch.queue[at]] = UNREACHED


@borrowing
def count_paths(source, walked, scratch):
    """Search breadth first from a source; count the shortest paths to each vertex reached.

    Returns
    -------
    reached
        Vertices in the queue, in the order of their distances; the source is the first.
    is_wide
        Whether a number of paths has an exponent other than 0.
    """
    begin, degree, columns, step = walked
    distance, queue, exponent, paths, _, _ = scratch
    queue[0], distance[source], paths[source], exponent[source] = source, 0, 1.0, 0
    at, tail, is_wide = 0, 1, False
    while at < tail:
        vertex = queue[at]
        at += 1
        farther = distance[vertex] + 1
        if paths[vertex] >= MOST_PATHS:
            paths[vertex] *= EXPONENT_STEP
            exponent[vertex] += 1
            is_wide = True
        position = begin[vertex]
        for _ in range(degree[vertex]):
            neighbor = columns[position]
            position += step
            far = distance[neighbor]
            if far == UNREACHED:
                distance[neighbor], paths[neighbor] = farther, paths[vertex]
                exponent[neighbor] = exponent[vertex]
                queue[tail] = neighbor
                tail += 1
            elif far == farther:
                if is_wide:
                    add_wide_paths(neighbor, vertex, paths, exponent)
                else:
                    paths[neighbor] += paths[vertex]
    return tail, is_wide


@borrowing
def add_dependencies(reached, is_wide, walked, endpoints, scratch):
    """Go back from the farthest vertex: add to each what paths from the source to others give."""
    begin, degree, columns, step = walked
    distance, queue, exponent, paths, share, total = scratch
    for at in range(reached - 1, -1, -1):
        vertex = queue[at]
        farther = distance[vertex] + 1
        dependency = 0.0
        position = begin[vertex]
        for _ in range(degree[vertex]):
            neighbor = columns[position]
            position += step
            if distance[neighbor] == farther:
                if is_wide:
                    after = scale_of(exponent[neighbor] - exponent[vertex])
                    dependency += share[neighbor] * after
                else:
                    dependency += share[neighbor]
        dependency *= paths[vertex]
        share[vertex] = (1.0 + dependency) / paths[vertex]
        if at > 0:
            total[vertex] += dependency + 1.0 if endpoints else dependency
    if endpoints:
        total[queue[0]] += reached - 1


@inlined
def add_wide_paths(vertex, other, paths, exponent):
    """Add the paths to another vertex to those of one, where their exponents may differ."""
    difference = exponent[vertex] - exponent[other]
    if difference >= 0:
        paths[vertex] += paths[other] * scale_of(difference)
    else:
        paths[vertex] = paths[vertex] * scale_of(-difference) + paths[other]
        exponent[vertex] = exponent[other]


@inlined
def scale_of(difference):
    """What a number counts beside one whose exponent is larger by ``difference``."""
    if difference == 0:
        return 1.0
    return EXPONENT_STEP if difference == 1 else 0.0


@compiled
def move_sums(low, high, added, total):
    """Add the sums of the vertices ``low … high - 1``, which are 0 afterwards."""
    for vertex in range(low, high):
        total[vertex] += added[vertex]
        added[vertex] = 0.0
