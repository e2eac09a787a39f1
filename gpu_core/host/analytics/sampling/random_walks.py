"""Random walks on the host: threads take ranges of walks.

Not here: how draws are numbered, and what is put in order (`algorithms/sampling/random_walks.py`).
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ....algorithms.sampling.random_walks import NO_KEY
from ....jit.compile import compiled, inlined
from ....jit.parallel import for_ranges
from ....jit.random_words import below, unit_float
from ....rows import Rows
from ...queries.row_search import first_not_below
from .draws import random_word

Int64s = npt.NDArray[np.int64]

#: Walks that one thread has made before a second one has begun.
_SERIAL_WALKS = 64

_NO_TIMES = np.empty(0, np.int64)
_NO_SUMS = np.empty(0, np.float64)
#: No time is before it.
_LONG_AGO = np.int64(np.iinfo(np.int64).min)


class WalkTask(NamedTuple):
    """The walks to make, as a kernel argument."""

    starts: npt.NDArray[np.uint32]
    #: Edges of a walk at most.
    length: int
    #: int64[vertex_count]: what vertices are called; of length 0: they are the indices.
    ids: Int64s
    first_word: np.uint64


class OrderedRows(NamedTuple):
    """Pinned rows whose entries are in the order of their times, as a kernel argument."""

    indptr: Any
    targets: npt.NDArray[np.uint32]
    #: int64[entries]; of length 0: times do not matter.
    times: Int64s
    #: float64[entries], sums of the weights of a row from each entry on: what may be drawn is the
    #: end of a row, and is not to be rounded by what comes before. Of length 0: all are alike.
    sums: npt.NDArray[np.float64]


def walk(
    workspace: None,
    rows: Rows,
    ids: Int64s | None,
    starts: npt.NDArray[np.uint32],
    length: int,
    *,
    first_word: np.uint64,
    weighted: bool,
    times: Int64s | None,
) -> tuple[Int64s, Int64s]:
    """Walk from each start.

    Parameters
    ----------
    rows
        Of out-neighbors; pinned ones where ``weighted`` or with ``times``.
    ids
        int64[vertex_count]: what vertices are called; None: they are the indices.
    times
        int64[entries], as the rows; None: they do not matter.

    Returns
    -------
    walks, lengths
        As of `algorithms.random_walks.random_walks`.
    """
    walks = np.full(starts.size * (length + 1), NO_KEY)
    lengths = np.empty(starts.size, np.int64)
    names = _NO_TIMES if ids is None else ids
    made = walks, lengths
    task = WalkTask(starts, length, names, first_word)
    if not weighted and times is None:
        for_ranges(
            walk_freely, starts.size, rows.walked, task, *made, serial_items=_SERIAL_WALKS,
        )  # fmt: skip
    else:
        ordered = _ordered(rows, times, weighted=weighted)
        for_ranges(
            walk_in_order, starts.size, ordered, task, *made, serial_items=_SERIAL_WALKS,
        )  # fmt: skip
    return made


def _ordered(rows: Rows, times: Int64s | None, *, weighted: bool) -> OrderedRows:
    """Neighbors, times and sums of weights of all entries, within rows by time."""
    targets, weights = rows.columns, rows.weights
    assert rows.indptr is not None
    if times is not None:
        order = np.lexsort((times, np.repeat(np.arange(rows.count), rows.degree)))
        targets, times = targets[order], times[order]
        weights = weights[order] if weighted and weights is not None else None
    sums = _NO_SUMS
    if weighted:
        sums = np.empty(targets.size)
        for_ranges(add_up_rows, rows.count, rows.indptr, weights, sums)
    return OrderedRows(rows.indptr, targets, _NO_TIMES if times is None else times, sums)


@compiled
def add_up_rows(low, high, indptr, weights, sums):
    """Sums of the weights of a row from each entry on, that entry included."""
    for row in range(low, high):
        total = 0.0
        for i in range(indptr[row + 1] - 1, indptr[row] - 1, -1):
            total += np.float64(weights[i])
            sums[i] = total


@inlined
def key_of(vertex, ids):
    """Id of a vertex, or its index."""
    return ids[vertex] if ids.size else np.int64(vertex)


@compiled
def walk_freely(low, high, walked, task, walks, lengths):
    """Make the walks ``low … high - 1``, all neighbors alike."""
    begin, degree, columns, step = walked
    starts, length, ids, first_word = task
    for number in range(low, high):
        vertex, at = np.int64(starts[number]), number * (length + 1)
        walks[at] = key_of(vertex, ids)
        made = 0
        while made < length and degree[vertex] > 0:
            entry = below(random_word(first_word, number, made), degree[vertex])
            vertex = np.int64(columns[begin[vertex] + entry * step])
            made += 1
            walks[at + made] = key_of(vertex, ids)
        lengths[number] = made


@inlined
def last_above(values, low, high, value):
    """Index of the last of ``values[low:high]``, which decrease, that is above ``value``."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle] > value:
            low = middle + 1
        else:
            high = middle
    return low - 1


@compiled
def walk_in_order(low, high, rows, task, walks, lengths):
    """Make the walks ``low … high - 1`` by time, by weight, or both."""
    indptr, targets, times, sums = rows
    starts, length, ids, first_word = task
    for number in range(low, high):
        vertex, at = np.int64(starts[number]), number * (length + 1)
        walks[at] = key_of(vertex, ids)
        made, time = 0, _LONG_AGO
        while made < length:
            begin, end = indptr[vertex], indptr[vertex + 1]
            first = first_not_below(times, begin, end, time) if times.size else begin
            if first == end:
                break
            word = random_word(first_word, number, made)
            if sums.size:
                total = sums[first]
                if not total > 0.0:
                    break
                entry = last_above(sums, first, end, unit_float(word) * total)
                if entry < first:
                    # Rounded up to the total. Of equal sums the last one has a weight.
                    entry = first
                    while entry + 1 < end and sums[entry + 1] == total:
                        entry += 1
            else:
                entry = first + below(word, end - first)
            vertex = np.int64(targets[entry])
            time = times[entry] if times.size else time
            made += 1
            walks[at + made] = key_of(vertex, ids)
        lengths[number] = made
