"""Host twin of shortest paths by weight: Dijkstra's algorithm, by one thread.

The queue is a heap of four children a node, which has a vertex once for every time that it came
nearer; what comes out with a distance that is not the newest is left aside. That moves less memory
than to change places of vertices that are in a heap.

Not here: what the distances mean (`algorithms/sssp.py`).

Sources: Dijkstra, "A Note on Two Problems in Connexion with Graphs", Numerische Mathematik 1959;
Johnson, "Priority Queues with Update and Finding Minimum Spanning Trees", 1975 (heaps of several
children).
"""

import numpy as np
import numpy.typing as npt

from ...algorithms.bfs import UNREACHED
from ...jit.compile import compiled, inlined
from ...jit.parallel import for_ranges
from ...rows import Rows

Vector = npt.NDArray[np.float64]
UInt32s = npt.NDArray[np.uint32]

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
        Of the weights; for twins that look at many vertices at once.
    """
    distance = np.full(out.count, np.inf)
    search(*out.walked, out.weights, out.weight_begin, distance, sources)
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
        place = begin[vertex]
        for _ in range(degree[vertex]):
            weight = np.float64(weights[place])
            place += step
            total += weight
            if weight < 0.0:
                negative = min(negative, np.int64(vertex))
    return total, negative


@inlined
def sift_up(keys, items, key, item, place):
    """Put an item into the heap, from the free place ``place`` up."""
    while place > 0:
        parent = (place - 1) // 4
        if keys[parent] <= key:
            break
        keys[place], items[place] = keys[parent], items[parent]
        place = parent
    keys[place], items[place] = key, item


@inlined
def sift_down(keys, items, key, item, size):
    """Put an item into the heap of ``size`` places, from its free root down."""
    place = 0
    while True:
        first = 4 * place + 1
        if first >= size:
            break
        least = first
        for child in range(first + 1, min(first + 4, size)):
            if keys[child] < keys[least]:
                least = child
        if keys[least] >= key:
            break
        keys[place], items[place] = keys[least], items[least]
        place = least
    keys[place], items[place] = key, item


@compiled
def search(begin, degree, columns, step, weights, weight_begin, distance, sources):
    """Lower ``distance`` (inf everywhere) to what it must be."""
    keys, items = np.empty(1024, np.float64), np.empty(1024, np.uint32)
    size, started = 0, 0
    while started < sources.size or size > 0:
        if started < sources.size:
            vertex, key = sources[started], 0.0
            distance[vertex] = 0.0
            started += 1
        else:
            vertex, key = items[0], keys[0]
            size -= 1
            sift_down(keys, items, keys[size], items[size], size)
            if key > distance[vertex]:
                continue
        place, weight_place = begin[vertex], weight_begin[vertex]
        for _ in range(degree[vertex]):
            neighbor = columns[place]
            far = key + np.float64(weights[weight_place])
            place += step
            weight_place += step
            if far < distance[neighbor]:
                distance[neighbor] = far
                if size == keys.size:
                    keys = np.concatenate((keys, np.empty(size, np.float64)))
                    items = np.concatenate((items, np.empty(size, np.uint32)))
                sift_up(keys, items, far, neighbor, size)
                size += 1
