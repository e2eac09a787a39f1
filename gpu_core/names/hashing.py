"""The key of a name: 64 bits of its bytes, the same in every process and on every machine.

Which name has which key is known without a table, so CPU workers need share nothing. Two names may
come to one key; `table.py` describes what becomes of the second one.

A hash can be narrowed (``bits``), so that tests can have as many collisions as they like through
all that names go through: ``ids="string:12"`` keeps 12 bits of it. It is of use for tests alone.

Source: Appleby, MurmurHash64A (public domain). Names that collide can be constructed: a log
made of them is applied slowly, and as exactly as any other.
"""

from collections.abc import Iterator
from itertools import count

import numpy as np
import numpy.typing as npt

from ..jit.compile import compiled, inlined
from .strings import Strings
from .words import padded_word

Int64s = npt.NDArray[np.int64]

#: Stands for names that no vertex has: no name has this key.
NO_KEY = np.int64(-(2**63))
#: Bits of a hash that is not narrowed.
ALL_BITS = 64


@inlined
def hash_of(data, begin, end, salt):
    """MurmurHash64A of ``data[begin:end]``; with the last word padded by zeros."""
    factor = np.uint64(0xC6A4A7935BD1E995)
    bits = np.uint64(salt) ^ (np.uint64(end - begin) * factor)
    for at in range(begin, end, 8):
        word = padded_word(data, at, end) * factor
        word = (word ^ (word >> np.uint64(47))) * factor
        bits = (bits ^ word) * factor
    bits = (bits ^ (bits >> np.uint64(47))) * factor
    return bits ^ (bits >> np.uint64(47))


@inlined
def key_of(data, begin, end, bits):
    """Key of one name that collides with none."""
    found = hash_of(data, begin, end, 0)
    if bits < 64:
        # Spread, as tables go by the upper bits.
        found = (found >> np.uint64(64 - bits)) * np.uint64(0x9E3779B97F4A7C15)
    key = np.int64(found)
    return key if key != NO_KEY else np.int64(1)


@compiled
def write_keys(starts, data, bits, out):
    """Write the key of each string."""
    for i in range(out.size):
        out[i] = key_of(data, starts[i], starts[i + 1], bits)


def keys_of(strings: Strings, bits: int = ALL_BITS) -> Int64s:
    """int64[n]: the key of each name, where it collides with none."""
    keys = np.empty(len(strings), np.int64)
    write_keys(strings.starts, strings.data, bits, keys)
    return keys


@compiled
def salted_key(data, salt):
    """Key of a name in place of the one that another name has; of all 64 bits."""
    return np.int64(hash_of(data, 0, data.size, salt))


def other_keys(name: bytes) -> Iterator[int]:
    """Keys for a name whose own one is another's: one after the other, until one is free."""
    data = np.frombuffer(name, np.uint8)
    keys = (int(salted_key(data, salt)) for salt in count(1))
    return (key for key in keys if key != NO_KEY)
