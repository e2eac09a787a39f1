"""The words of one entry: write and read the properties of an edge (`records.py`)."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ....jit.compile import borrowing, inlined
from ....records import FIRST_WORD, LAST_WORD, TYPE_WORD, WEIGHT_WORD, WIDE_WORDS


class Properties(NamedTuple):
    """Properties of a batch's puts, one item a put, empty where they are not kept."""

    #: Words of float32, or two words each of float64, low word first; words of int32.
    weight: npt.NDArray[np.uint32]
    type: npt.NDArray[np.uint32]
    first: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]
    #: The first time is reset even if the edge is there.
    reset: npt.NDArray[np.bool_]


@inlined
def has_wide_weight(words):
    """Whether an entry of ``words`` words has a float64 weight, whose high word is its last."""
    return words in WIDE_WORDS


@borrowing
def write_time(image, at, field, value):
    """Store an int64 in two words of an entry, low word first."""
    bits = np.uint64(value)
    image[at] = np.uint32(bits & np.uint64(0xFFFFFFFF))
    image[at + field] = np.uint32(bits >> np.uint64(32))


@borrowing
def write_properties(image, at, field, words, put, new, properties):
    """Store the properties of put number ``put`` in the entry at word ``at``."""
    if has_wide_weight(words):
        image[at + WEIGHT_WORD * field] = properties.weight[2 * put]
        image[at + (words - 1) * field] = properties.weight[2 * put + 1]
    elif words > WEIGHT_WORD:
        image[at + WEIGHT_WORD * field] = properties.weight[put]
    if words > LAST_WORD:
        image[at + TYPE_WORD * field] = properties.type[put]
        if new or properties.reset[put]:
            write_time(image, at + FIRST_WORD * field, field, properties.first[put])
        write_time(image, at + LAST_WORD * field, field, properties.last[put])


@borrowing
def read_time(image, at, field):
    """Return an int64 from two words of an entry, low word first."""
    low = np.uint64(image[at])
    high = np.uint64(image[at + field])
    return np.int64(low | (high << np.uint64(32)))
