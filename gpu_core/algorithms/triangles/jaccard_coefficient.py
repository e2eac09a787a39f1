"""Jaccard coefficient of pairs of vertices: the share of their neighbors that they have in common.

::

    jaccard_coefficient(u, v) = common_neighbors(u, v) / |N(u) or N(v)|
                                0 where neither has neighbors

As ``nx.jaccard_coefficient`` defines it; of a directed graph, which networkx refuses, N are the
out-neighbors. What is common: `common_neighbors.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .common_neighbors import Shared


def jaccard_coefficient(shared: Shared) -> npt.NDArray[np.float64]:
    """float64[k], from 0 to 1: of the neighbors of each pair."""
    coefficient = np.zeros(shared.common.size)
    np.divide(shared.common, shared.either, out=coefficient, where=shared.either > 0)
    return coefficient
