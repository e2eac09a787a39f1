"""Triangles: three vertices, each joined to the other two.

Of the undirected simple graph: direction does not matter (an edge either way or both ways joins
two vertices) and self loops are ignored. Counts are exact.

What an engine offers: ``algorithms.triangles`` with ``triangles_by_id``. Not here: how they are
found (`host/triangles.py`), and clustering coefficients (`clustering.py`).
"""

from typing import Any

import numpy as np
import numpy.typing as npt


def triangles(engine: Any) -> npt.NDArray[np.int64]:
    """Count the triangles at every vertex.

    Returns
    -------
    triangles : int64[n]
        Distinct triangles that each vertex is a corner of, in increasing order of users' ids. Their
        sum is three times the triangles of the graph.
    """
    found: npt.NDArray[np.int64] = engine.algorithms.triangles.triangles_by_id(engine)
    return found
