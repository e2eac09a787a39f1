"""Names of a batch, each once, in the order of their keys, and the rows in numbers of them.

Conversion works in these numbers: they are narrow, which it needs to be fast, and in the order of
the keys, so what it sorts by numbers is sorted by keys.

Keys are dealt into buckets by their upper bits. A bucket is a hash table whose order is that of the
keys: a key's home is its place among all that there could be, and what lies behind it is larger. So
to find what is equal is to sort. At last the bytes of every row are compared with those of its
number: where two names have one key, the later one gets another of its own (`hashing.other_keys`).

Not here: what names the graph knows already, and under which keys (`table.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..jit.compile import compiled, inlined
from ..jit.prefetch import prefetch
from .hashing import ALL_BITS, NO_KEY, keys_of, other_keys, write_keys
from .strings import Strings
from .words import SLACK, copy_bytes, padded_word

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]

#: Entries of an average bucket, at most, unless there are too many buckets.
_BUCKET_ENTRIES = 1 << 10
_MOST_BUCKET_BITS = 11
#: How many entries ahead memory is asked for.
_AHEAD = 16


@dataclass(frozen=True, eq=False)
class BatchNames:
    """Names that a batch names, each once."""

    #: int64[k], increasing.
    keys: Int64s
    #: The names, in this order.
    strings: Strings
    #: int64: those of them whose key is not their own, because it is another's.
    displaced: Int64s

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.keys.nbytes + self.strings.nbytes + self.displaced.nbytes


@dataclass(frozen=True, eq=False)
class NameColumn:
    """A column of names."""

    strings: Strings
    #: Row -> one of ``strings``; None: they are the rows.
    indices: npt.NDArray[Any] | None = None
    #: bool[rows]: where there is a name; None: everywhere.
    valid: npt.NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.strings) if self.indices is None else int(self.indices.size)

    def used(self) -> npt.NDArray[np.bool_] | None:
        """bool[strings]: those that a row names; None: all."""
        if self.indices is None:
            return self.valid
        used = np.zeros(len(self.strings), np.bool_)
        used[self.indices if self.valid is None else self.indices[self.valid]] = True
        return used

    def numbers(self, of_strings: Int32s) -> Int32s:
        """Numbers of the rows, from those of the strings; 0 where there is no name."""
        if self.indices is None:
            return of_strings
        if self.valid is None:
            return of_strings[self.indices]
        numbers = np.zeros(len(self), np.int32)
        numbers[self.valid] = of_strings[self.indices[self.valid]]
        return numbers


class Numbered(NamedTuple):
    """Rows in numbers of names."""

    #: int32[n] each.
    src: Int32s
    dst: Int32s
    names: BatchNames


def number_names(src: NameColumn, dst: NameColumn, bits: int = ALL_BITS) -> Numbered:
    """Number the names of two columns in the order of their keys.

    Parameters
    ----------
    src, dst
        Columns of as many rows.
    bits
        Of a hash, see `hashing.py`.
    """
    first, second = src.strings, dst.strings
    split = len(first)
    keys = np.empty(split + len(second), np.int64)
    write_keys(0, split, first.starts, first.data, bits, keys[:split])
    write_keys(0, len(second), second.starts, second.data, bits, keys[split:])
    used = _joined(src.used(), dst.used(), split, len(second))
    displaced: dict[bytes, int] = {}
    while True:
        numbers, distinct, firsts = _numbers_of(keys, used)
        strings = _strings_at(first, second, firsts)
        other = np.empty(keys.size if displaced else min(keys.size, 1 << 10), np.int64)
        arrays = (first.starts, first.data, second.starts, second.data)
        found = differing(*arrays, numbers, used, strings.starts, strings.data, other)
        if not found:
            break
        # Rare: of each group of names with one key, all but the first get keys of their own.
        taken = {int(key) for key in distinct}
        for entry in other[: min(found, other.size)].tolist():
            name = first[entry] if entry < split else second[entry - split]
            if name not in displaced:
                displaced[name] = next(key for key in other_keys(name) if key not in taken)
                taken.add(displaced[name])
            keys[entry] = displaced[name]
    own = np.flatnonzero(keys_of(strings, bits) != distinct) if displaced else _NOTHING
    return Numbered(
        src.numbers(numbers[:split]),
        dst.numbers(numbers[split:]),
        BatchNames(distinct, strings, own),
    )


_NOTHING = np.empty(0, np.int64)


def _joined(
    first: npt.NDArray[np.bool_] | None,
    second: npt.NDArray[np.bool_] | None,
    split: int,
    rest: int,
) -> npt.NDArray[np.bool_]:
    """Which of all entries are used; bool[0]: all."""
    if first is None and second is None:
        return np.empty(0, np.bool_)
    parts = [
        np.ones(size, np.bool_) if part is None else part
        for part, size in ((first, split), (second, rest))
    ]
    return np.concatenate(parts)


def _numbers_of(keys: Int64s, used: npt.NDArray[np.bool_]) -> tuple[Int32s, Int64s, Int64s]:
    """Number of each entry; each key once, increasing; the first entry of each key."""
    wanted = max(0, -(-keys.size // _BUCKET_ENTRIES) - 1).bit_length()
    bucket_bits = min(wanted, _MOST_BUCKET_BITS)
    ends = np.zeros(1 << bucket_bits, np.int64)
    count_keys(keys, used, bucket_bits, ends)
    np.cumsum(ends, out=ends)
    entries, dealt = np.empty(int(ends[-1]), np.int32), np.empty(int(ends[-1]), np.int64)
    starts = np.concatenate([_NOTHING, [0], ends[:-1]]).astype(np.int64)
    largest = int((ends - starts).max())
    deal_keys(keys, used, bucket_bits, starts.copy(), dealt, entries)
    numbers = np.zeros(keys.size, np.int32)
    distinct, firsts = np.empty(entries.size, np.int64), np.empty(entries.size, np.int64)
    table = np.empty(3 * largest + 8, np.int64), np.empty(3 * largest + 8, np.int64)
    count = number_buckets(
        bucket_bits, starts, ends, dealt, entries, *table, numbers, distinct, firsts
    )
    return numbers, distinct[:count].copy(), firsts[:count]


def _strings_at(first: Strings, second: Strings, entries: Int64s) -> Strings:
    """Strings of some entries, side by side."""
    starts = np.zeros(entries.size + 1, np.int64)
    measure(first.starts, second.starts, entries, starts)
    np.cumsum(starts, out=starts)
    data = np.empty(int(starts[-1]) + SLACK, np.uint8)
    gather(first.starts, first.data, second.starts, second.data, entries, starts, data)
    return Strings(starts, data[:-SLACK])


@inlined
def _bucket_of(key, bucket_bits):
    """Upper bits of a key, in the order of signed numbers."""
    bits = np.uint64(key) ^ np.uint64(1 << 63)
    return np.int64(bits >> np.uint64(64 - bucket_bits)) if bucket_bits else np.int64(0)


@compiled
def count_keys(keys, used, bucket_bits, counts):
    """Count the keys of each bucket."""
    for i in range(keys.size):
        if used.size == 0 or used[i]:
            counts[_bucket_of(keys[i], bucket_bits)] += 1


@compiled
def deal_keys(keys, used, bucket_bits, places, dealt, entries):
    """Write the keys and entries of each bucket, in their order, to its place."""
    for i in range(keys.size):
        if used.size == 0 or used[i]:
            bucket = _bucket_of(keys[i], bucket_bits)
            dealt[places[bucket]] = keys[i]
            entries[places[bucket]] = i
            places[bucket] += 1


@inlined
def _home(key, bucket_bits, slots):
    """Place of a key in its bucket's table: its place among all keys of the bucket."""
    rest = (np.uint64(key) ^ np.uint64(1 << 63)) << np.uint64(bucket_bits)
    return np.int64(((rest >> np.uint64(32)) * np.uint64(slots)) >> np.uint64(32))


@compiled
def number_buckets(
    bucket_bits, starts, ends, keys, entries, table_keys, table_firsts, numbers, distinct, firsts
):
    """Number the keys of all buckets; return how many there are."""
    count = 0
    for bucket in range(starts.size):
        size = ends[bucket] - starts[bucket]
        slots = 2 * size
        table_keys[: slots + size + 1] = NO_KEY
        for i in range(starts[bucket], ends[bucket]):
            key, entry = keys[i], np.int64(entries[i])
            slot = _home(key, bucket_bits, slots)
            # Nothing that is there is smaller than `NO_KEY`, the mark of a free slot.
            while table_keys[slot] != NO_KEY and table_keys[slot] < key:
                slot += 1
            if table_keys[slot] == key:
                continue
            while table_keys[slot] != NO_KEY:
                table_keys[slot], key = key, table_keys[slot]
                table_firsts[slot], entry = entry, table_firsts[slot]
                slot += 1
            table_keys[slot] = key
            table_firsts[slot] = entry
        base = count
        for slot in range(slots + size + 1):
            if table_keys[slot] != NO_KEY:
                distinct[count] = table_keys[slot]
                firsts[count] = table_firsts[slot]
                table_firsts[slot] = count
                count += 1
        if base == count:
            continue
        for i in range(starts[bucket], ends[bucket]):
            key = keys[i]
            slot = _home(key, bucket_bits, slots)
            while table_keys[slot] != key:
                slot += 1
            numbers[entries[i]] = table_firsts[slot]
    return count


@compiled
def measure(starts, other_starts, entries, out):
    """Write the length of the string of each entry, from ``out[1]`` on."""
    split = starts.size - 1
    for i in range(entries.size):
        if i + _AHEAD < entries.size:
            ahead = entries[i + _AHEAD]
            if ahead < split:
                prefetch(starts, ahead)
            else:
                prefetch(other_starts, ahead - split)
        entry = entries[i]
        if entry < split:
            out[i + 1] = starts[entry + 1] - starts[entry]
        else:
            out[i + 1] = other_starts[entry - split + 1] - other_starts[entry - split]


@compiled
def gather(starts, data, other_starts, other_data, entries, out_starts, out):
    """Copy the strings of entries side by side."""
    split = starts.size - 1
    for i in range(entries.size):
        if i + 2 * _AHEAD < entries.size:
            ahead, farther = entries[i + _AHEAD], entries[i + 2 * _AHEAD]
            if farther < split:
                prefetch(starts, farther)
            else:
                prefetch(other_starts, farther - split)
            if ahead < split:
                prefetch(data, starts[ahead])
            else:
                prefetch(other_data, other_starts[ahead - split])
        entry = entries[i]
        if entry < split:
            copy_bytes(data, starts[entry], starts[entry + 1], out, out_starts[i])
        else:
            at = entry - split
            copy_bytes(other_data, other_starts[at], other_starts[at + 1], out, out_starts[i])


@inlined
def same_bytes(data, begin, end, other, other_begin, other_end):
    """Whether two strings are the same."""
    if other_end - other_begin != end - begin:
        return False
    for at in range(begin, end, 8):
        if padded_word(data, at, end) != padded_word(other, other_begin + at - begin, other_end):
            return False
    return True


@compiled
def differing(starts, data, other_starts, other_data, numbers, used, name_starts, names, found):
    """Write the entries whose string is not the one of their number; return how many there are."""
    split = starts.size - 1
    count = 0
    for i in range(numbers.size):
        if i + 2 * _AHEAD < numbers.size:
            prefetch(name_starts, numbers[i + 2 * _AHEAD])
            prefetch(names, name_starts[numbers[i + _AHEAD]])
        number = numbers[i]
        if used.size and not used[i]:
            continue
        begin, end = name_starts[number], name_starts[number + 1]
        if i < split:
            same = same_bytes(data, starts[i], starts[i + 1], names, begin, end)
        else:
            at = i - split
            same = same_bytes(other_data, other_starts[at], other_starts[at + 1], names, begin, end)
        if not same:
            if count < found.size:
                found[count] = i
            count += 1
    return count
