"""Host twin of maintained triangles: those that a batch adds or removes, by common neighbors.

Work is counted in entries of the shorter rows, put end to end, and cut anywhere: ranges of equal
work go through an edge between two hubs as well. Each range counts for itself, the first in the
counts as they are, so what is added to a vertex is added by one thread.

Not here: how a range is counted (`found_triangles.py`); which of a triangle's changed edges counts
it, when, and what it comes to (`algorithms/maintained/maintained_triangles.py`).
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ....algorithms.maintained.maintained_triangles import Kept
from ....jit.compile import compiled
from ....jit.parallel import for_ranges, ranges_of, run_all
from ....rows import Adjacencies, Rows
from ..parts.compact_rows import indptr_of
from ..triangles.triangles import TriangleCounts, add_counts
from .found_triangles import (
    OrderedPairs,
    PairsByVertex,
    count_common,
    ends_of,
    find_entry,
    length_of,
)

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]
UInt8s = npt.NDArray[np.uint8]
Keys = npt.NDArray[np.uint64]

#: Look-ups of a repair in the time that a recount takes for a triangle: measured by
#: ``graphtide bench maintained``.
_LOOK_UPS_A_TRIANGLE = 1.5
#: Below so much work one thread is done before a second one has begun.
_SERIAL_WORK = 1 << 15


class ChangedPairs(NamedTuple):
    """Pairs of vertices with changed edges, of which all triangles are to be counted."""

    #: uint64[k]: as of undirected edges in `gpu_core/changes.py`, increasing.
    keys: Keys
    #: uint32[k]: ends by the length of their rows.
    shorter: UInt32s
    longer: UInt32s
    #: int64[k]: entries of the shorter rows.
    lengths: Int64s
    #: uint8[k]: edges of each pair, and four times those that change; None: all are 1 and 4.
    weights: UInt8s | None
    #: Entries that are looked up: the sum of ``lengths``.
    work: int


def pairs_of(workspace: None, adjacencies: Adjacencies, keys: Keys) -> ChangedPairs:
    """Measure the work of some edges, all of which the rows have."""
    weights = None
    if adjacencies.directed:
        keys, changed = _pairs_of_edges(keys)
        weights = 4 * changed.astype(np.uint8)
    shorter, longer = np.empty(keys.size, np.uint32), np.empty(keys.size, np.uint32)
    lengths = np.empty(keys.size, np.int64)
    measured = shorter, longer, lengths, weights
    for_ranges(measure_pairs, keys.size, keys, *_walked(adjacencies), measured)
    return ChangedPairs(keys, *measured, int(lengths.sum()))


def _pairs_of_edges(keys: Keys) -> tuple[Keys, Int64s]:
    """The pairs of vertices that directed edges join, self loops left out.

    Parameters
    ----------
    keys
        uint64[m], each once: of directed edges.

    Returns
    -------
    pairs : uint64[k]
        As keys of undirected edges, increasing, each once.
    edges : int64[k]
        How many of the edges join each: 1 or 2.
    """
    half, low_bits = np.uint64(32), np.uint64(0xFFFFFFFF)
    source, target = keys >> half, keys & low_bits
    folded = np.minimum(source, target) << half | np.maximum(source, target)
    pairs, edges = np.unique(folded[source != target], return_counts=True)
    return pairs, edges


def look_ups_of_recount(adjacencies: Adjacencies, triangles: int) -> float:
    """Look-ups in the time that a recount takes; of a directed graph one is twice as long."""
    directions = 2 if adjacencies.directed else 1
    return adjacencies.out.num_entries + _LOOK_UPS_A_TRIANGLE * triangles / directions


def _walked(adjacencies: Adjacencies) -> tuple[Any, Any]:
    """Rows of both directions as kernels read them; None: the graph is undirected.

    They are compiled for None as well, and then have no branches for a second direction.
    """
    if not adjacencies.directed:
        return adjacencies.out.walked, None
    assert adjacencies.into is not None
    return adjacencies.out.walked, adjacencies.into.walked


def count_pairs(
    workspace: None, adjacencies: Adjacencies, pairs: ChangedPairs, kept: Kept, sign: int
) -> None:
    """Add to ``kept`` what the edges make, or (``sign`` -1) take away what they break."""
    if pairs.work == 0:
        return
    order = np.argsort(pairs.longer, kind="stable")
    mirrored = np.concatenate(
        [pairs.keys, pairs.keys << np.uint64(32) | pairs.keys >> np.uint64(32)]
    )
    weights = changed = None
    if pairs.weights is not None:
        count_neighbors(pairs.keys, pairs.weights, sign, kept.degree, _array(kept.both_ways))
        by_vertex = np.argsort(mirrored)
        mirrored, changed = mirrored[by_vertex], np.tile(pairs.weights >> 2, 2)[by_vertex]
        weights = pairs.weights[order]
    else:
        mirrored.sort()
    starts = indptr_of(pairs.lengths[order])
    ordered = OrderedPairs(pairs.shorter[order], pairs.longer[order], starts, weights)
    changes = PairsByVertex(mirrored, changed, np.int64(sign))
    given = ordered, changes, *_walked(adjacencies), kept.both_ways is not None
    totals = kept.triangles, _array(kept.links)
    ranges = ranges_of(pairs.work, serial_items=max(_SERIAL_WORK, kept.triangles.size))
    parts = [totals, *(tuple(np.zeros_like(each) for each in totals) for _ in ranges[1:])]
    run_all(
        [
            partial(count_common, low, high, *given, part)
            for (low, high), part in zip(ranges, parts, strict=True)
        ]
    )
    for part in parts[1:]:
        for counts, total in zip(part, totals, strict=True):
            for_ranges(add_counts, total.size, counts, total)


def _array(counts: Int64s | None) -> Int64s:
    return np.empty(0, np.int64) if counts is None else counts


def resized(workspace: None, counts: Int64s, count: int) -> Int64s:
    """Copy counts, with zeros for vertices that there were not."""
    copied = np.zeros(count, np.int64)
    copied[: counts.size] = counts
    return copied


def counts_of(workspace: None, rows: Rows, kept: Kept) -> TriangleCounts:
    """Counts as `triangles.count_triangles` returns them."""
    if kept.degree is None:
        degree, links = rows.degree.astype(np.int64), 2 * kept.triangles
    else:
        degree, links = kept.degree, kept.links
    return TriangleCounts(degree, kept.triangles, links, _array(kept.both_ways))


def from_host(workspace: None, counts: Kept) -> Kept:
    """Counts of a checkpoint as they are kept here."""
    return counts.each(lambda array: np.array(array, np.int64))


def to_host(workspace: None, counts: Int64s) -> Int64s:
    """int64[vertex_count]: a copy for a checkpoint."""
    return counts.copy()


def total(workspace: None, triangles: Int64s) -> int:
    """Triangles of the graph."""
    return int(triangles.sum()) // 3


@compiled
def measure_pairs(low, high, keys, out, into, measured):
    """Order the ends of ``keys[low:high]`` by the length of their rows; count their edges."""
    shorter, longer, lengths, weights = measured
    for i in range(low, high):
        u, v = ends_of(keys[i])
        if length_of(out, into, u) > length_of(out, into, v):
            u, v = v, u
        shorter[i], longer[i], lengths[i] = u, v, length_of(out, into, u)
        if into is not None:
            first = np.int64(0)
            edges = find_entry(out, u, first, v)[1] + find_entry(into, u, first, v)[1]
            weights[i] += np.uint8(edges)


@compiled
def count_neighbors(keys, weights, sign, degree, both_ways):
    """Change the neighbors in either direction, and those in both, by the changed pairs."""
    for i in range(keys.size):
        u, v = ends_of(keys[i])
        edges, changed = weights[i] & 3, weights[i] >> 2
        if edges == changed:
            degree[u] += sign
            degree[v] += sign
        if edges == 2 and both_ways.size > 0:
            both_ways[u] += sign
            both_ways[v] += sign
