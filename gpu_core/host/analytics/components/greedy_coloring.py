"""Greedy coloring on the host: one vertex after the other, on one thread.

Vertices come by degree, the largest first, equal ones in the order of ids. Each gets the least
color that none of its neighbors before it has.
"""

import numpy as np
import numpy.typing as npt

from ....jit.compile import compiled
from ....rows import Rows

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]


def greedy_colors(rows: Rows, order: Int64s) -> UInt32s:
    """uint32[vertex_count]: color of each vertex, from 0; 0 of absent ones.

    Parameters
    ----------
    rows
        Of an undirected graph.
    order
        int64[n]: vertex indices in increasing order of users' ids.
    """
    degree = rows.degree[order]
    most = int(degree.max(initial=0))
    by_degree = order[np.argsort(most - degree.astype(np.int64), kind="stable")]
    color = np.full(rows.count, _NO_COLOR, np.uint32)
    color_vertices(rows.walked, by_degree, np.zeros(most + 1, np.int64), color)
    color[color == _NO_COLOR] = 0
    return color


_NO_COLOR = 0xFFFFFFFF


@compiled
def color_vertices(walked, by_degree, taken, color):
    """Color the vertices ``by_degree``; ``taken`` has an item for each color, 0 before."""
    begin, degree, columns, step = walked
    for at in range(by_degree.size):
        vertex = by_degree[at]
        position = begin[vertex]
        for _ in range(degree[vertex]):
            other = color[columns[position]]
            position += step
            if other != _NO_COLOR:
                taken[other] = at + 1
        least = 0
        while taken[least] == at + 1:
            least += 1
        color[vertex] = least
