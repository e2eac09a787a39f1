"""Triangles: three vertices, each joined to the other two.

Of the undirected simple graph: direction does not matter (an edge either way or both ways joins
two vertices) and self loops are ignored. Counts are exact.

What an engine offers: ``algorithms.triangles`` with ``count_triangles``, of rows alone, and
``triangles_in_order``. Not here: how they are found (`host/analytics/triangles/triangles.py`), and
clustering coefficients (`clustering.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..maintained.maintained_triangles import any_definition, counts_of

if TYPE_CHECKING:
    from ...engine import Reader


def triangles(reader: Reader) -> npt.NDArray[np.int64]:
    """Count the triangles at every vertex.

    Returns
    -------
    triangles : int64[n]
        Distinct triangles that each vertex is a corner of, in increasing order of users' ids. Their
        sum is three times the triangles of the graph.
    """
    found: npt.NDArray[np.int64] = reader.algorithms.triangles.triangles_in_order(
        reader.workspace, counts_of(reader, any_definition(reader)), reader.order()
    )
    return found
