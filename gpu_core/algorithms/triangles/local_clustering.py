"""Clustering of some vertices, by the graph of their neighborhood alone.

Triangles at a vertex, and the edges among its neighbors, lie within it and its neighbors: the
coefficients there are those of the whole graph, for the cost of the neighbors' rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ...engine import Reader

UInt32s = npt.NDArray[np.uint32]


def neighborhood(reader: Reader, indices: UInt32s) -> tuple[UInt32s, UInt32s]:
    """Edges (sources, targets, by vertex index) among some vertices and all their neighbors.

    The reader's lock is held. Without the direction ``in`` of a directed graph its neighbors are
    found by a pass over all rows.
    """
    is_member = np.zeros(reader.vertex_count, np.bool_)
    is_member[indices] = True
    chosen = is_member.copy()
    is_member[reader.neighbors(indices, "out")[1]] = True
    if reader.kind.has_reverse:
        is_member[reader.neighbors(indices, "in")[1]] = True
    else:
        everyone = np.arange(reader.vertex_count, dtype=np.uint32)
        sources, targets = _edges(reader, everyone)
        is_member[sources[chosen[targets]]] = True
    sources, targets = _edges(reader, np.flatnonzero(is_member).astype(np.uint32))
    kept = is_member[targets]
    return sources[kept], targets[kept]


def _edges(reader: Reader, indices: UInt32s) -> tuple[UInt32s, UInt32s]:
    indptr, columns = reader.neighbors(indices, "out")
    return np.repeat(indices, np.diff(indptr)), columns
