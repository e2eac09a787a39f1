"""The words of one entry: write and read the properties of an edge (`records.py`)."""

import numpy as np

from ..records import FIRST_WORD, LAST_WORD, TYPE_WORD, WEIGHT_WORD
from .compile import inlined

_WEIGHT = WEIGHT_WORD
_TYPE = TYPE_WORD
_FIRST_TIME = FIRST_WORD
_LAST_TIME = LAST_WORD


@inlined
def write_time(image, at, field, value):
    """Store an int64 in two words of an entry, low word first."""
    bits = np.uint64(value)
    image[at] = np.uint32(bits & np.uint64(0xFFFFFFFF))
    image[at + field] = np.uint32(bits >> np.uint64(32))


@inlined
def write_properties(image, at, field, words, put, new, weight, kind, first, last, reset):
    """Store the properties of put number ``put`` in the entry at word ``at``."""
    if words > _WEIGHT:
        image[at + _WEIGHT * field] = weight[put]
    if words > _LAST_TIME:
        image[at + _TYPE * field] = kind[put]
        if new or reset[put]:
            write_time(image, at + _FIRST_TIME * field, field, first[put])
        write_time(image, at + _LAST_TIME * field, field, last[put])


@inlined
def read_time(image, at, field):
    """Return an int64 from two words of an entry, low word first."""
    low = np.uint64(image[at])
    high = np.uint64(image[at + field])
    return np.int64(low | (high << np.uint64(32)))
