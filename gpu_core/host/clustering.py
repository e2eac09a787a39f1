"""Host twin of clustering coefficients: counts by vertex become columns by users' ids, in one pass.

Not here: what the coefficients mean (`algorithms/clustering.py`), and how triangles are counted
(`triangles.py`).
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..image import Field
from .compile import compiled
from .parallel import for_ranges
from .triangles import count_triangles

Int64s = npt.NDArray[np.int64]


class HostColumns(NamedTuple):
    """Columns of a result in host memory; as in `ClusteringResult`."""

    vertices: Int64s
    degree: Int64s
    triangles: Int64s
    clustering: npt.NDArray[np.float64]


def columns_by_id(engine: Any) -> HostColumns:
    """Columns of a `ClusteringResult`, in increasing order of users' ids."""
    counts = count_triangles(engine)
    order = engine.sorted_order()
    vertices = order if engine.arena[Field.DENSE_IDS] else engine.ids_of(order)
    degree, triangles = np.empty(order.size, np.int64), np.empty(order.size, np.int64)
    coefficients = np.empty(order.size, np.float64)
    for_ranges(write_columns, order.size, order, *counts, degree, triangles, coefficients)
    return HostColumns(vertices, degree, triangles, coefficients)


@compiled
def write_columns(
    low, high, order, degrees, counts, neighbour_edges, degree, triangles, coefficients
):
    """Write items ``low … high - 1`` of the columns; parameters as of `TriangleCounts`."""
    for i in range(low, high):
        vertex = order[i]
        neighbours = degrees[vertex]
        degree[i] = neighbours
        triangles[i] = counts[vertex]
        pairs = neighbours * (neighbours - 1)
        coefficients[i] = neighbour_edges[vertex] / pairs if pairs > 0 else 0.0
