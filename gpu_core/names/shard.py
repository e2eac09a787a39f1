"""A shard of the table of names: a hash table of 32-bit positions in a heap of 64-bit words.

In the heap a name takes a word for its key, one for its length, and its bytes. A look-up of names
in the order of their keys reads the slots from front to back, and prefetches the words.

Not here: which shard a name belongs to, and names whose keys collide (`table.py`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import ArenaFullError
from ..jit.compile import compiled, inlined
from ..jit.prefetch import prefetch
from .strings import Strings
from .words import padded_word, put_word

Int64s = npt.NDArray[np.int64]

#: Upper bits of a key, by which it has its shard.
SHARD_BITS = 4
#: Slots of an empty shard, a power of two. At most half of them are taken.
_LEAST_SLOTS = 8
#: Words of a heap that are of no name: 0 stands for a free slot.
_UNUSED_WORDS = 1
#: Places in a heap have 32 bits.
_MOST_WORDS = 1 << 32
#: How many names ahead memory is asked for.
_AHEAD = 16

#: What `look_up` finds of a name.
NEW, KNOWN, TAKEN = 0, 1, 2


class Shard:
    """Names whose keys have the same upper bits: their hash table, and its heap."""

    def __init__(self) -> None:
        self.slots = np.zeros(_LEAST_SLOTS, np.uint32)
        self.heap = np.zeros(8, np.uint64)
        #: Words of the heap in use, and names in them: both at once, as Ctrl-C may come in between.
        self.fill = _UNUSED_WORDS, 0
        #: Whether slots may name what is beyond `fill`, as a call that enters names was cut off.
        self.is_cut_off = False

    @property
    def words(self) -> int:
        """Words of the heap in use."""
        return self.fill[0]

    @property
    def count(self) -> int:
        """Names in it."""
        return self.fill[1]

    @property
    def nbytes(self) -> int:
        """Bytes of slots and heap."""
        return self.slots.nbytes + self.heap.nbytes

    def add(self, keys: Int64s, strings: Strings, which: Int64s) -> None:
        """Enter names whose keys are not there yet."""
        lengths = np.diff(strings.starts)[which]
        words = int((2 + (lengths + 7) // 8).sum())
        self._make_room(which.size, words)
        data, count = strings.data, self.count + which.size
        self.is_cut_off = True
        words = enter(keys, strings.starts, data, which, self.slots, self.heap, self.words)
        self.fill = words, count
        self.is_cut_off = False

    def mend(self) -> None:
        """Forget names that a call which was cut off has entered, but not accounted for."""
        if self.is_cut_off:
            self.slots = self._slots_of(self.slots.size)
            self.is_cut_off = False

    def _slots_of(self, size: int) -> npt.NDArray[np.uint32]:
        slots = np.zeros(size, np.uint32)
        enter_again(self.heap, self.words, slots)
        return slots

    def _make_room(self, names: int, words: int) -> None:
        needed = self.words + words
        if needed > _MOST_WORDS:
            msg = "a sixteenth of the names takes 32 GiB, which is all that it can; number them"
            raise ArenaFullError(msg)
        if needed > self.heap.size:
            larger = np.empty(max(needed, self.heap.size * 3 // 2), np.uint64)
            larger[: self.words] = self.heap[: self.words]
            self.heap = larger
        slots = self.slots.size
        while slots < 2 * (self.count + names):
            slots *= 2
        if slots > self.slots.size:
            self.slots = self._slots_of(slots)


@inlined
def _slot_of(key, slots):
    """First slot of the probe sequence of a key: its bits below those of its shard."""
    rest = (np.uint64(key) ^ np.uint64(1 << 63)) << np.uint64(SHARD_BITS)
    return np.int64(((rest >> np.uint64(32)) * np.uint64(slots)) >> np.uint64(32))


@inlined
def _position_of(key, slots, heap):
    """Place of a key in the heap, 0 if it has none."""
    slot = _slot_of(key, slots.size)
    while True:
        position = np.int64(slots[slot])
        if position == 0 or np.int64(heap[position]) == key:
            return position
        slot = (slot + 1) & (slots.size - 1)


@inlined
def _holds(heap, position, data, begin, end):
    """Whether these bytes are those of the name at a position."""
    if np.int64(heap[position + 1]) != end - begin:
        return False
    word = position + 2
    for at in range(begin, end, 8):
        if padded_word(data, at, end) != heap[word]:
            return False
        word += 1
    return True


@compiled
def look_up(low, high, keys, starts, data, slots, heap, states):
    """Classify the names ``low … high - 1``: new, known, or their key is taken."""
    for i in range(low, high):
        if i + 2 * _AHEAD < high:
            prefetch(slots, _slot_of(keys[i + 2 * _AHEAD], slots.size))
            prefetch(heap, np.int64(slots[_slot_of(keys[i + _AHEAD], slots.size)]))
        position = _position_of(keys[i], slots, heap)
        if position == 0:
            states[i] = NEW
        elif _holds(heap, position, data, starts[i], starts[i + 1]):
            states[i] = KNOWN
        else:
            states[i] = TAKEN


@compiled
def enter(keys, starts, data, which, slots, heap, words):
    """Write names to the heap, and their positions to free slots; return the words in use."""
    for at in range(which.size):
        i = which[at]
        slot = _slot_of(keys[i], slots.size)
        while slots[slot] != 0:
            slot = (slot + 1) & (slots.size - 1)
        slots[slot] = words
        heap[words] = np.uint64(keys[i])
        heap[words + 1] = starts[i + 1] - starts[i]
        words += 2
        for begin in range(starts[i], starts[i + 1], 8):
            heap[words] = padded_word(data, begin, starts[i + 1])
            words += 1
    return words


@compiled
def enter_again(heap, words, slots):
    """Fill empty slots with all names of the heap."""
    position = _UNUSED_WORDS
    while position < words:
        slot = _slot_of(np.int64(heap[position]), slots.size)
        while slots[slot] != 0:
            slot = (slot + 1) & (slots.size - 1)
        slots[slot] = position
        position += 2 + (np.int64(heap[position + 1]) + 7) // 8


@compiled
def find(low, high, keys, slots, heap, positions, lengths):
    """Write the position of each key, 0 where it has none, and its name's length one item on."""
    for i in range(low, high):
        positions[i] = _position_of(keys[i], slots, heap)
        if positions[i]:
            lengths[i + 1] = np.int64(heap[positions[i] + 1])


@compiled
def list_names(heap, words, before, keys, positions, lengths):
    """Write key, position and length of each name of a heap, in order."""
    position = _UNUSED_WORDS
    while position < words:
        keys[before] = np.int64(heap[position])
        positions[before] = position
        lengths[before + 1] = np.int64(heap[position + 1])
        before += 1
        position += 2 + (np.int64(heap[position + 1]) + 7) // 8


@compiled
def read_names(low, high, heap, positions, starts, out):
    """Copy the bytes of names to where ``starts`` says."""
    for i in range(low, high):
        if i + _AHEAD < high:
            prefetch(heap, positions[i + _AHEAD])
        word = positions[i] + 2
        # What is written after a name is overwritten by the next one.
        for position in range(starts[i], starts[i + 1], 8):
            put_word(out, position, heap[word])
            word += 1
