"""Maintained PageRank on the host: residuals in whole numbers, repaired and pushed.

Changed rows and pushes are written by one thread: what a batch concerns is little, and its entries
lie anywhere. Pushes go through a list of the vertices whose residuals are above the least that is
pushed, in rounds; the threshold of a round is a quarter of the one before, and what is pushed in a
round is there for the vertices after it.

Not here: what the numbers mean, and whether to push
(`algorithms/maintained/maintained_pagerank.py`).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ....algorithms.maintained.pagerank_residuals import Pushed, ResidualTotals
from ....jit.compile import compiled, inlined
from ....jit.parallel import for_ranges
from ....rows import Adjacencies, Rows
from ..centrality import pagerank_start
from ..parts.compact_rows import compact_rows, transposed

Int64s = npt.NDArray[np.int64]
Vector = npt.NDArray[np.float64]
UInt32s = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]

#: Entries that full steps read in the time in which one is pushed: measured by
#: ``graphtide bench maintained``.
ENTRIES_A_PUSH = 2
#: Steps in whose time rows are copied before full steps, and residuals are computed after them.
STEPS_TO_BEGIN = 4

_FALL = 4


class ChangedEntries(NamedTuple):
    """Entries that a batch adds or removes."""

    #: uint64[k]: ``source << 32 | target``, increasing.
    keys: npt.NDArray[np.uint64]
    #: Entries of the rows of their sources, of each source once.
    work: int


def entries_of(
    workspace: None, rows: Rows, edges: npt.NDArray[np.uint64], *, directed: bool
) -> ChangedEntries:
    """Find the entries of edges, keys as of `gpu_core/changes.py`."""
    keys = edges
    if not directed:
        keys = np.sort(np.concatenate([edges, edges << np.uint64(32) | edges >> np.uint64(32)]))
    sources = keys >> np.uint64(32)
    first = np.ones(keys.size, np.bool_)
    first[1:] = sources[1:] != sources[:-1]
    work = int(rows.degree[sources[first].astype(np.int64)].sum(dtype=np.int64))
    return ChangedEntries(keys, work)


def follow_entries(
    workspace: None, rows: Rows, entries: ChangedEntries, mass: Int64s, residuals: Int64s,
    alpha: float, sign: int,
) -> None:  # fmt: skip
    """Add to ``residuals`` what entries change that the rows have; ``sign``: -1, removed ones."""
    follow_sources(entries.keys, rows.walked, mass, residuals, alpha, np.int64(sign))


def resized(workspace: None, items: npt.NDArray, count: int) -> npt.NDArray:  # type: ignore[type-arg]
    """Copy items, with zeros for vertices that there were not."""
    copied = np.zeros(count, items.dtype)
    copied[: items.size] = items
    return copied


def nothing(workspace: None, count: int) -> tuple[Int64s, Int64s, Bools]:
    """``y``, ``r`` and presence of ``count`` vertices, none of which is there."""
    return np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.bool_)


def start_of(
    workspace: None, rows: Rows, mass: Int64s, degrees: UInt32s | None, alpha: float
) -> Vector:
    """float64[vertex_count], sum 1: a start from the ranks of ``y``; see `pagerank_start.py`."""
    ranks = np.where(mass > 0, mass / max(int(mass.sum()), 1), -1.0)
    return pagerank_start.start_of(rows, alpha, ranks, degrees)


def dangling_of(workspace: None, rows: Rows, ranks: Vector) -> float:
    """Rank on vertices without out-edges."""
    return float(ranks[rows.degree == 0].sum())


def masses_of(workspace: None, rows: Rows, ranks: Vector, whole: float) -> Int64s:
    """``y`` of ranks, which sums to about ``whole``."""
    return np.rint(ranks * whole).astype(np.int64)


def residuals_of(workspace: None, adjacencies: Adjacencies, mass: Int64s, alpha: float) -> Int64s:
    """``r`` from nothing, but for ``b``."""
    residuals, shares = np.empty_like(mass), np.empty_like(mass)
    for_ranges(share_out, mass.size, mass, adjacencies.out.degree, alpha, shares)
    if adjacencies.into is not None:
        walked = adjacencies.into.walked
    else:
        indptr, indices, _ = transposed(compact_rows(adjacencies.out))
        walked = indptr[:-1], np.diff(indptr).astype(np.uint32), indices, np.int64(1)
    for_ranges(pull_shares, mass.size, walked, shares, mass, residuals)
    return residuals


def add_base(workspace: None, present: Bools, residuals: Int64s, base: int) -> None:
    """Add ``b`` where there is a vertex."""
    residuals[present] += base


def take_vertices(
    workspace: None, rows: Rows, mass: Int64s, residuals: Int64s, present: Bools, base: int
) -> None:
    """Give ``b`` to new vertices, and nothing to those that are gone; ``present``: as it was."""
    for_ranges(take_range, mass.size, rows.present, mass, residuals, present, np.int64(base))


def totals_of(workspace: None, mass: Int64s, residuals: Int64s) -> ResidualTotals:
    """Sums over all vertices."""
    parts = for_ranges(sum_range, mass.size, mass, residuals)
    return ResidualTotals(*(sum(int(part[i]) for part in parts) for i in range(4)))


def ranks_of(workspace: None, rows: Rows, mass: Int64s, total: int) -> Vector:
    """float64[vertex_count]: ranks of ``y``, of which those above 0 sum to ``total``."""
    return np.maximum(resized(workspace, mass, rows.count), 0) / float(total)


class LargeResiduals(NamedTuple):
    """Vertices with residuals above the least that is pushed, now or earlier."""

    #: uint8[vertex_count]: 1 where a vertex is in the list.
    marks: npt.NDArray[np.uint8]
    #: int64[vertex_count]: the list, ``length`` vertices.
    vertices: Int64s
    length: np.int64
    #: Sum of the absolute residuals of all others.
    rest: np.int64
    #: Residuals above this are pushed in the first round.
    threshold: np.int64


class Pushes:
    """Vertices whose residuals are above ``least``, to be pushed.

    Parameters
    ----------
    rows
        Of out-neighbors.
    mass, residuals
        ``y`` and ``r``, which are written.
    """

    def __init__(
        self, workspace: None, rows: Rows, mass: Int64s, residuals: Int64s, alpha: float, least: int
    ) -> None:
        self._rows, self._mass, self._residuals = rows, mass, residuals
        self._alpha, self._least = alpha, np.int64(least)
        marks, vertices = np.zeros(mass.size, np.uint8), np.empty(mass.size, np.int64)
        count, most, rest = list_above(residuals, self._least, marks, vertices)
        threshold = max(int(most) // _FALL, least)
        self._listed = LargeResiduals(marks, vertices, *map(np.int64, (count, rest, threshold)))
        first = vertices[:count]
        first = first[np.abs(residuals[first]) > threshold]
        #: Entries of the first round.
        self.active = int(rows.degree[first].sum(dtype=np.int64))

    def run(self, totals: ResidualTotals, allowed: int, budget: int) -> Pushed:
        """Push until ``A + |S|`` is at most ``allowed``, or ``budget`` entries were pushed."""
        rounds, entries, is_enough = push_rounds(
            self._rows.walked, self._mass, self._residuals, self._alpha, self._least, self._listed,
            np.int64(totals.signed), np.int64(allowed), np.int64(budget),
        )  # fmt: skip
        return Pushed(int(rounds), int(entries), bool(is_enough))


@inlined
def share_of(mass, degree, alpha):
    """``c``: what a vertex passes on to each out-neighbor, in whole numbers."""
    if degree == 0:
        return np.int64(0)
    return np.int64(np.rint(alpha * np.float64(mass) / np.float64(degree)))


@compiled
def share_out(low, high, mass, degree, alpha, shares):
    """``c`` of vertices ``low … high - 1``."""
    for vertex in range(low, high):
        shares[vertex] = share_of(mass[vertex], np.int64(degree[vertex]), alpha)


@compiled
def pull_shares(low, high, walked, shares, mass, residuals):
    """``r`` of vertices ``low … high - 1`` but for ``b``, over rows of in-neighbors."""
    begin, degree, columns, step = walked
    for vertex in range(low, high):
        total = -mass[vertex]
        base = begin[vertex]
        for i in range(np.int64(degree[vertex])):
            total += shares[columns[base + i * step]]
        residuals[vertex] = total


@compiled
def take_range(low, high, present, mass, residuals, was_present, base):
    """Vertices ``low … high - 1`` of `take_vertices`."""
    for vertex in range(low, high):
        if not present[vertex]:
            mass[vertex] = residuals[vertex] = 0
        elif not was_present[vertex]:
            residuals[vertex] += base
        was_present[vertex] = present[vertex]


@compiled
def sum_range(low, high, mass, residuals):
    """`ResidualTotals` of vertices ``low … high - 1``."""
    absolute = signed = above = below = np.int64(0)
    for vertex in range(low, high):
        absolute += abs(residuals[vertex])
        signed += residuals[vertex]
        if mass[vertex] > 0:
            above += mass[vertex]
        else:
            below -= mass[vertex]
    return absolute, signed, above, below


@compiled
def follow_sources(keys, walked, mass, residuals, alpha, sign):
    """Add what the changed entries of each source pass on, and what its others pass on less."""
    begin, degree, columns, step = walked
    first = 0
    while first < keys.size:
        source = np.int64(keys[first] >> np.uint64(32))
        last = first
        while last < keys.size and np.int64(keys[last] >> np.uint64(32)) == source:
            last += 1
        length = np.int64(degree[source])
        share = share_of(mass[source], length, alpha)
        other = share_of(mass[source], length - (last - first), alpha)
        base = begin[source]
        for i in range(length):
            residuals[columns[base + i * step]] += sign * (share - other)
        for i in range(first, last):
            residuals[keys[i] & np.uint64(0xFFFFFFFF)] += sign * other
        first = last


@compiled
def list_above(residuals, least, marks, listed):
    """List vertices with a residual above ``least``; their number, the largest, the others' sum."""
    count, most, rest = np.int64(0), np.int64(0), np.int64(0)
    for vertex in range(residuals.size):
        amount = abs(residuals[vertex])
        most = max(most, amount)
        if amount > least:
            marks[vertex] = 1
            listed[count] = vertex
            count += 1
        else:
            rest += amount
    return count, most, rest


@compiled
def push_rounds(walked, mass, residuals, alpha, least, listed, signed, allowed, budget):
    """Rounds of pushes; how many, their entries, and whether residuals are as small as allowed.

    Parameters
    ----------
    walked
        Rows of out-neighbors, as `Rows.walked`.
    least
        Residuals up to this are not pushed.
    listed
        `LargeResiduals`: those that are larger.
    signed
        Sum of all residuals.
    allowed, budget
        What ``A + |S|`` may be at the end; entries that are pushed at most.
    """
    begin, degree, columns, step = walked
    marks, vertices, count, rest, threshold = listed
    rounds, entries = np.int64(0), np.int64(0)
    while True:
        absolute = rest
        for i in range(count):
            absolute += abs(residuals[vertices[i]])
        if absolute + abs(signed) <= allowed:
            return rounds, entries, True
        if entries > budget:
            return rounds, entries, False
        rounds += 1
        pushed, at = np.int64(0), np.int64(0)
        while at < count:
            vertex = vertices[at]
            at += 1
            amount = residuals[vertex]
            if abs(amount) <= threshold:
                continue
            pushed += 1
            length = np.int64(degree[vertex])
            entries += length
            more = -share_of(mass[vertex], length, alpha)
            mass[vertex] += amount
            more += share_of(mass[vertex], length, alpha)
            residuals[vertex] -= amount
            signed += more * length - amount
            base = begin[vertex]
            for i in range(length):
                target = columns[base + i * step]
                before = residuals[target]
                after = before + more
                residuals[target] = after
                if marks[target] == 0:
                    rest += abs(after) - abs(before)
                    if abs(after) > least:
                        marks[target] = 1
                        rest -= abs(after)
                        vertices[count] = target
                        count += 1
            if entries > budget:
                break
        if pushed == 0 and threshold == least:
            return rounds, entries, False
        threshold = max(threshold // _FALL, least)
