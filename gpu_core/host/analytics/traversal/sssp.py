"""Shortest paths by weight on the host: near-far, on one thread.

A vertex whose distance falls below a limit is *near*: it is queued, once, and its edges are relaxed
in the next round. One whose distance falls, but not so far, is put on a far pile, once. When
nothing is near, the limit rises by `NEAR_WIDTH` and the pile is split. So nearly every row is read
once, as by Dijkstra's algorithm, without a heap, which took three to five times as long (graphs of
2^17 vertices).

Not here: what the distances mean (`algorithms/traversal/sssp.py`), which no order of relaxing
changes.

Source: Davidson, Baxter, Garland, Owens, "Work-Efficient Parallel GPU Methods for Single-Source
Shortest Paths", IPDPS 2014.
"""

import numpy as np
import numpy.typing as npt

from ....algorithms.traversal.bfs import UNREACHED
from ....jit.compile import borrowing, compiled
from ....jit.parallel import for_ranges
from ....rows import Rows

Vector = npt.NDArray[np.float64]
UInt32s = npt.NDArray[np.uint32]

#: Width of the near bucket, in mean weights over the mean degree.
NEAR_WIDTH = 2
#: No vertex has a negative weight.
_NONE = 0xFFFFFFFF


def weigh(workspace: None, out: Rows) -> tuple[float, int | None]:
    """Mean of all weights, and the smallest index of a vertex that has a negative one, if any."""
    parts = for_ranges(
        sum_rows, out.count, out.weight_begin, out.degree, np.int64(out.step), out.weights
    )
    negative = min((vertex for _, vertex in parts), default=_NONE)
    mean = sum(total for total, _ in parts) / max(out.num_entries, 1)
    return mean, None if negative == _NONE else int(negative)


def distances(workspace: None, out: Rows, sources: UInt32s, mean: float) -> Vector:
    """float64[vertex_count]: least sum of weights from the nearest source; inf where no path is.

    Parameters
    ----------
    out
        Rows of out-neighbors with weights, none of them negative.
    sources
        uint32[k], indices of different vertices.
    mean
        Of the weights.
    """
    distance = np.full(out.count, np.inf)
    width = NEAR_WIDTH * mean * out.count / max(out.num_entries, 1)
    search(out.walked, out.weights, out.weight_begin, distance, sources, width)
    return distance


def of_hops(workspace: None, hops: npt.NDArray[np.int32]) -> Vector:
    """float64[vertex_count]: hops of `bfs.distances`; inf where there is no path."""
    distance = hops.astype(np.float64)
    distance[hops == UNREACHED] = np.inf
    return distance


@compiled
def sum_rows(low, high, begin, degree, step, weights):
    """Sum of the weights of rows ``low … high - 1``; first of them that has a negative one."""
    total, negative = 0.0, np.int64(_NONE)
    for vertex in range(low, high):
        position = begin[vertex]
        for _ in range(degree[vertex]):
            weight = np.float64(weights[position])
            position += step
            total += weight
            if weight < 0.0:
                negative = min(negative, np.int64(vertex))
    return total, negative


@compiled
def split(distance, is_queued, is_far, near, far, far_size, limit, width):
    """Raise the limit, and move those of the far pile to ``near`` that are below it.

    Returns
    -------
    size, far_size, limit
        Vertices that are near, none where the pile has none left to relax; those that stay; and the
        new limit.
    """
    least = np.inf
    for at in range(far_size):
        # What is below has been queued since it was put on the pile.
        if distance[far[at]] >= limit:
            least = min(least, distance[far[at]])
    # The nearest vertex at least becomes near, also where the width is lost in rounding.
    above = max(least + width, np.nextafter(least, np.inf))
    size, kept = 0, 0
    for at in range(far_size):
        vertex = far[at]
        if distance[vertex] >= above:
            far[kept] = vertex
            kept += 1
            continue
        is_far[vertex] = False
        if distance[vertex] >= limit:
            is_queued[vertex] = True
            near[size] = vertex
            size += 1
    return size, kept, above


@borrowing
def relax_edges(vertex, rows, distance, limit, queue, pile):
    """Lower the distances of the neighbors of a vertex to those by way of it.

    Parameters
    ----------
    limit
        Neighbors below it are queued, others put on the far pile, unless they are there.
    queue, pile
        bool by vertex, uint32 and their number: who is there.

    Returns
    -------
    queued, far_size
        Their numbers afterwards.
    """
    (begin, degree, columns, step), weights, weight_begin = rows
    (is_queued, following, queued), (is_far, far, far_size) = queue, pile
    upto = distance[vertex]
    position, weight_position = begin[vertex], weight_begin[vertex]
    for _ in range(degree[vertex]):
        neighbor = columns[position]
        found = upto + np.float64(weights[weight_position])
        position += step
        weight_position += step
        if found < distance[neighbor]:
            distance[neighbor] = found
            if found >= limit:
                if not is_far[neighbor]:
                    is_far[neighbor] = True
                    far[far_size] = neighbor
                    far_size += 1
            elif not is_queued[neighbor]:
                is_queued[neighbor] = True
                following[queued] = neighbor
                queued += 1
    return queued, far_size


@compiled
def search(walked, weights, weight_begin, distance, sources, width):
    """Lower ``distance`` (inf everywhere) to what it must be."""
    count = distance.size
    is_queued, is_far = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    near, following = np.empty(count, np.uint32), np.empty(count, np.uint32)
    far = np.empty(count, np.uint32)
    near[: sources.size] = sources
    for source in sources:
        distance[source] = 0.0
    rows = walked, weights, weight_begin
    size, far_size, limit = sources.size, 0, width
    while size > 0:
        queued = 0
        for at in range(size):
            is_queued[near[at]] = False
            queued, far_size = relax_edges(
                near[at], rows, distance, limit, (is_queued, following, queued),
                (is_far, far, far_size),
            )  # fmt: skip
        near, following, size = following, near, queued
        if size == 0:
            size, far_size, limit = split(
                distance, is_queued, is_far, near, far, far_size, limit, width
            )
