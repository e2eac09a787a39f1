"""Sums of weights that shares and draws can be made of."""

import numpy as np

from ....algorithms.centrality.pagerank import LEAST_STRENGTH
from ....jit.compile import inlined


@inlined
def can_be_shared(strength):
    """Whether weights that add up to this can be divided by it, or drawn by: not inf, not tiny."""
    return strength == 0.0 or LEAST_STRENGTH <= strength < np.inf
