"""A table of values by pairs of int64 keys: properties of edges, and of vertices as (v, v).

Each pair has a *record*: its number, by which its two keys and its values lie in arrays. A hash
table with open addressing finds it. A slot holds the number, and 32 bits of the hash above it: so
most slots of other pairs are passed over without a look at their keys, and the slots can be laid
out again without one. A record that is dropped is the first to be used again.

Memory: 16 bytes a record for its keys, 11 to 21 for its slots (three eighths to three quarters of
them are taken), and the values.

A table can be pinned: the copy shares its arrays, and the next writer copies them first. All
memory that a batch needs is taken by `reserve`, before anything is written.

Not here: which batches say what (`graph_values.py`).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from ..errors import ArenaFullError
from ..jit.compile import compiled, inlined
from ..jit.parallel import for_ranges
from ..jit.prefetch import prefetch
from .kinds import Column, Kinds, missing_of

Int64s = npt.NDArray[np.int64]
#: uint64: record + 1 and the bits above of the hash; 0: free.
Slots = npt.NDArray[np.uint64]

#: Bits of an empty table's slots.
_LEAST_BITS = 6
#: Slots must be distinguished by the bits of the hash that they hold.
_MOST_BITS = 32
#: Least records that arrays have room for.
_LEAST_ROOM = 64
#: A table of which less than this part is in use gives memory back.
_SPARSE = 4
#: Pairs looked up at a time, where many are: what lies between stays small.
_PIECE = 1 << 18

#: How many pairs ahead a slot is asked for, and the keys of the record that it names.
_FAR, _NEAR = 16, 8

_RECORD = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
_HALF = np.uint64(32)


class ValueTable:
    """Values by pairs of keys.

    Parameters
    ----------
    kinds
        Name and type of each column.
    """

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self._slots = np.zeros(1 << _LEAST_BITS, np.uint64)
        self._keys = np.empty((_LEAST_ROOM, 2), np.int64)
        self._columns = {name: np.empty(_LEAST_ROOM, kind) for name, kind in kinds}
        #: Records that were ever used; those that are free, the last one first, chained by keys.
        self._used = 0
        self._first_free = -1
        self._count = 0
        #: Copies that share the arrays.
        self._pins: weakref.WeakSet[ValueTable] = weakref.WeakSet()

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """Bytes of slots and of records that were ever used."""
        record = self._keys.itemsize * 2 + sum(each.itemsize for each in self._columns.values())
        return self._slots.nbytes + self._used * record

    def pin(self) -> ValueTable:
        """The table as it is now, to be read."""
        copy = ValueTable.__new__(ValueTable)
        copy.__dict__.update(self.__dict__, _pins=weakref.WeakSet())
        self._pins.add(copy)
        return copy

    # -- reading -----------------------------------------------------------------------------

    def records(self, first: Int64s, second: Int64s) -> Int64s:
        """int64: record of each pair; -1 where there is none."""
        found = np.empty(first.size, np.int64)
        for_ranges(find, first.size, first, second, self._slots, self._keys, found)
        return found

    def values(self, first: Int64s, second: Int64s) -> dict[str, Column]:
        """Columns of values of some pairs; missing ones where a pair has no record."""
        out = {name: np.empty(first.size, kind) for name, kind in self.kinds}
        for piece in pieces(first.size):
            records = self.records(first[piece], second[piece])
            lacking = records < 0
            some_lack = lacking.any()
            for name, column in out.items():
                # -1 is the last item there, which is overwritten.
                column[piece] = self._columns[name][records]
                if some_lack:
                    column[piece][lacking] = missing_of(str(column.dtype))
        return out

    # -- writing -----------------------------------------------------------------------------

    def reserve(self, pairs: int) -> None:
        """Allocate the memory that ``pairs`` new pairs need, and release what is in excess.

        Raises
        ------
        ArenaFullError
            There is none; the table is as before.
        """
        try:
            if self._used > _LEAST_ROOM and self._used > _SPARSE * (self._count + pairs):
                self._tidy(pairs)
            elif len(self._pins) or self._used + pairs > len(self._keys):
                self._move(pairs)
            self._fit_slots(self._count + pairs)
        except MemoryError:
            msg = (
                f"there is no memory for properties of {pairs:,} more; the table takes "
                f"{self.nbytes:,} bytes now"
            )
            raise ArenaFullError(msg) from None

    def put(self, first: Int64s, second: Int64s, values: Mapping[str, Column]) -> None:
        """Enter pairs, each once, or replace their values; room was reserved."""
        records = np.empty(first.size, np.int64)
        self._used, self._first_free, added = enter(
            first, second, self._slots, self._keys, self._used, self._first_free, records
        )
        self._count += added
        for name, column in self._columns.items():
            column[records] = values[name]

    def drop(self, first: Int64s, second: Int64s) -> None:
        """Take pairs out; those that are not there, and those named twice, do not matter."""
        self._first_free, dropped = take_out(
            first, second, self._slots, self._keys, self._first_free
        )
        self._count -= dropped

    # -- memory ------------------------------------------------------------------------------

    def _room(self, needed: int) -> int:
        room = len(self._keys)
        return max(needed, room + room // 2 if needed > room else room)

    def _move(self, pairs: int) -> None:
        """Copy all arrays, to others with room for more pairs."""
        room = self._room(self._used + pairs)
        keys = _moved(self._keys, self._used, np.empty((room, 2), np.int64))
        columns = {
            name: _moved(column, self._used, np.empty(room, column.dtype))
            for name, column in self._columns.items()
        }
        slots = self._slots.copy() if len(self._pins) else self._slots
        self._take(slots, keys, columns)

    def _tidy(self, pairs: int) -> None:
        """Renumber the records, without those that are free."""
        taken = self._slots != 0
        kept = np.sort(self._slots[taken] & _RECORD) - _ONE
        room = max(kept.size + pairs, _LEAST_ROOM)
        keys = _moved(self._keys[kept], kept.size, np.empty((room, 2), np.int64))
        columns = {
            name: _moved(column[kept], kept.size, np.empty(room, column.dtype))
            for name, column in self._columns.items()
        }
        numbers = np.searchsorted(kept, (self._slots[taken] & _RECORD) - _ONE).astype(np.uint64)
        slots = self._slots.copy()
        slots[taken] = (slots[taken] >> _HALF << _HALF) | (numbers + _ONE)
        slots = _laid_out(slots, _bits_of(kept.size + pairs))
        self._take(slots, keys, columns)
        self._used, self._first_free = kept.size, -1

    def _fit_slots(self, pairs: int) -> None:
        bits = _bits_of(pairs)
        if 1 << bits > self._slots.size:
            self._slots = _laid_out(self._slots, bits)

    def _take(self, slots: Slots, keys: Int64s, columns: dict[str, Column]) -> None:
        self._slots, self._keys, self._columns = slots, keys, columns
        self._pins = weakref.WeakSet()


def _bits_of(pairs: int) -> int:
    """Slots for ``pairs`` pairs, as a power of two: at most three quarters are taken."""
    bits = max(_LEAST_BITS, (pairs * 4 // 3).bit_length())
    if bits > _MOST_BITS:
        msg = f"{pairs:,} edges are more than can have properties, which is {3 << _MOST_BITS - 2:,}"
        raise ArenaFullError(msg)
    return bits


def _moved(column: Column, count: int, room: Column) -> Column:
    room[:count] = column[:count]
    return room


def _laid_out(slots: Slots, bits: int) -> Slots:
    """The same slots in another number of them."""
    other = np.zeros(1 << bits, np.uint64)
    lay_out(slots, other)
    return other


def pieces(count: int) -> Iterator[slice]:
    """Positions below ``count``, in pieces of what is looked up at once."""
    return (slice(low, min(low + _PIECE, count)) for low in range(0, count, _PIECE))


# -- kernels ---------------------------------------------------------------------------------


@inlined
def _hash(first, second):
    """32 bits of a pair, in the upper half of a word."""
    mixed = np.uint64(first) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= (mixed >> _HALF) ^ (np.uint64(second) * np.uint64(0xC2B2AE3D27D4EB4F))
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    mixed ^= mixed >> _HALF
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    return mixed >> _HALF << _HALF


@inlined
def _home(word, size):
    """First slot of the hash in a word; ``size`` is a power of two, at most 2^32."""
    return np.int64(((word >> _HALF) * np.uint64(size)) >> _HALF)


@inlined
def _slot_of(first, second, hashed, slots, keys):
    """Slot of a pair, or the free one where it would be."""
    mask = slots.size - 1
    slot = _home(hashed, slots.size)
    while slots[slot] != 0:
        if slots[slot] >> _HALF == hashed >> _HALF:
            record = np.int64(slots[slot] & _RECORD) - 1
            if keys[record, 0] == first and keys[record, 1] == second:
                break
        slot = (slot + 1) & mask
    return slot


@inlined
def _ask_ahead(at, first, second, slots, keys):
    """Ask for the memory of later pairs."""
    if at + _FAR < first.size:
        prefetch(slots, _home(_hash(first[at + _FAR], second[at + _FAR]), slots.size))
    if at + _NEAR < first.size:
        word = slots[_home(_hash(first[at + _NEAR], second[at + _NEAR]), slots.size)]
        if word != 0:
            prefetch(keys.reshape(-1), 2 * (np.int64(word & _RECORD) - 1))


@compiled
def find(low, high, first, second, slots, keys, out):
    """Write the record of each of some pairs, -1 where there is none."""
    for i in range(low, high):
        _ask_ahead(i, first, second, slots, keys)
        slot = _slot_of(first[i], second[i], _hash(first[i], second[i]), slots, keys)
        out[i] = np.int64(slots[slot] & _RECORD) - 1


@compiled
def enter(first, second, slots, keys, used, first_free, records):
    """Write the record of each pair, a new one where it has none.

    Returns records used, the first free one, and how many pairs are new.
    """
    added = 0
    for i in range(first.size):
        _ask_ahead(i, first, second, slots, keys)
        hashed = _hash(first[i], second[i])
        slot = _slot_of(first[i], second[i], hashed, slots, keys)
        if slots[slot] != 0:
            records[i] = np.int64(slots[slot] & _RECORD) - 1
            continue
        if first_free >= 0:
            record = first_free
            first_free = keys[record, 0]
        else:
            record = used
            used += 1
        keys[record, 0], keys[record, 1] = first[i], second[i]
        slots[slot] = hashed | np.uint64(record + 1)
        records[i] = record
        added += 1
    return used, first_free, added


@compiled
def take_out(first, second, slots, keys, first_free):
    """Free the records of pairs; return the first free one, and how many were freed."""
    mask = slots.size - 1
    dropped = 0
    for i in range(first.size):
        _ask_ahead(i, first, second, slots, keys)
        slot = _slot_of(first[i], second[i], _hash(first[i], second[i]), slots, keys)
        if slots[slot] == 0:
            continue
        record = np.int64(slots[slot] & _RECORD) - 1
        keys[record, 0] = first_free
        first_free = record
        dropped += 1
        # Close the gap: what stands after it moves up, unless it would pass its first slot.
        gap, after = slot, (slot + 1) & mask
        while slots[after] != 0:
            home = _home(slots[after], slots.size)
            if (after - home) & mask >= (after - gap) & mask:
                slots[gap] = slots[after]
                gap = after
            after = (after + 1) & mask
        slots[gap] = 0
    return first_free, dropped


@compiled
def lay_out(slots, other):
    """Enter all words of ``slots`` into the empty ``other``."""
    mask = other.size - 1
    for at in range(slots.size):
        if slots[at] != 0:
            slot = _home(slots[at], other.size)
            while other[slot] != 0:
                slot = (slot + 1) & mask
            other[slot] = slots[at]
