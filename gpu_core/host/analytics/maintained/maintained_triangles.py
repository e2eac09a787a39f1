"""Host twin of maintained triangles: what a batch makes or breaks, by common neighbors.

The triangles of a changed edge are the common neighbors of its ends: each entry of the shorter row
is looked for in the longer one. Edges come in the order of their longer ends. Where the edges of
one have many entries to look for, its neighbors are marked first, and a look-up is one read; else
by galloping: from where the last one was found in steps that double, then by halving.

Work is counted in entries of the shorter rows, put end to end, and cut anywhere: ranges of equal
work go through an edge between two hubs as well. Each range counts for itself, the first in the
counts as they are, so what is added to a vertex is added by one thread.

Not here: which of a triangle's changed edges counts it, and when
(`algorithms/maintained/maintained_triangles.py`).
"""

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ....jit.compile import compiled, inlined
from ....jit.parallel import for_ranges, ranges_of, run_all
from ....rows import Rows
from ..parts.compact_rows import indptr_of
from ..parts.row_search import gallop
from ..triangles.triangles import TriangleCounts, add_counts

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]
Keys = npt.NDArray[np.uint64]

#: Look-ups of a repair in the time that a recount takes for a triangle: measured by
#: ``graphtide bench maintained``.
LOOK_UPS_A_TRIANGLE = 1.5
#: Below so much work one thread is done before a second one has begun.
_SERIAL_WORK = 1 << 15


#: Entries of a row that are marked in the time in which one is found by galloping.
_MARKS_A_SEARCH = 16


class Pairs(NamedTuple):
    """Edges of which all triangles are to be counted."""

    #: uint64[k]: as of `gpu_core/changes.py`, increasing.
    keys: Keys
    #: uint32[k]: ends by the length of their rows.
    shorter: UInt32s
    longer: UInt32s
    #: int64[k]: entries of the shorter rows.
    lengths: Int64s
    #: Entries that are looked up: the sum of ``lengths``.
    work: int


def pairs_of(workspace: None, rows: Rows, keys: Keys) -> Pairs:
    """Measure the work of some edges, all of which the rows have."""
    shorter, longer = np.empty(keys.size, np.uint32), np.empty(keys.size, np.uint32)
    lengths = np.empty(keys.size, np.int64)
    for_ranges(measure_pairs, keys.size, keys, rows.degree, shorter, longer, lengths)
    return Pairs(keys, shorter, longer, lengths, int(lengths.sum()))


def count_pairs(workspace: None, rows: Rows, pairs: Pairs, triangles: Int64s, sign: int) -> None:
    """Add ``sign`` for each triangle that has one of the edges, once, to each of its corners."""
    if pairs.work == 0:
        return
    order = np.argsort(pairs.longer, kind="stable")
    turned = pairs.keys << np.uint64(32) | pairs.keys >> np.uint64(32)
    given = (
        pairs.shorter[order], pairs.longer[order], indptr_of(pairs.lengths[order]),
        np.sort(np.concatenate([pairs.keys, turned])), rows.walked, np.int64(sign),
    )  # fmt: skip
    ranges = ranges_of(pairs.work, serial_items=max(_SERIAL_WORK, triangles.size))
    parts = [triangles, *(np.zeros_like(triangles) for _ in ranges[1:])]
    run_all(
        [
            partial(count_common, low, high, *given, part)
            for (low, high), part in zip(ranges, parts, strict=True)
        ]
    )
    for part in parts[1:]:
        for_ranges(add_counts, part.size, part, triangles)


def resized(workspace: None, triangles: Int64s, count: int) -> Int64s:
    """Copy counts, with zeros for vertices that there were not."""
    copied = np.zeros(count, np.int64)
    copied[: triangles.size] = triangles
    return copied


def counts_of(workspace: None, rows: Rows, triangles: Int64s) -> TriangleCounts:
    """Counts as `triangles.count_triangles` returns them, of an undirected graph."""
    return TriangleCounts(rows.degree.astype(np.int64), triangles, 2 * triangles, triangles[:0])


def from_host(workspace: None, triangles: Int64s) -> Int64s:
    """Counts of a checkpoint as they are kept here."""
    return np.array(triangles, np.int64)


def to_host(workspace: None, triangles: Int64s) -> Int64s:
    """int64[vertex_count]: a copy for a checkpoint."""
    return triangles.copy()


def total(workspace: None, triangles: Int64s) -> int:
    """Triangles of the graph."""
    return int(triangles.sum()) // 3


@compiled
def measure_pairs(low, high, keys, degree, shorter, longer, lengths):
    """Tell the ends of ``keys[low:high]`` apart by the length of their rows."""
    for i in range(low, high):
        u, v = np.uint32(keys[i] >> np.uint64(32)), np.uint32(keys[i] & np.uint64(0xFFFFFFFF))
        if degree[u] > degree[v]:
            u, v = v, u
        shorter[i], longer[i], lengths[i] = u, v, degree[u]


@inlined
def edge_key(one, other):
    """Key of an edge, as of `gpu_core/changes.py`."""
    return np.uint64(min(one, other)) << np.uint64(32) | np.uint64(max(one, other))


@inlined
def first_not_below(items, low, high, bound):
    """First place of increasing ``items[low:high]`` that is not below ``bound``."""
    while low < high:
        middle = (low + high) >> 1
        if items[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def is_changed(turned, low, high, vertex, other):
    """Whether the edge is among the changed ones of ``vertex``, which are ``turned[low:high]``."""
    entry = np.uint64(vertex) << np.uint64(32) | np.uint64(other)
    at = first_not_below(turned, low, high, entry)
    return at < high and turned[at] == entry


@inlined
def changed_row(turned, vertex):
    """Where the changed edges of a vertex begin and end in ``turned``."""
    low = first_not_below(turned, 0, turned.size, np.uint64(vertex) << np.uint64(32))
    high = first_not_below(turned, low, turned.size, np.uint64(vertex + 1) << np.uint64(32))
    return low, high


@inlined
def mark_row(columns, start, length, step, value, marks):
    """Set the marks of the neighbors in a row."""
    for i in range(length):
        marks[columns[start + i * step]] = value


@compiled
def count_common(low, high, shorter, longer, starts, turned, walked, sign, triangles):
    """Count what entries ``low … high - 1`` of the shorter rows find.

    Parameters
    ----------
    shorter, longer
        Ends of the edges, in the order of ``longer``.
    starts
        Entries of the shorter rows before each edge, and of all.
    turned
        uint64, increasing: ``vertex << 32 | other end`` of each edge in both directions.
    """
    begin, degree, columns, step = walked
    #: 1: a neighbor of ``marked``; 2: by a changed edge; 0: none.
    marks = np.zeros(degree.size, np.uint8)
    marked = decided = np.int64(-1)
    number = np.searchsorted(starts, low, side="right") - 1
    while low < high:
        x, y = np.int64(shorter[number]), np.int64(longer[number])
        there, length = begin[y], np.int64(degree[y])
        if y != decided:
            if marked >= 0:
                mark_row(columns, begin[marked], np.int64(degree[marked]), step, 0, marks)
            marked, decided, ahead = np.int64(-1), y, number
            while ahead < longer.size and longer[ahead] == y:
                ahead += 1
            y_low, y_high = changed_row(turned, y)
            if (min(starts[ahead], high) - low) * _MARKS_A_SEARCH >= length:
                marked = y
                mark_row(columns, there, length, step, 1, marks)
                for i in range(y_low, y_high):
                    marks[turned[i] & np.uint64(0xFFFFFFFF)] = 2
        own = edge_key(x, y)
        # Looked for when something is found.
        x_low = x_high = np.int64(-1)
        at = found = np.int64(0)
        for i in range(low - starts[number], min(starts[number + 1], high) - starts[number]):
            w = np.int64(columns[begin[x] + i * step])
            if marked == y:
                mark = marks[w]
                if mark == 0:
                    continue
            else:
                at = gallop(columns, there, length, step, at, w)
                if at == length:
                    break
                if columns[there + at * step] != w:
                    continue
                mark = np.uint8(2)
                if not is_changed(turned, y_low, y_high, y, w):
                    mark = np.uint8(1)
            if mark == 2 and edge_key(y, w) < own:
                continue
            if x_low < 0:
                x_low, x_high = changed_row(turned, x)
            if edge_key(x, w) < own and is_changed(turned, x_low, x_high, x, w):
                continue
            triangles[w] += sign
            found += 1
        triangles[x] += sign * found
        triangles[y] += sign * found
        low = starts[number + 1]
        number += 1
