"""Vertex dictionary: users' int64 ids to 32-bit vertex indices, an open-addressing hash table.

A slot holds a vertex index only, `NONE` where it is free: the key is read from the table of users'
ids, so no id value is special. Collisions go to the next slot. Entries of one cluster stand in the
order of (home slot, id), so the table depends on which ids are in it and not on how they came
there (Robin Hood hashing with a tie-break); deletion closes the gap. At most one half of the slots
is taken.

Look-ups run side by side; changes are made by one thread, rarely: a stream of updates soon knows
its vertices.

Source: Celis, Larson, Munro, "Robin Hood Hashing", FOCS 1985; the mixing function is the finalizer
of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
"""

import numpy as np

from ...image.fields import NONE
from ...jit.compile import compiled, inlined
from ...jit.prefetch import prefetch

#: Keys looked up together: each step prefetches what the next one reads.
_BLOCK = 256
_NONE = np.uint32(NONE)


@inlined
def home_slot(key, shift):
    """Slot where the probing for ``key`` begins: the upper bits of its mixed value."""
    bits = np.uint64(key)
    bits ^= bits >> np.uint64(30)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return np.int64(bits >> np.uint64(shift))


@inlined
def vertex_or_first(index):
    """Index to read an id at, also where the slot is free and the id of no matter."""
    return np.uint64(index if index != _NONE else np.uint32(0))


@inlined
def slot_shift(slots):
    """Bits to drop from a mixed key for a table of ``slots`` slots, a power of two of 2 or more."""
    shift = 64
    while slots > 1:
        slots >>= 1
        shift -= 1
    return shift


@compiled
def look_up(low, high, slots, ids, keys, out):
    """Write the index of each key in ``keys[low:high]``, `NONE` for unknown ones.

    Returns
    -------
    unknown : int
        Number of unknown keys.
    """
    if slots.size < 2:
        for i in range(low, high):
            out[i] = _NONE
        return high - low
    # Unsigned indices: Numba then leaves out the step for those below 0.
    one = np.uint64(1)
    shift = slot_shift(slots.size)
    mask = np.uint64(slots.size - 1)
    unknown = 0
    at = np.empty(_BLOCK, np.uint64)
    index = np.empty(_BLOCK, np.uint32)
    # Keys of the block whose slot has not been found yet.
    open_keys = np.empty(_BLOCK, np.uint32)
    for start in range(np.uint64(low), np.uint64(high), np.uint64(_BLOCK)):
        count = min(np.uint64(_BLOCK), np.uint64(high) - start)
        for i in range(count):
            at[i] = home_slot(keys[start + i], shift)
            open_keys[i] = i
        for i in range(count):
            prefetch(slots, at[i])
        left = count
        while left > np.uint64(0):
            for j in range(left):
                i = np.uint64(open_keys[j])
                index[i] = slots[at[i]]
                prefetch(ids, vertex_or_first(index[i]))
            following = np.uint64(0)
            for j in range(left):
                i = np.uint64(open_keys[j])
                other = ids[vertex_or_first(index[i])] != keys[start + i]
                at[i] = (at[i] + one) & mask
                # Written in any case and kept by the count: a branch would be guessed wrong.
                open_keys[following] = i
                following += np.uint64(other & (index[i] != _NONE))
            left = following
        for i in range(count):
            out[start + i] = index[i]
            unknown += index[i] == _NONE
    return unknown


@compiled
def insert(slots, ids, indices):
    """Enter vertex indices whose ids stand in ``ids`` and are not in the table yet."""
    shift = slot_shift(slots.size)
    mask = slots.size - 1
    for i in range(indices.size):
        carried = indices[i]
        key = ids[carried]
        home = home_slot(key, shift)
        slot = home
        while True:
            resident = slots[slot]
            if resident == _NONE:
                slots[slot] = carried
                break
            resident_key = ids[resident]
            resident_home = home_slot(resident_key, shift)
            distance = (slot - home) & mask
            resident_distance = (slot - resident_home) & mask
            if resident_distance < distance or (
                resident_distance == distance and resident_key > key
            ):
                slots[slot] = carried
                carried = resident
                key = resident_key
                home = resident_home
            slot = (slot + 1) & mask


@compiled
def remove(slots, ids, indices):
    """Take vertex indices, whose ids still stand in ``ids``, out of the table."""
    shift = slot_shift(slots.size)
    mask = slots.size - 1
    for i in range(indices.size):
        slot = home_slot(ids[indices[i]], shift)
        while slots[slot] != indices[i]:
            slot = (slot + 1) & mask
        while True:
            following = (slot + 1) & mask
            resident = slots[following]
            if resident == _NONE or home_slot(ids[resident], shift) == following:
                slots[slot] = _NONE
                break
            slots[slot] = resident
            slot = following
