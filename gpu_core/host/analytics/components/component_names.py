"""Labels of components on the host: the first vertex of each, in the order of ids."""

import numpy as np

from ....jit.compile import compiled


@compiled
def name_components(root, order):
    """Position in ``order`` of the first vertex of each root, by vertex index."""
    first = np.empty_like(root)
    for position in range(order.size - 1, -1, -1):
        first[root[order[position]]] = position
    for vertex in order:
        root[vertex] = first[root[vertex]]
    return root
