"""Neighbor sampling on the host: threads take ranges of the vertices that are expanded.

Not here: what is drawn (`algorithms/sampling/neighbor_sampling.py`), and the hash table by which
what is found is numbered (`vertex_numbers.py`).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ....algorithms.sampling.neighbor_sampling import ALL, REFUSED, Sampled, SamplingMode
from ....jit.compile import borrowing, compiled, inlined
from ....jit.parallel import for_ranges
from ....jit.random_words import below, unit_float
from ....rows import Rows
from ...queries.row_search import gallop
from ..parts.strengths import can_be_shared
from ..parts.weighted_rows import weighted_rows
from .draws import exponential, random_word
from .vertex_numbers import VertexNumbers

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]

#: Vertices that one thread has expanded before a second one has begun.
_SERIAL_VERTICES = 256

_NO_INT64S = np.empty(0, np.int64)
_NO_UINT32S = np.empty(0, np.uint32)


class DrawTask(NamedTuple):
    """The draws for the vertices of a hop, as a kernel argument."""

    #: uint32[f]: vertices that are expanded.
    frontier: UInt32s
    #: int64[f + 1]: where what is found of each goes.
    slots: Int64s
    #: Where the stream of words of this hop begins.
    first_word: np.uint64
    #: Whether an entry may be drawn more than once; whether all entries are taken.
    replace: bool
    takes_all: bool


class Sampler:
    """A sample that grows hop by hop.

    Parameters
    ----------
    rows
        Of one direction, with weights if hops are by weight.
    given
        uint32[v]: indices of vertices; different ones unless ``disjoint``.
    mode
        How hops are drawn.
    """

    def __init__(self, workspace: None, rows: Rows, given: UInt32s, mode: SamplingMode) -> None:
        self._rows = rows
        self._mode = mode
        self._numbers = VertexNumbers(given, np.arange(given.size) if mode.disjoint else None)
        #: Number of the first vertex that has not been expanded.
        self._first = 0
        #: int64[2, e] of each hop.
        self._edges: list[Int64s] = []

    def expand(self, fanout: int, first_word: np.uint64) -> UInt32s:
        """Sample the rows of the vertices that the hop before has found.

        Parameters
        ----------
        fanout
            Entries of each vertex at most; `ALL`.
        first_word
            Where the stream of this hop begins.

        Returns
        -------
        refused : uint32[k]
            Indices of expanded vertices one of whose weights was seen to be negative, or whose
            weights cannot be drawn by.
        """
        numbers, first = self._numbers, self._first
        frontier, trees = numbers.indices[first:], numbers.trees[first:]
        degree = self._rows.walked[1]
        slots = _slots(degree[frontier].astype(np.int64), fanout, replace=self._mode.replace)
        found, counts = self._sample(frontier, trees, fanout, slots, first_word)
        filled = np.maximum(counts, 0)
        expanded = np.repeat(np.arange(first, numbers.count), filled)
        of_trees = np.repeat(trees, filled) if self._mode.disjoint else None
        self._first = numbers.count
        self._edges.append(
            np.stack([numbers.of(_packed(found, slots, filled), of_trees), expanded])
        )
        refused: UInt32s = frontier[counts == REFUSED]
        return refused

    def sampled(self, ids: Int64s | None) -> Sampled:
        """The sample; ``ids``: int64 by vertex index, in place of indices; None: the indices."""
        numbers = self._numbers
        return Sampled(
            numbers.indices.astype(np.int64) if ids is None else ids[numbers.indices],
            numbers.trees if self._mode.disjoint else None,
            np.concatenate([np.empty((2, 0), np.int64), *self._edges], axis=1),
            numbers.per_hop,
            [each.shape[1] for each in self._edges],
        )

    def _sample(
        self, frontier: UInt32s, trees: Int64s, fanout: int, slots: Int64s, first_word: np.uint64
    ) -> tuple[UInt32s, Int64s]:
        """uint32[slots[-1]] and int64[f]: neighbors, and how many slots of each are filled."""
        rows, (replace, weighted, _, seen) = self._rows, self._mode
        found, counts = np.empty(int(slots[-1]), np.uint32), np.empty(frontier.size, np.int64)
        drawn = DrawTask(frontier, slots, first_word, replace, fanout == ALL)
        if not weighted and seen is None:
            for_ranges(
                sample_alike, counts.size, rows.walked, drawn, found, counts,
                serial_items=_SERIAL_VERTICES,
            )  # fmt: skip
            return found, counts
        times = _NO_INT64S, _NO_INT64S, _NO_INT64S
        out_rows = _NO_INT64S, _NO_UINT32S, _NO_UINT32S, np.int64(1)
        if seen is not None:
            every = seen.bounds.size == 1
            bounds = np.resize(seen.bounds, frontier.size) if every else seen.bounds[trees]
            times = seen.times.indptr, seen.times.values, bounds
            if seen.out is not None:
                out_rows = seen.out.walked
        for_ranges(
            sample_chosen, counts.size, weighted_rows(rows, weighted=weighted), (times, out_rows),
            drawn, np.empty(found.size), found, counts, serial_items=_SERIAL_VERTICES,
        )  # fmt: skip
        return found, counts


def _slots(degrees: Int64s, fanout: int, *, replace: bool) -> Int64s:
    """Offsets of the samples of each vertex: int64[f + 1]."""
    room = degrees
    if fanout != ALL:
        room = np.where(degrees > 0, fanout, 0) if replace else np.minimum(degrees, fanout)
    slots = np.zeros(room.size + 1, np.int64)
    np.cumsum(room, out=slots[1:])
    return slots


def _packed(found: UInt32s, slots: Int64s, filled: Int64s) -> UInt32s:
    """Samples without unused slots; ``filled``: used slots of each vertex."""
    if (filled == np.diff(slots)).all():
        return found
    ends = np.cumsum(filled)
    positions = np.arange(int(ends[-1])) + np.repeat(slots[:-1] - (ends - filled), filled)
    kept: UInt32s = found[positions]
    return kept


@inlined
def is_among(values, begin, end, value):
    """Whether ``value`` is one of ``values[begin:end]``."""
    for i in range(begin, end):
        if values[i] == value:
            return True
    return False


@compiled
def sample_alike(low, high, walked, drawn, found, counts):
    """Sample of all entries alike, for the expanded vertices ``low … high - 1``."""
    begin, degree, columns, step = walked
    frontier, slots, first_word, replace, _ = drawn
    for owner in range(low, high):
        vertex, slot = np.int64(frontier[owner]), slots[owner]
        room, entries = slots[owner + 1] - slot, np.int64(degree[vertex])
        for j in range(room):
            if replace:
                entry = below(random_word(first_word, owner, j), entries)
            elif room == entries:
                entry = j
            else:
                # Floyd: of the first `last + 1` entries one, or the last where it was taken.
                last = entries - room + j
                entry = below(random_word(first_word, owner, j), last + 1)
                if is_among(found, slot, slot + j, entry):
                    entry = last
            found[slot + j] = entry
        for j in range(room):
            found[slot + j] = columns[begin[vertex] + np.int64(found[slot + j]) * step]
        counts[owner] = room


@inlined
def was_seen(vertex, neighbor, i, seen, bound):
    """Whether the edge of an entry has a time up to the bound."""
    (indptr, values, _), out_rows = seen
    out_begin, out_degree, out_columns, out_step = out_rows
    if not values.size:
        return True
    at = indptr[vertex] + i
    if out_begin.size:
        # The edge is an entry of its source, the neighbor.
        start, length = out_begin[neighbor], np.int64(out_degree[neighbor])
        at = indptr[neighbor] + gallop(out_columns, start, length, out_step, np.int64(0), vertex)
    return values[at] <= bound


@borrowing
def candidate(rows, seen, vertex, i, bound):
    """Neighbor of an entry, and its weight: 0 where the edge is not to be drawn."""
    neighbor = np.int64(rows.columns[rows.begin[vertex] + i * rows.step])
    weight = 1.0
    if rows.weights.size > 0:
        weight = np.float64(rows.weights[rows.weight_begin[vertex] + i * rows.step])
    if weight > 0.0 and not was_seen(vertex, neighbor, i, seen, bound):
        weight = 0.0
    return neighbor, weight


@compiled
def sample_chosen(low, high, rows, seen, drawn, keys, found, counts):
    """Sample by weight, of edges seen before a time, or both; vertices ``low … high - 1``."""
    bounds = seen[0][2]
    for owner in range(low, high):
        bound = bounds[owner] if bounds.size else np.int64(0)
        if drawn.replace:
            count, total, is_negative = draw_again(owner, rows, seen, bound, drawn, found)
        elif drawn.takes_all:
            count, total, is_negative = take_all(owner, rows, seen, bound, drawn, found)
        else:
            count, total, is_negative = draw_once(owner, rows, seen, bound, drawn, keys, found)
        is_drawn = drawn.takes_all or can_be_shared(total)
        counts[owner] = REFUSED if is_negative or not is_drawn else count


@borrowing
def take_all(owner, rows, seen, bound, drawn, found):
    """Take every candidate of a vertex.

    Returns
    -------
    count
        Entries that were taken, as of the two draws below.
    total
        Sum of the weights of all candidates.
    is_negative
        Whether there is an entry of negative weight.
    """
    vertex, slot = np.int64(drawn.frontier[owner]), drawn.slots[owner]
    count, total, is_negative = 0, 0.0, False
    for i in range(np.int64(rows.degree[vertex])):
        neighbor, weight = candidate(rows, seen, vertex, i, bound)
        is_negative |= weight < 0.0
        if weight > 0.0:
            total += weight
            found[slot + count] = neighbor
            count += 1
    return count, total, is_negative


@borrowing
def draw_once(owner, rows, seen, bound, drawn, keys, found):
    """Draw different candidates: those with the least keys, each an exponential over its weight."""
    vertex, slot = np.int64(drawn.frontier[owner]), drawn.slots[owner]
    room, weighted = drawn.slots[owner + 1] - slot, rows.weights.size > 0
    count, total, is_negative = 0, 0.0, False
    for i in range(np.int64(rows.degree[vertex])):
        neighbor, weight = candidate(rows, seen, vertex, i, bound)
        is_negative |= weight < 0.0
        if weight <= 0.0:
            continue
        total += weight
        word = random_word(drawn.first_word, owner, i)
        key = exponential(word) / weight if weighted else unit_float(word)
        # The least keys so far are kept in order; of equal ones the first entry.
        at = count
        while at > 0 and keys[slot + at - 1] > key:
            at -= 1
        if at == room:
            continue
        count = min(count + 1, room)
        for j in range(count - 1, at, -1):
            keys[slot + j] = keys[slot + j - 1]
            found[slot + j] = found[slot + j - 1]
        keys[slot + at] = key
        found[slot + at] = neighbor
    return count, total, is_negative


@borrowing
def draw_again(owner, rows, seen, bound, drawn, found):
    """Draw candidates, each time from all of them, by the sums of weights up to each."""
    vertex, slot = np.int64(drawn.frontier[owner]), drawn.slots[owner]
    entries = np.int64(rows.degree[vertex])
    total, is_negative = 0.0, False
    for i in range(entries):
        _, weight = candidate(rows, seen, vertex, i, bound)
        is_negative |= weight < 0.0
        if weight > 0.0:
            total += weight
    if total == 0.0:
        return 0, total, is_negative
    room = drawn.slots[owner + 1] - slot
    for j in range(room):
        target = unit_float(random_word(drawn.first_word, owner, j)) * total
        upto = 0.0
        for i in range(entries):
            neighbor, weight = candidate(rows, seen, vertex, i, bound)
            if weight <= 0.0:
                continue
            upto += weight
            # The last one, should the target be rounded up to the total.
            found[slot + j] = neighbor
            if upto > target:
                break
    return room, total, is_negative
