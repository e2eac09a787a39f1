"""Sort the keys of a batch on one core: CPU workers convert batches in parallel.

Keys are distinct, so any sort of whole keys gives the order of a stable sort of their upper bits,
and large batches are sorted by whichever is faster on this processor (`sorts_by_numpy` times both
once): NumPy's sort takes 8 to 10 ns a key on Sapphire Rapids, where radix passes over all bits take
33, and 58 on Zen 4, whose AVX-512 compress stores are microcoded, where those take 9 (4 M keys).

The radix sort makes `PASSES` passes over the uppermost bits, fewer of few keys. That leaves *runs*
of keys which agree in them, nearly all of one key: a short run that is out of order is repaired by
insertion, a long one by radix passes over the bits that are left, which take a fraction of the
time: such runs stay in the cache. It is stable, and sorts words of `net_effect/edge_buckets.py` as
well.

Not here: what keys are made of (`net_effect/last_rows.py`), and sorts on all cores
(`host/update/parallel_sort.py`).

Source: least-significant-digit radix sort is textbook (Knuth, TAOCP vol. 3, 5.2.5); alternatives
are timed in ``flows/bench/scripts/conversion.py``.
"""

import timeit
from functools import cache

import numpy as np
import numpy.typing as npt

from ..jit.arrays import readonly
from ..jit.compile import compiled, inlined

Ids = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

#: Fewest keys for which the sorts are compared, and the keys that the comparison sorts.
TIMED_KEYS = 1 << 16
#: Passes of the radix sort over the uppermost bits.
PASSES = 3
#: Two passes distinguish nearly all of fewer keys than that.
TWO_PASSES = 1 << 14
#: Wide digits make few passes, narrow ones have small tables: those win below this number of keys.
WIDE_DIGITS = 1 << 15
#: Keys that are counted together: they stay in the first cache.
BLOCK = 1 << 11
#: A run up to this long is ordered by insertion.
SHORT_RUN = 32
#: Most flags an id for which distinct ids are found by a flag for each of their range.
FLAGS_PER_ID = 16


def sort_keys(keys: Keys, low_bit: int, bits: int) -> Keys:
    """Sort keys that are in order already by the bits below ``low_bit``.

    Returns the sorted keys; the array given is overwritten. Nothing lies above the ``bits`` bits.
    """
    if keys.size >= TIMED_KEYS and sorts_by_numpy():
        keys.sort()
        return keys
    return sort_by_radix(keys, np.empty_like(keys), low_bit, bits)


@cache
def sorts_by_numpy() -> bool:
    """Whether NumPy's sort is the faster one on this processor: timed once a process, 10 ms."""
    drawn = np.random.default_rng(0).integers(0, 1 << 40, TIMED_KEYS, dtype=np.uint64)
    position_bits = TIMED_KEYS.bit_length() - 1
    drawn = (drawn << np.uint64(position_bits)) | np.arange(TIMED_KEYS, dtype=np.uint64)
    spare = np.empty_like(drawn)
    seconds = [
        min(timeit.repeat(sort, drawn.copy, repeat=3, number=1))
        for sort in (
            lambda: np.sort(drawn),
            lambda: sort_by_radix(drawn.copy(), spare, position_bits, 40),
        )
    ]
    return seconds[0] < seconds[1]


def distinct_ids(ids: Ids) -> Ids:
    """int64, increasing: each id once."""
    if ids.size == 0:
        return ids.copy()
    low, high = (int(bound) for bound in smallest_and_largest(ids))
    if high - low < FLAGS_PER_ID * ids.size:
        flags = np.zeros(high - low + 1, dtype=np.bool_)
        mark_ids(readonly(ids), low, flags)
        return np.flatnonzero(flags) + low
    offsets = ids.view(np.uint64) - np.uint64(low % (1 << 64))
    offsets = sort_keys(offsets, 0, (high - low).bit_length())
    first = np.ones(ids.size, dtype=np.bool_)
    np.not_equal(offsets[1:], offsets[:-1], out=first[1:])
    return (offsets[first] + np.uint64(low % (1 << 64))).view(np.int64)


@compiled
def smallest_and_largest(ids):
    """Of at least one id."""
    smallest = largest = ids[0]
    for i in range(ids.size):
        smallest, largest = min(smallest, ids[i]), max(largest, ids[i])
    return smallest, largest


@compiled
def mark_ids(ids, low, flags):
    """Set the flag of each id; the first one is of ``low``."""
    first = np.uint64(low)
    for i in range(np.uint64(ids.size)):
        flags[np.uint64(ids[i]) - first] = True


@compiled
def sort_by_radix(keys, spare, low_bit, bits):
    """Sort by ``bits`` bits from ``low_bit`` up, stable; return which array holds the result."""
    left = max(0, bits - sorted_bits(keys.size))
    ordered = radix_sort(keys, spare, low_bit + left, bits - left)
    if left:
        order_runs(ordered, keys if ordered is spare else spare, low_bit, left)
    return ordered


@inlined
def sorted_bits(count):
    """Number of uppermost bits to make passes over, so that most runs are of one key."""
    if count >= WIDE_DIGITS:
        return 10 * PASSES
    return 8 * (PASSES if count >= TWO_PASSES else 2)


@compiled
def radix_sort(keys, spare, low_bit, bits):
    """Sort, stable, by ``bits`` bits from ``low_bit`` up; return which array holds the result."""
    count = np.uint64(keys.size)
    widest = 10 if count >= WIDE_DIGITS else 8
    passes = (bits + widest - 1) // widest
    width = (bits + passes - 1) // passes
    mask = np.uint64((1 << width) - 1)
    tables = np.zeros((passes, 1 << width), dtype=np.uint32)
    for low in range(np.uint64(0), count, np.uint64(BLOCK)):
        block = keys[low : min(low + np.uint64(BLOCK), count)]
        for digit in range(passes):
            table, shift = tables[digit], np.uint64(low_bit + digit * width)
            for i in range(np.uint64(block.size)):
                table[(block[i] >> shift) & mask] += np.uint32(1)
    for digit in range(passes):
        table = tables[digit]
        shift = np.uint64(low_bit + digit * width)
        if count > 0 and table[(keys[0] >> shift) & mask] == count:
            continue
        begin = np.uint32(0)
        for value in range(np.uint64(table.size)):
            table[value], begin = begin, begin + table[value]
        for i in range(count):
            key = keys[i]
            value = (key >> shift) & mask
            to = table[value]
            spare[np.uint64(to)] = key
            table[value] = to + np.uint32(1)
        keys, spare = spare, keys
    return keys


@compiled
def order_runs(keys, spare, low_bit, bits):
    """Sort each run of keys that agree above ``bits`` bits from ``low_bit`` up, by these."""
    low_shift, shift, one = np.uint64(low_bit), np.uint64(low_bit + bits), np.uint64(1)
    count = np.uint64(keys.size)
    at = one
    while at < count:
        if keys[at - one] >> low_shift <= keys[at] >> low_shift:
            at += one
            continue
        run = keys[at] >> shift
        begin, end = at - one, at + one
        while begin > 0 and keys[begin - one] >> shift == run:
            begin -= one
        while end < count and keys[end] >> shift == run:
            end += one
        if end - begin > np.uint64(SHORT_RUN):
            run_keys = radix_sort(keys[begin:end], spare[begin:end], low_bit, bits)
            # A loop: Numba takes 2 s to compile the first assignment to a slice.
            for i in range(end - begin):
                keys[begin + i] = run_keys[i]
        else:
            insertion_sort(keys, begin, end, low_bit)
        at = end + one


@inlined
def insertion_sort(keys, begin, end, low_bit):
    """Sort ``keys[begin:end]``, stable, by their bits from ``low_bit`` up."""
    shift, one = np.uint64(low_bit), np.uint64(1)
    for i in range(begin + one, end):
        key = keys[i]
        j = i
        while j > begin and keys[j - one] >> shift > key >> shift:
            keys[j] = keys[j - one]
            j -= one
        keys[j] = key
