"""Common neighbors of pairs of vertices: how many vertices both have edges to.

::

    common_neighbors(u, v) = |N(u) and N(v), without u and v|

Of a directed graph N are the out-neighbors. networkx lists them, ``nx.common_neighbors(G, u, v)``,
of graphs without directions. It leaves out u and v, which are their own neighbors where edges from
a vertex to itself are kept.

What an engine offers: ``algorithms.common_neighbors`` with ``count_common``, of rows alone. Pairs
are no vertices, so this is no analytic of runs.

Not here: how users name pairs (`face/arguments/pairs.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ...engine import Reader

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]


class Shared(NamedTuple):
    """Neighbors of each pair of vertices."""

    #: int64[k]: those that both have, the two themselves left out.
    common: Int64s
    #: int64[k]: those that at least one of them has.
    either: Int64s


def shared_neighbors(reader: Reader, pairs: UInt32s) -> Shared:
    """Count the neighbors of each pair; the reader's lock is held.

    Parameters
    ----------
    pairs
        uint32[2, k]: indices of vertices that are in the graph.
    """
    twin = reader.algorithms.common_neighbors
    both, lengths = twin.count_common(reader.workspace, reader.rows("out"), pairs)
    either = lengths - both
    if not reader.kind.directed or reader.kind.self_loops != "keep":
        return Shared(both, either)
    sources, targets = pairs
    own = reader.has_edges(sources, sources) & reader.has_edges(targets, sources)
    others = reader.has_edges(targets, targets) & reader.has_edges(sources, targets)
    return Shared(both - own - (others & (sources != targets)), either)
