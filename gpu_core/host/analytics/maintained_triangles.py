"""Host twin of maintained triangles: what a batch makes or breaks, by common neighbors.

The triangles of a changed edge are the common neighbors of its ends. The shorter of the two rows is
read, and each of its entries looked for in the longer one by galloping: from where the last one was
found in steps that double, then by halving. Rows of one length are merged so, and of a hub's row
little is read.

Work is counted in entries of the shorter rows, put end to end, and cut anywhere: ranges of equal
work go through an edge between two hubs as well. Each range counts for itself, the first in the
counts as they are, so what is added to a vertex is added by one thread.

Not here: which of a triangle's changed edges counts it, and when (`algorithms/
maintained_triangles.py`).
"""

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...jit.compile import compiled, inlined
from ...jit.parallel import for_ranges, ranges_of, run_all
from ...rows import Rows
from .compact_rows import indptr_of
from .triangles import TriangleCounts, add_counts

Int64s = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

#: Entries that a recount reads in the time in which a repair looks for one: measured by
#: ``graphtide bench maintained``.
ENTRIES_A_LOOK_UP = 8
#: Below so much work one thread is done before a second one has begun.
_SERIAL_WORK = 1 << 15


class Pairs(NamedTuple):
    """Edges of which all triangles are to be counted."""

    #: uint64[k]: as of `changes.edge_keys`, increasing.
    keys: Keys
    #: int64[k + 1]: entries of the shorter rows before each edge.
    starts: Int64s
    #: Entries that are looked up: the last of ``starts``.
    work: int


def pairs_of(workspace: None, rows: Rows, keys: Keys) -> Pairs:
    """Measure the work of some edges, all of which the rows have."""
    lengths = np.empty(keys.size, np.int64)
    for_ranges(shorter_lengths, keys.size, keys, rows.degree, lengths)
    starts = indptr_of(lengths)
    return Pairs(keys, starts, int(starts[-1]))


def count_pairs(workspace: None, rows: Rows, pairs: Pairs, triangles: Int64s, sign: int) -> None:
    """Add ``sign`` for each triangle that has one of the edges, once, to each of its corners."""
    if pairs.work == 0:
        return
    ranges = ranges_of(pairs.work, serial_items=max(_SERIAL_WORK, triangles.size))
    parts = [triangles, *(np.zeros_like(triangles) for _ in ranges[1:])]
    given = pairs.keys, pairs.starts, *rows.walked, np.int64(sign)
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
def shorter_lengths(low, high, keys, degree, lengths):
    """Length of the shorter of the two rows of each of ``keys[low:high]``."""
    for i in range(low, high):
        lengths[i] = min(degree[lower_end(keys[i])], degree[higher_end(keys[i])])


@inlined
def lower_end(key):
    """Lower end of an edge."""
    return np.int64(key >> np.uint64(32))


@inlined
def higher_end(key):
    """Higher end of an edge."""
    return np.int64(key & np.uint64(0xFFFFFFFF))


@inlined
def is_counted_before(keys, number, one, other):
    """Whether the edge of two vertices is among ``keys[:number]``."""
    key = np.uint64(min(one, other)) << np.uint64(32) | np.uint64(max(one, other))
    if key >= keys[number]:
        return False
    low, high = np.int64(0), np.int64(number)
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return keys[low] == key


@compiled
def count_common(low, high, keys, starts, begin, degree, columns, step, sign, triangles):
    """Count what entries ``low … high - 1`` of the shorter rows find."""
    number = np.searchsorted(starts, low, side="right") - 1
    while low < high:
        u, v = lower_end(keys[number]), higher_end(keys[number])
        short, long = (u, v) if degree[u] <= degree[v] else (v, u)
        first, last = low - starts[number], min(starts[number + 1], high) - starts[number]
        here, there = begin[short], begin[long]
        length = np.int64(degree[long])
        at = np.int64(0)
        found = np.int64(0)
        for i in range(first, last):
            target = columns[here + i * step]
            # All entries before ``at`` are lower; in doubling steps to one that is not.
            stride = np.int64(1)
            while at + stride <= length and columns[there + (at + stride - 1) * step] < target:
                at += stride
                stride <<= 1
            end = min(at + stride - 1, length)
            while at < end:
                middle = (at + end) >> 1
                if columns[there + middle * step] < target:
                    at = middle + 1
                else:
                    end = middle
            if at == length:
                break
            if columns[there + at * step] != target:
                continue
            at += 1
            w = np.int64(target)
            if is_counted_before(keys, number, u, w) or is_counted_before(keys, number, v, w):
                continue
            triangles[w] += sign
            found += 1
        triangles[u] += sign * found
        triangles[v] += sign * found
        low = starts[number + 1]
        number += 1
