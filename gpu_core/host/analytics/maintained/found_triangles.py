"""Triangles of changed edges, found and counted: each is a common neighbor of the edge's two ends.

Each entry of the shorter row is looked for in the longer one. Edges come in the order of their
longer ends. Where the edges of one have many entries to look for, its neighbors are marked first,
and a look-up is one read; else by galloping: from where the last one was found in steps that
double, then by halving.

The row of a vertex of a directed graph is that of its out-neighbors and then that of its
in-neighbors, where those that stand in both are passed over. What is known of a pair of vertices is
its *weight*: the edges that join it, and four times those of them that change.

Of a triangle's changed edges the one of the smallest key counts it; what it comes to:
`algorithms/maintained/maintained_triangles.py`.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ....jit.compile import borrowing, compiled, inlined
from ...queries.row_search import first_not_below, gallop

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]
UInt8s = npt.NDArray[np.uint8]
Keys = npt.NDArray[np.uint64]

#: Entries of a row that are marked in the time in which one is found by galloping.
_MARKS_A_SEARCH = 16


class OrderedPairs(NamedTuple):
    """`Pairs` in the order of ``longer``, as a kernel argument."""

    shorter: UInt32s
    longer: UInt32s
    #: int64[k + 1]: entries of the shorter rows before each pair, and of all.
    starts: Int64s
    #: None of an undirected graph.
    weights: UInt8s | None


class PairsByVertex(NamedTuple):
    """The pairs by vertex, as a kernel argument."""

    #: uint64, increasing: ``vertex << 32 | other end`` of each pair in both directions.
    mirrored: Keys
    #: uint8: changed edges of each of them; None: one each.
    changed: UInt8s | None
    #: 1 where edges were added, -1 where they are removed.
    sign: np.int64


class Longer(NamedTuple):
    """The longer end of a pair, and what is known of its row."""

    vertex: np.int64
    #: Whether the weights of the pairs with its neighbors are marked.
    is_marked: bool
    #: Begin and end of its changed edges in `PairsByVertex.mirrored`.
    low: np.int64
    high: np.int64


@compiled
def count_common(low, high, pairs, changes, out, into, products, totals):
    """Count what entries ``low … high - 1`` of the shorter rows find.

    Parameters
    ----------
    pairs, changes
        `OrderedPairs` and `PairsByVertex`.
    out, into
        `Rows.walked` of either direction; ``into`` is None of an undirected graph.
    products
        Definition of ``links``: directed triangles.
    totals
        int64 by vertex, added to: triangles and ``links``.
    """
    starts = pairs.starts
    #: Weights of the pairs of the longer end and its neighbors; 0: no neighbor.
    marks = np.zeros(out[1].size, np.uint8)
    longer = Longer(np.int64(-1), False, np.int64(0), np.int64(0))
    number = np.searchsorted(starts, low, side="right") - 1
    while low < high:
        y = np.int64(pairs.longer[number])
        if y != longer.vertex:
            if longer.is_marked:
                clear_neighbors(out, into, longer.vertex, marks)
            work = min(starts[end_of_longer(pairs.longer, number)], high) - low
            is_marked = work * _MARKS_A_SEARCH >= length_of(out, into, y)
            longer = Longer(y, is_marked, *changed_row(changes, y))
            if is_marked:
                mark_neighbors(out, into, longer, changes, marks)
        entries = low - starts[number], min(starts[number + 1], high) - starts[number]
        if into is None:
            count_pair(number, entries, pairs, longer, changes, out, marks, totals)
        else:
            count_directed_pair(
                number, entries, pairs, longer, changes, (out, into), marks, products, totals
            )
        low = starts[number + 1]
        number += 1


@borrowing
def count_pair(number, entries, pairs, longer, changes, out, marks, totals):
    """Count the triangles of an undirected pair, with some entries of the shorter row."""
    begin, degree, columns, step = out
    triangles = totals[0]
    x, y = np.int64(pairs.shorter[number]), longer.vertex
    own, y_length = edge_key(x, y), np.int64(degree[y])
    # Looked for when something is found.
    x_low = x_high = np.int64(-1)
    at = found = np.int64(0)
    for i in range(entries[0], entries[1]):
        w = np.int64(columns[begin[x] + i * step])
        if longer.is_marked:
            weight = np.int64(marks[w])
        else:
            at, weight = find_entry(out, y, at, w)
            if at == y_length:
                break
            if weight > 0:
                weight += 4 * changed_edges(changes, longer.low, longer.high, y, w)
        if weight == 0 or (weight > 3 and edge_key(y, w) < own):
            continue
        if x_low < 0:
            x_low, x_high = changed_row(changes, x)
        if edge_key(x, w) < own and changed_edges(changes, x_low, x_high, x, w) > 0:
            continue
        triangles[w] += changes.sign
        found += changes.sign
    triangles[x] += found
    triangles[y] += found


@borrowing
def count_directed_pair(
    number, entries, pairs, longer, changes, directions, marks, products, totals
):
    """Count the triangles of a directed pair, with some entries of the shorter row."""
    sign = changes.sign
    triangles, links = totals
    x, y = np.int64(pairs.shorter[number]), longer.vertex
    own, x_length = edge_key(x, y), np.int64(directions[0][1][x])
    # Looked for when something is found.
    x_low = x_high = np.int64(-1)
    found = x_links = y_links = np.int64(0)
    for direction in range(2):
        row, other_row = directions[direction], directions[1 - direction]
        begin, _, columns, step = row
        # The row of in-neighbors comes after that of out-neighbors.
        first = max(entries[0] - direction * x_length, 0)
        last = entries[1] - x_length if direction == 1 else min(entries[1], x_length)
        at_row = at_other = x_at = np.int64(0)
        for i in range(first, last):
            w = np.int64(columns[begin[x] + i * step])
            if longer.is_marked:
                weight = np.int64(marks[w])
            else:
                at_row, weight = find_entry(row, y, at_row, w)
                at_other, is_other = find_entry(other_row, y, at_other, w)
                weight += is_other
                if weight > 0:
                    weight += 4 * changed_edges(changes, longer.low, longer.high, y, w)
            # A self loop makes no triangle.
            if weight == 0 or w == x or w == y:
                continue
            if weight > 3 and edge_key(y, w) < own:
                continue
            if x_low < 0:
                x_low, x_high = changed_row(changes, x)
            xw_changed = changed_edges(changes, x_low, x_high, x, w)
            if xw_changed > 0 and edge_key(x, w) < own:
                continue
            x_at, is_both = find_entry(other_row, x, x_at, w)
            if is_both and direction == 1:
                # It has been met among the out-neighbors.
                continue
            is_changed, at_x, at_y, at_w = change_of_triangle(
                pairs.weights[number], 1 + is_both + 4 * xw_changed, weight, products
            )
            triangles[w] += sign * is_changed
            links[w] += sign * at_w
            found += sign * is_changed
            x_links += sign * at_x
            y_links += sign * at_y
    triangles[x] += found
    triangles[y] += found
    links[x] += x_links
    links[y] += y_links


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


@inlined
def edge_key(one, other):
    """Key of a pair, as of `gpu_core/changes.py`."""
    return np.uint64(min(one, other)) << np.uint64(32) | np.uint64(max(one, other))


@borrowing
def changed_edges(changes, low, high, vertex, other):
    """Number of changed edges of a pair; those of ``vertex`` are ``mirrored[low:high]``."""
    entry = np.uint64(vertex) << np.uint64(32) | np.uint64(other)
    at = first_not_below(changes.mirrored, low, high, entry)
    if at == high or changes.mirrored[at] != entry:
        return np.int64(0)
    return edges_at(changes.changed, at)


@borrowing
def edges_at(changed, at):
    """Changed edges of the pair of an entry of ``mirrored``."""
    if changed is None:
        return np.int64(1)
    return np.int64(changed[at])


@borrowing
def changed_row(changes, vertex):
    """Begin and end of the changed edges of a vertex in ``mirrored``."""
    mirrored = changes.mirrored
    low = first_not_below(mirrored, 0, mirrored.size, np.uint64(vertex) << np.uint64(32))
    high = first_not_below(mirrored, low, mirrored.size, np.uint64(vertex + 1) << np.uint64(32))
    return low, high


@borrowing
def end_of_longer(longer, number):
    """Number of the first pair from ``number`` on that has another longer end."""
    ahead = number
    while ahead < longer.size and longer[ahead] == longer[number]:
        ahead += 1
    return ahead


@borrowing
def mark_neighbors(out, into, longer, changes, marks):
    """Write the weights of the pairs of a vertex and its neighbors into the marks of these."""
    mark_row(out, longer.vertex, marks)
    if into is not None:
        mark_row(into, longer.vertex, marks)
    for i in range(longer.low, longer.high):
        neighbor = changes.mirrored[i] & np.uint64(0xFFFFFFFF)
        marks[neighbor] += np.uint8(4 * edges_at(changes.changed, i))


@borrowing
def clear_neighbors(out, into, vertex, marks):
    """Take the marks of the neighbors of a vertex back."""
    clear_row(out, vertex, marks)
    if into is not None:
        clear_row(into, vertex, marks)


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
