"""Weakly connected components on the host: Afforest, on all threads.

Vertices are joined to trees, in which every vertex points at one of a smaller index, and the root
at itself. `link` joins the trees of the two ends of an edge, by hooking the larger root under
a smaller vertex with one compare-and-swap: threads that do so at the same time lose no edge.
`compress` has every vertex point at its root.

Most edges need not be looked at: the first `SAMPLED` entries of each row already join nearly all
of the largest component, if there is a large one. The rest of a row is read only of the vertices
that are not in it. That takes rows of both directions; without in-neighbors (``reverse=False``)
every row is read.

The root of a tree is its smallest index, whatever the order in which edges were linked.

Source: Sutton, Ben-Nun, Barak, "Optimizing Parallel Graph Connectivity Computation via Subgraph
Sampling", IPDPS 2018.
"""

import numpy as np
import numpy.typing as npt

from ....jit.atomics import compare_and_swap
from ....jit.compile import compiled, inlined
from ....jit.parallel import for_ranges
from ....rows import Adjacencies
from .component_names import name_components

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]

#: Entries of each row that are linked first.
SAMPLED = 2
#: Vertices that are asked which component is large.
_ASKED = 1024
#: No root: every row is read.
_NO_ROOT = np.uint32(0xFFFFFFFF)


def first_members(workspace: None, adjacencies: Adjacencies, order: Int64s) -> UInt32s:
    """Position in ``order`` of the first vertex of each vertex' component.

    Parameters
    ----------
    adjacencies
        Rows of out-neighbors, and of in-neighbors where they are stored.
    order
        int64[n]: vertex indices in increasing order of users' ids.

    Returns
    -------
    uint32[vertex_count]
        Of no meaning for absent vertices.
    """
    out, into = adjacencies.out, adjacencies.into
    parent = np.arange(out.count, dtype=np.uint32)
    if not order.size:
        return parent
    for number in range(SAMPLED):
        for_ranges(link_entries, parent.size, out.walked, parent, number, number + 1, _NO_ROOT)
        for_ranges(compress, parent.size, parent)
    large = _NO_ROOT if into is None else _large_root(parent, order)
    for_ranges(link_entries, parent.size, out.walked, parent, SAMPLED, _MOST, large)
    if into is not None and adjacencies.directed:
        for_ranges(link_entries, parent.size, into.walked, parent, 0, _MOST, large)
    for_ranges(compress, parent.size, parent)
    return name_components(parent, order)


#: Larger than any row.
_MOST = 1 << 32


def _large_root(parent: UInt32s, order: Int64s) -> np.uint32:
    """Root of which most of the vertices are that are asked."""
    asked = parent[order[np.linspace(0, order.size - 1, _ASKED).astype(np.int64)]]
    roots, counts = np.unique(asked, return_counts=True)
    found: np.uint32 = roots[np.argmax(counts)]
    return found


@inlined
def link(parent, one, other):
    """Join the trees of two vertices."""
    low, high = parent[one], parent[other]
    while low != high:
        if low > high:
            low, high = high, low
        above = parent[high]
        if above == low or (above == high and compare_and_swap(parent, high, high, low)):
            return
        high = parent[parent[high]]
        low = parent[low]


@compiled
def link_entries(low, high, walked, parent, first, end, skipped):
    """Link the entries ``first … end - 1`` of the rows ``low … high - 1`` not of root ``skipped``.

    A row whose vertex comes to that root meanwhile is left out as well: the other end of each of
    its edges reads it, or is of the same tree.
    """
    begin, degree, columns, step = walked
    for vertex in range(low, high):
        if parent[vertex] == skipped:
            continue
        position = begin[vertex]
        for number in range(first, min(np.int64(degree[vertex]), end)):
            link(parent, vertex, columns[position + number * step])


@compiled
def compress(low, high, parent):
    """Have each of the vertices ``low … high - 1`` point at its root."""
    for vertex in range(low, high):
        above = parent[vertex]
        while parent[above] != above:
            above = parent[above]
        parent[vertex] = above
