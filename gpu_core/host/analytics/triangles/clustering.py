"""Clustering coefficients on the host: counts by index to columns by users' ids, in one pass.

Not here: what the coefficients mean (`algorithms/triangles/clustering.py`), and how triangles are
counted (`triangles.py`).
"""

import numpy as np
import numpy.typing as npt

from ....algorithms.triangles.clustering import HostColumns
from ....jit.compile import compiled
from ....jit.parallel import for_ranges
from .triangles import TriangleCounts

Int64s = npt.NDArray[np.int64]


def columns_in_order(
    workspace: None, counts: TriangleCounts, order: Int64s, vertices: Int64s
) -> HostColumns:
    """Columns of a `ClusteringResult`.

    Parameters
    ----------
    order, vertices
        int64[n]: vertex indices in increasing order of users' ids, and those ids.
    """
    degree, triangles = np.empty(order.size, np.int64), np.empty(order.size, np.int64)
    coefficients = np.empty(order.size, np.float64)
    for_ranges(write_columns, order.size, order, counts, degree, triangles, coefficients)
    return HostColumns(vertices, degree, triangles, coefficients)


@compiled
def write_columns(low, high, order, given, degree, triangles, coefficients):
    """Write items ``low … high - 1`` of the columns; ``given`` is `TriangleCounts`."""
    degrees, counts, links, both_ways = given
    for i in range(low, high):
        vertex = order[i]
        neighbors = degrees[vertex]
        degree[i] = neighbors
        triangles[i] = counts[vertex]
        both = np.int64(both_ways[vertex]) if both_ways.size else np.int64(0)
        # A pair of edges to one neighbor, there and back, is a side of no triangle.
        pairs = (neighbors + both) * (neighbors + both - 1) - 2 * both
        coefficients[i] = links[vertex] / pairs if pairs > 0 else 0.0
