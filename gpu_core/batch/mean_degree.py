"""Mean degree of the edges that a batch puts: what ``mean_degree="first_batch"`` goes by.

Source: GraphVine (papers/001), 4.3: vertices without an edge are left out.
"""

from typing import Any

import numpy as np

from ..kind import GraphKind


def mean_degree(kind: GraphKind, rows: Any, columns: Any, xp: Any = np) -> float | None:
    """Entries a row of the adjacencies that edges alone have, in all directions that are stored.

    Parameters
    ----------
    kind
        What the graph is.
    rows
        Ids of the rows of a CSR of edges, each once, that have any.
    columns
        Ids of their entries, each edge once.
    xp
        Array module of both.

    Returns
    -------
    float or None
        `None`: there is no edge.
    """
    edges = int(columns.size)
    if edges == 0:
        return None
    if not kind.directed:
        return 2 * edges / int(xp.unique(xp.concatenate([rows, columns])).size)
    if kind.stores_reverse:
        return 2 * edges / (int(rows.size) + int(xp.unique(columns).size))
    return edges / int(rows.size)
