"""Host twin of maintained triangles: those that a batch adds or removes, by common neighbors.

The triangles of a changed edge are the common neighbors of its ends: each entry of the shorter row
is looked for in the longer one. Edges come in the order of their longer ends. Where the edges of
one have many entries to look for, its neighbors are marked first, and a look-up is one read; else
by galloping: from where the last one was found in steps that double, then by halving.

Work is counted in entries of the shorter rows, put end to end, and cut anywhere: ranges of equal
work go through an edge between two hubs as well. Each range counts for itself, the first in the
counts as they are, so what is added to a vertex is added by one thread.

The row of a vertex of a directed graph is that of its out-neighbors and then that of its
in-neighbors, where those that stand in both are passed over. What is known of a pair of vertices is
its *weight*: the edges that join it, and four times those of them that change.

Not here: which of a triangle's changed edges counts it, when, and what it comes to
(`algorithms/maintained/maintained_triangles.py`).
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ....algorithms.maintained.maintained_triangles import Kept
from ....jit.compile import borrowing, compiled, inlined
from ....jit.parallel import for_ranges, ranges_of, run_all
from ....rows import Adjacencies, Rows
from ...queries.row_search import first_not_below, gallop
from ..parts.compact_rows import indptr_of
from ..triangles.triangles import TriangleCounts, add_counts

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]
UInt8s = npt.NDArray[np.uint8]
Keys = npt.NDArray[np.uint64]

#: Look-ups of a repair in the time that a recount takes for a triangle: measured by
#: ``graphtide bench maintained``.
_LOOK_UPS_A_TRIANGLE = 1.5
#: Below so much work one thread is done before a second one has begun.
_SERIAL_WORK = 1 << 15


#: Entries of a row that are marked in the time in which one is found by galloping.
_MARKS_A_SEARCH = 16


class Pairs(NamedTuple):
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


class OrderedPairs(NamedTuple):
    """`Pairs` in the order of ``longer``, as a kernel argument."""

    shorter: UInt32s
    longer: UInt32s
    #: int64[k + 1]: entries of the shorter rows before each pair, and of all.
    starts: Int64s
    #: None of an undirected graph.
    weights: UInt8s | None


class Changes(NamedTuple):
    """The pairs by vertex, as a kernel argument."""

    #: uint64, increasing: ``vertex << 32 | other end`` of each pair in both directions.
    mirrored: Keys
    #: uint8: changed edges of each of them; None: one each.
    changed: UInt8s | None
    #: 1 where edges were added, -1 where they are removed.
    sign: np.int64


def pairs_of(workspace: None, adjacencies: Adjacencies, keys: Keys) -> Pairs:
    """Measure the work of some edges, all of which the rows have."""
    weights = None
    if adjacencies.directed:
        keys, changed = _pairs_of_edges(keys)
        weights = 4 * changed.astype(np.uint8)
    shorter, longer = np.empty(keys.size, np.uint32), np.empty(keys.size, np.uint32)
    lengths = np.empty(keys.size, np.int64)
    measured = shorter, longer, lengths, weights
    for_ranges(measure_pairs, keys.size, keys, *_walked(adjacencies), measured)
    return Pairs(keys, *measured, int(lengths.sum()))


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
    workspace: None, adjacencies: Adjacencies, pairs: Pairs, kept: Kept, sign: int
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
    changes = Changes(mirrored, changed, np.int64(sign))
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


@inlined
def ends_of(key):
    """Lower and higher end of a key."""
    return np.uint32(key >> np.uint64(32)), np.uint32(key & np.uint64(0xFFFFFFFF))


@borrowing
def length_of(out, into, vertex):
    """Entries of the row of a vertex, of both directions where there are two."""
    length = np.int64(out[1][vertex])
    if into is not None:
        length += np.int64(into[1][vertex])
    return length


@borrowing
def find_entry(walked, vertex, at, target):
    """Position of an entry in the row of a vertex, from ``at`` on; and 1 if it is there."""
    begin, degree, columns, step = walked
    start, length = begin[vertex], np.int64(degree[vertex])
    at = gallop(columns, start, length, step, at, target)
    return at, np.int64(at < length and columns[start + at * step] == target)


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


@inlined
def edge_key(one, other):
    """Key of a pair, as of `gpu_core/changes.py`."""
    return np.uint64(min(one, other)) << np.uint64(32) | np.uint64(max(one, other))


@borrowing
def changed_edges(mirrored, changed, low, high, vertex, other):
    """Number of changed edges of a pair; those of ``vertex`` are ``mirrored[low:high]``."""
    entry = np.uint64(vertex) << np.uint64(32) | np.uint64(other)
    at = first_not_below(mirrored, low, high, entry)
    if at == high or mirrored[at] != entry:
        return np.int64(0)
    if changed is None:
        return np.int64(1)
    return np.int64(changed[at])


@borrowing
def changed_row(mirrored, vertex):
    """Begin and end of the changed edges of a vertex in ``mirrored``."""
    low = first_not_below(mirrored, 0, mirrored.size, np.uint64(vertex) << np.uint64(32))
    high = first_not_below(mirrored, low, mirrored.size, np.uint64(vertex + 1) << np.uint64(32))
    return low, high


@borrowing
def mark_row(walked, vertex, marks):
    """Count the entries of a row, in one direction, in the marks of the neighbors."""
    begin, degree, columns, step = walked
    for i in range(np.int64(degree[vertex])):
        marks[columns[begin[vertex] + i * step]] += np.uint8(1)


@borrowing
def clear_row(walked, vertex, marks):
    """Take the marks of the neighbors in a row back."""
    begin, degree, columns, step = walked
    for i in range(np.int64(degree[vertex])):
        marks[columns[begin[vertex] + i * step]] = np.uint8(0)


@borrowing
def mark_changed(mirrored, changed, low, high, marks):
    """Add four to the marks of those neighbors for each edge that changes."""
    for i in range(low, high):
        edges = np.int64(1)
        if changed is not None:
            edges = np.int64(changed[i])
        marks[mirrored[i] & np.uint64(0xFFFFFFFF)] += np.uint8(4 * edges)


@inlined
def change_of_triangle(xy_weight, xw_weight, yw_weight, products):
    """Contribution of a triangle, less that without the changed edges of its three pairs.

    Returns
    -------
    triangles, at_x, at_y, at_w : int64
        0 or 1; and what it adds to ``links`` of each corner.
    """
    xy, xy_changed = np.int64(xy_weight & 3), np.int64(xy_weight >> 2)
    xw, xw_changed = np.int64(xw_weight & 3), np.int64(xw_weight >> 2)
    yw, yw_changed = np.int64(yw_weight & 3), np.int64(yw_weight >> 2)
    remains = xy > xy_changed and xw > xw_changed and yw > yw_changed
    if products:
        change = xy * xw * yw - (xy - xy_changed) * (xw - xw_changed) * (yw - yw_changed)
        return np.int64(not remains), change, change, change
    if remains:
        return np.int64(0), yw_changed, xw_changed, xy_changed
    return np.int64(1), yw, xw, xy


@compiled
def count_common(low, high, pairs, changes, out, into, products, totals):
    """Count what entries ``low … high - 1`` of the shorter rows find.

    Parameters
    ----------
    pairs, changes
        `OrderedPairs` and `Changes`.
    out, into
        `Rows.walked` of either direction; ``into`` is None of an undirected graph.
    products
        Definition of ``links``: directed triangles.
    totals
        int64 by vertex, added to: triangles and ``links``.
    """
    shorter, longer, starts, weights = pairs
    mirrored, changed, sign = changes
    triangles, links = totals
    begin, degree, columns, step = out
    #: Weights of the pairs of ``marked`` and its neighbors; 0: no neighbor.
    marks = np.zeros(degree.size, np.uint8)
    marked = decided = np.int64(-1)
    number = np.searchsorted(starts, low, side="right") - 1
    while low < high:
        x, y = np.int64(shorter[number]), np.int64(longer[number])
        if y != decided:
            if marked >= 0:
                clear_row(out, marked, marks)
                if into is not None:
                    clear_row(into, marked, marks)
            marked, decided, ahead = np.int64(-1), y, number
            while ahead < longer.size and longer[ahead] == y:
                ahead += 1
            y_low, y_high = changed_row(mirrored, y)
            entries = length_of(out, into, y)
            if (min(starts[ahead], high) - low) * _MARKS_A_SEARCH >= entries:
                marked = y
                mark_row(out, y, marks)
                if into is not None:
                    mark_row(into, y, marks)
                mark_changed(mirrored, changed, y_low, y_high, marks)
        own = edge_key(x, y)
        # Looked for when something is found.
        x_low = x_high = np.int64(-1)
        at = at_in = x_at = np.int64(0)
        found = x_links = y_links = np.int64(0)
        x_length, y_length = np.int64(degree[x]), np.int64(degree[y])
        for i in range(low - starts[number], min(starts[number + 1], high) - starts[number]):
            if into is None or i < x_length:
                w = np.int64(columns[begin[x] + i * step])
            else:
                if i == x_length:
                    at = at_in = x_at = np.int64(0)
                w = np.int64(into[2][into[0][x] + (i - x_length) * into[3]])
            if marked == y:
                weight = np.int64(marks[w])
                if weight == 0:
                    continue
            else:
                at, weight = find_entry(out, y, at, w)
                if into is not None:
                    at_in, is_in = find_entry(into, y, at_in, w)
                    weight += is_in
                elif at == y_length:
                    break
                if weight == 0:
                    continue
                weight += 4 * changed_edges(mirrored, changed, y_low, y_high, y, w)
            if weight > 3 and edge_key(y, w) < own:
                continue
            if x_low < 0:
                x_low, x_high = changed_row(mirrored, x)
            is_below = edge_key(x, w) < own
            if into is None:
                if is_below and changed_edges(mirrored, changed, x_low, x_high, x, w) > 0:
                    continue
                triangles[w] += sign
                found += 1
            else:
                # A self loop makes no triangle.
                if w == x or w == y:
                    continue
                xw_changed = changed_edges(mirrored, changed, x_low, x_high, x, w)
                if is_below and xw_changed > 0:
                    continue
                if i < x_length:
                    x_at, is_both = find_entry(into, x, x_at, w)
                else:
                    x_at, is_both = find_entry(out, x, x_at, w)
                    if is_both:
                        # It has been met among the out-neighbors.
                        continue
                is_changed, at_x, at_y, at_w = change_of_triangle(
                    weights[number], 1 + is_both + 4 * xw_changed, weight, products
                )
                triangles[w] += sign * is_changed
                links[w] += sign * at_w
                found += is_changed
                x_links += at_x
                y_links += at_y
        triangles[x] += sign * found
        triangles[y] += sign * found
        if into is not None:
            links[x] += sign * x_links
            links[y] += sign * y_links
        low = starts[number + 1]
        number += 1
