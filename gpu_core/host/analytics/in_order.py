"""Values by vertex index copied in the order of ids, and the other way round."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ...algorithms.shared.by_vertex import HostValues

Int64s = npt.NDArray[np.int64]


def values_in_order(
    workspace: None, values: npt.NDArray[Any], order: Int64s, vertices: Int64s
) -> HostValues:
    """Columns of a `ValuesResult`.

    Parameters
    ----------
    values
        [vertex_count], by vertex index.
    order, vertices
        int64[n]: vertex indices in increasing order of users' ids, and those ids.
    """
    return HostValues(vertices, values[order])


def values_by_index(
    workspace: None, values: npt.NDArray[Any], vertices: npt.NDArray[Any], count: int
) -> npt.NDArray[Any]:
    """[count], a new array: values of the vertices of these indices, each named once; else 0."""
    by_index = np.zeros(count, values.dtype)
    by_index[vertices] = values
    return by_index
