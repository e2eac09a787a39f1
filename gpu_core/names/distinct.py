"""Distinct names of a batch in the order of their keys, and the number of each row among them.

Conversion works in these numbers: they are narrow, which it needs to be fast, and in the order of
the keys, so what it sorts by numbers is sorted by keys.

Names are partitioned into buckets by the upper bits of their keys: each as a word of 64 bits for
its key, one for its length and the entry that it is of, and its bytes. So a bucket is all in the
cache, wherever in the batch its rows are. It becomes a hash table whose order is that of the keys:
a key's home is its position among all that there could be, and what lies after it is larger. So to
find what is equal is to sort. Each name is compared with the first one of its key: where two names
have one key, the later one gets another of its own (`hashing.other_keys`).

Not here: what names the graph knows already, and under which keys (`table.py`).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import BatchError
from ..jit.compile import borrowing, compiled, inlined
from .hashing import ALL_BITS, keys_of, other_keys, write_keys
from .strings import Strings
from .words import padded_word, put_word

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]

#: Entries of an average bucket, at most, unless there are too many buckets.
_BUCKET_ENTRIES = 1 << 11
_MOST_BUCKET_BITS = 10
#: Words of a partitioned name before its bytes.
_WORDS = 2
#: A slot that is free, and those bits of one that is taken which tell the position of a name.
_FREE, _POSITION = np.uint64((1 << 64) - 1), np.uint64((1 << 32) - 1)
#: Memory that a thread keeps for its next batch: to touch fresh pages takes as long as the whole
#: partitioning. What is larger is given back.
_memory = threading.local()
_MOST_KEPT_BYTES = 1 << 27


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
    write_keys(first.starts, first.data, bits, keys[:split])
    write_keys(second.starts, second.data, bits, keys[split:])
    used = _joined(src.used(), dst.used(), split, len(second))
    displaced: dict[bytes, int] = {}
    while True:
        other = np.empty(keys.size if displaced else min(keys.size, 1 << 10), np.int64)
        numbers, distinct, strings, found = _numbers_of(keys, used, first, second, other)
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


def _numbers_of(
    keys: Int64s, used: npt.NDArray[np.bool_], first: Strings, second: Strings, other: Int64s
) -> tuple[Int32s, Int64s, Strings, int]:
    """Number entries by their keys.

    Returns
    -------
    tuple
        Number of each entry; each key once, increasing; the first name of each; and how many
        entries have another name than that, as many of which as it holds are in ``other``.
    """
    wanted = max(0, -(-keys.size // _BUCKET_ENTRIES) - 1).bit_length()
    bucket_bits = min(wanted, _MOST_BUCKET_BITS)
    split = len(first)
    parts = ((0, split, first), (split, keys.size, second))
    counts, words = np.zeros((2, 1 << bucket_bits), np.int64)
    for low, high, strings in parts:
        count_names(keys[low:high], used[low:high], strings.starts, bucket_bits, counts, words)
    starts = np.zeros(words.size + 1, np.int64)
    np.cumsum(words, out=starts[1:])
    if int(words.max()) >= int(_POSITION):
        msg = "names of a batch take more than 32 GiB; lower batch_rows"
        raise BatchError(msg)
    partitioned, ends = _kept("partitioned", int(starts[-1])), starts.copy()
    for low, high, strings in parts:
        partition_names(
            low, keys[low:high], used[low:high], strings.starts, strings.data, bucket_bits,
            ends, partitioned,
        )  # fmt: skip
    total, largest = int(counts.sum()), int(counts.max())
    # Of the entries of a bucket: its position in there, and that of the first one of its name.
    positions, firsts = np.empty((2, largest), np.uint32)
    numbers, distinct = np.zeros(keys.size, np.int32), np.empty(total, np.int64)
    name_starts = np.zeros(total + 1, np.int64)
    names = _kept("names", partitioned.size - _WORDS * total).view(np.uint8)
    count, found = number_buckets(
        bucket_bits, starts, counts, partitioned,
        (np.empty(3 * largest + 1, np.uint64), positions, firsts),
        (numbers, distinct, name_starts, names, other),
    )  # fmt: skip
    # Copies: what is longer would live as long as the batch, and the names lie in kept memory.
    nbytes = int(name_starts[count])
    distinct_names = Strings(name_starts[: count + 1].copy(), names[:nbytes].copy())
    return numbers, distinct[:count].copy(), distinct_names, found


def _kept(name: str, words: int) -> npt.NDArray[np.uint64]:
    """uint64[words] of this thread, for one call at a time."""
    memory: npt.NDArray[np.uint64] | None = getattr(_memory, name, None)
    if memory is None or memory.size < words:
        memory = np.empty(words, np.uint64)
        if memory.nbytes <= _MOST_KEPT_BYTES:
            setattr(_memory, name, memory)
    return memory[:words]


@inlined
def _bucket_of(key, bucket_bits):
    """Upper bits of a key, in the order of signed numbers."""
    bits = np.uint64(key) ^ np.uint64(1 << 63)
    return np.int64(bits >> np.uint64(64 - bucket_bits)) if bucket_bits else np.int64(0)


@compiled
def count_names(keys, used, starts, bucket_bits, counts, words):
    """Count the names of each bucket, and their words."""
    for i in range(keys.size):
        if used.size == 0 or used[i]:
            bucket = _bucket_of(keys[i], bucket_bits)
            counts[bucket] += 1
            words[bucket] += _WORDS + ((starts[i + 1] - starts[i] + 7) >> 3)


@compiled
def partition_names(base, keys, used, starts, data, bucket_bits, positions, partitioned):
    """Write the names of each bucket, in their order, to its position."""
    for i in range(keys.size):
        if used.size == 0 or used[i]:
            bucket = _bucket_of(keys[i], bucket_bits)
            position, end = positions[bucket], starts[i + 1]
            partitioned[position] = np.uint64(keys[i])
            partitioned[position + 1] = (np.uint64(end - starts[i]) << np.uint64(32)) | np.uint64(
                base + i
            )
            position += _WORDS
            for at in range(starts[i], end, 8):
                partitioned[position] = padded_word(data, at, end)
                position += 1
            positions[bucket] = position


@inlined
def _entry(partitioned, position):
    """Entry of the name at a position."""
    return np.int64(partitioned[position + 1] & np.uint64(0xFFFFFFFF))


@inlined
def _length(partitioned, position):
    """Bytes of the name at a position."""
    return np.int64(partitioned[position + 1] >> np.uint64(32))


@inlined
def _same_name(partitioned, position, other):
    """Whether the names at two positions are the same."""
    length = _length(partitioned, position)
    if _length(partitioned, other) != length:
        return False
    for at in range(_WORDS, _WORDS + ((length + 7) >> 3)):
        if partitioned[position + at] != partitioned[other + at]:
            return False
    return True


@compiled
def number_buckets(bucket_bits, starts, counts, partitioned, scratch, out):
    """Number the keys of all buckets, and write the first name of each; uses up ``partitioned``.

    Returns how many there are, and how many entries have another name than the first one of their
    key; as many as there is room for are written to ``others``.

    A slot of ``table`` is a word: 32 bits of the key below those of the bucket, above the position
    of its first name in the bucket. So the words of a table are in order, and it takes half of what
    keys would; where two keys agree in these bits, which is rare, the names' own words decide.

    Parameters
    ----------
    scratch
        The table, and of the entries of a bucket their positions and those of the first ones of
        their names.
    out
        Number of each entry; distinct keys; where each one's name begins, and the names; others.
    """
    table, positions, firsts = scratch
    numbers, distinct, name_starts, names, others = out
    count, found = 0, 0
    for bucket in range(counts.size):
        size = counts[bucket]
        if size == 0:
            continue
        part = partitioned[starts[bucket] : starts[bucket + 1]]
        table[: 3 * size + 1] = _FREE
        end, found = fill_table(bucket_bits, part, size, table, positions, firsts, others, found)
        count = write_distinct(part, table, end, distinct, name_starts, names, count)
        for i in range(size):
            numbers[_entry(part, positions[i])] = part[firsts[i]]
    return count, found


@borrowing
def fill_table(bucket_bits, part, size, table, positions, firsts, others, found):
    """Put the first name of each key of a bucket into its table.

    Parameters
    ----------
    part
        The ``size`` names of the bucket.
    positions, firsts
        Filled: where each entry's name lies, and the first one of its key.
    found
        Entries so far that have another name than the first one of their key.

    Returns
    -------
    end, found : int
        End of the slots that are taken; the entries.
    """
    slots = np.uint64(2 * size)
    position, end = 0, 0
    for i in range(size):
        positions[i] = position
        key = np.int64(part[position])
        rest = (np.uint64(key) ^ np.uint64(1 << 63)) << np.uint64(bucket_bits)
        tag = rest & ~_POSITION
        # A key's home is its position among all keys of the bucket.
        slot = np.int64(((rest >> np.uint64(32)) * slots) >> np.uint64(32))
        # Also ends at a free slot, the largest word.
        while table[slot] < tag:
            slot += 1
        there = table[slot]
        while _has_tag(there, tag) and np.int64(part[np.int64(there & _POSITION)]) < key:
            slot += 1
            there = table[slot]
        first = np.int64(there & _POSITION)
        if _has_tag(there, tag) and np.int64(part[first]) == key:
            if not _same_name(part, position, first):
                if found < others.size:
                    others[found] = _entry(part, position)
                found += 1
        else:
            first = position
            end = max(end, shift_in(table, slot, tag | np.uint64(position)))
        firsts[i] = first
        position += _WORDS + ((_length(part, position) + 7) >> 3)
    return end, found


@borrowing
def shift_in(table, slot, word):
    """Write a word to a slot, and what is there to the ones after; returns where that ends."""
    there = table[slot]
    while there != _FREE:
        table[slot] = word
        word = there
        slot += 1
        there = table[slot]
    table[slot] = word
    return slot + 1


@borrowing
def write_distinct(part, table, end, distinct, name_starts, names, count):
    """Write keys and names of a table, in its order, after ``count`` others; returns how many.

    A key of ``part`` gives way to its number, for the entries of its name.
    """
    kept = 0
    for slot in range(end):
        # Written in any case and kept by the count: a branch would be guessed wrong.
        table[kept] = table[slot]
        kept += table[slot] != _FREE
    for slot in range(kept):
        first = np.int64(table[slot] & _POSITION)
        distinct[count] = np.int64(part[first])
        part[first] = np.uint64(count)
        start, length = name_starts[count], _length(part, first)
        # What is written after a name is overwritten by the next one.
        for at in range((length + 7) >> 3):
            put_word(names, start + 8 * at, part[first + _WORDS + at])
        count += 1
        name_starts[count] = start + length
    return count


@inlined
def _has_tag(word, tag):
    """Whether a slot is taken, by a key of these upper bits."""
    return word & ~_POSITION == tag and word != _FREE
