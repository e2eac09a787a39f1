"""Neighbor sampling on the host: threads take ranges of the vertices that are expanded.

Not here: hops, and the numbers of what is found (`algorithms/sampling/neighbor_sampling.py`, which
also says what is drawn).
"""

import numpy as np
import numpy.typing as npt

from ....algorithms.sampling.neighbor_sampling import ALL, NEGATIVE, Hop, packed
from ....jit.compile import compiled, inlined
from ....jit.parallel import for_ranges
from ....rows import Rows
from .draws import below, exponential, random_word, unit_float

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]

#: Vertices that one thread has expanded before a second one has begun.
_SERIAL_VERTICES = 256

_NO_WEIGHTS = np.empty(0, np.float32)
_NO_INT64S = np.empty(0, np.int64)
_NO_UINT32S = np.empty(0, np.uint32)


def sample(workspace: None, rows: Rows, hop: Hop) -> tuple[UInt32s, Int64s]:
    """Sample the rows of a hop.

    Parameters
    ----------
    rows
        Of one direction, with weights if the hop is by weight.

    Returns
    -------
    found : uint32[sum of counts]
        Vertex indices, row after row.
    counts : int64[f]
        How many of each expanded vertex; `NEGATIVE`, and none, where a weight is negative.
    """
    size = int(hop.slots[-1])
    found, counts = np.empty(size, np.uint32), np.empty(hop.frontier.size, np.int64)
    drawn = hop.frontier, hop.slots, hop.first_word, hop.replace
    if not hop.weighted and hop.seen is None:
        for_ranges(
            sample_alike, counts.size, *rows.walked, *drawn, found, counts,
            serial_items=_SERIAL_VERTICES,
        )  # fmt: skip
        return packed(found, hop.slots, counts), counts
    weights = (rows.weights, rows.weight_begin) if hop.weighted else (_NO_WEIGHTS, rows.begin)
    times = _NO_INT64S, _NO_INT64S, _NO_INT64S
    turned = _NO_INT64S, _NO_UINT32S, _NO_UINT32S, np.int64(1)
    if hop.seen is not None:
        times = hop.seen.times.indptr, hop.seen.times.values, hop.seen.bounds
        if hop.seen.out is not None:
            turned = hop.seen.out.walked
    for_ranges(
        sample_chosen, counts.size, *rows.walked, *weights, times, turned, *drawn,
        hop.fanout == ALL, np.empty(size), found, counts, serial_items=_SERIAL_VERTICES,
    )  # fmt: skip
    return packed(found, hop.slots, counts), counts


@inlined
def is_among(values, begin, end, value):
    """Whether ``value`` is one of ``values[begin:end]``."""
    for i in range(begin, end):
        if values[i] == value:
            return True
    return False


@compiled
def sample_alike(
    low, high, begin, degree, columns, step, frontier, slots, first_word, replace, found, counts
):
    """Sample of all entries alike, for the expanded vertices ``low … high - 1``."""
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
def was_seen(vertex, neighbor, i, times, bound, turned):
    """Whether the edge of an entry has a time before the bound."""
    indptr, values, _ = times
    out_begin, out_degree, out_columns, out_step = turned
    if not values.size:
        return True
    at = indptr[vertex] + i
    if out_begin.size:
        # The edge is an entry of its source, the neighbor.
        low, high = np.int64(0), np.int64(out_degree[neighbor])
        base = out_begin[neighbor]
        while low < high:
            middle = (low + high) >> 1
            if out_columns[base + middle * out_step] < vertex:
                low = middle + 1
            else:
                high = middle
        at = indptr[neighbor] + low
    return values[at] < bound


@compiled
def sample_chosen(
    low, high, begin, degree, columns, step, weights, weight_begin, times, turned, frontier, slots,
    first_word, replace, takes_all, keys, found, counts,
):  # fmt: skip
    """Sample by weight, of edges seen before a time, or both; vertices ``low … high - 1``."""
    weighted = weights.size > 0
    for owner in range(low, high):
        vertex, slot = np.int64(frontier[owner]), slots[owner]
        room, entries = slots[owner + 1] - slot, np.int64(degree[vertex])
        bound = times[2][owner] if times[2].size else np.int64(0)
        count, total = 0, 0.0
        is_negative = False
        for i in range(entries):
            neighbor = np.int64(columns[begin[vertex] + i * step])
            weight = np.float64(weights[weight_begin[vertex] + i * step]) if weighted else 1.0
            is_negative |= weight < 0.0
            if weight <= 0.0 or not was_seen(vertex, neighbor, i, times, bound, turned):
                continue
            total += weight
            if replace:
                continue
            if takes_all:
                found[slot + count] = neighbor
                count += 1
                continue
            # The least keys so far, in order; of equal ones the first entry.
            word = random_word(first_word, owner, i)
            key = exponential(word) / weight if weighted else unit_float(word)
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
        if replace and total > 0.0:
            count = room
            for j in range(room):
                target = unit_float(random_word(first_word, owner, j)) * total
                upto = 0.0
                for i in range(entries):
                    neighbor = np.int64(columns[begin[vertex] + i * step])
                    weight = (
                        np.float64(weights[weight_begin[vertex] + i * step]) if weighted else 1.0
                    )
                    if weight <= 0.0 or not was_seen(vertex, neighbor, i, times, bound, turned):
                        continue
                    upto += weight
                    # The last one, should the target be rounded up to the total.
                    found[slot + j] = neighbor
                    if upto > target:
                        break
        counts[owner] = NEGATIVE if is_negative else count
