"""How a batch is identified, and whether its lists are its only half: compiled, as all batches ask.

What the ways are, and what each of them does: `identify.py`.
"""

from enum import IntEnum
from typing import Final

import numpy as np

from ..host.compile import compiled, inlined
from ..image import MAX_VERTICES, Field


class Way(IntEnum):
    """How a batch is identified; `identify.py` says what the ways are."""

    COMMON = 1
    ENTERING = 2
    CAREFUL = 3


#: What is asked of a batch, int64 each: whether its ids are vertex indices; of these, the largest
#: to put and to delete, -1 where there is none, and for users' ids; how many edges, vertex rows and
#: vertices it names.
NAMES_FIELDS: Final = (
    "dense", "put_top", "delete_top", "puts", "deletes", "put_vertex_rows", "delete_vertices",
    "delete_vertex_rows",
)  # fmt: skip
NAMES: Final = np.dtype([(name, np.int64) for name in NAMES_FIELDS])

_COMMON: Final = int(Way.COMMON)
ENTERING: Final = int(Way.ENTERING)
_CAREFUL: Final = int(Way.CAREFUL)

_MAX_VERTICES: Final = MAX_VERTICES
_VERTEX_COUNT: Final = int(Field.VERTEX_COUNT)
_NUM_VERTICES: Final = int(Field.NUM_VERTICES)
_REVERSE_ENTRY_WORDS: Final = int(Field.REVERSE_ENTRY_WORDS)
_DIRECTED: Final = int(Field.DIRECTED)
_DENSE_IDS: Final = int(Field.DENSE_IDS)


@inlined
def first_way(header, names, create_vertices):
    """Tell the first way that is not known to fail.

    Parameters
    ----------
    header
        int64[]: fields of the image.
    names
        A record of `NAMES`.
    """
    before = header[_VERTEX_COUNT]
    if not names.dense:
        return _CAREFUL if before == 0 or names.delete_vertices > 0 else _COMMON
    if names.delete_top >= before or names.delete_vertices > 0:
        return _CAREFUL
    if names.put_top < before and header[_NUM_VERTICES] == before:
        return _COMMON
    if create_vertices and names.puts > 0 and names.put_vertex_rows == 0:
        return ENTERING
    return _CAREFUL if names.put_top >= before else _COMMON


@compiled
def first_way_of(header, names, create_vertices):
    """`first_way`; ``names`` are bytes."""
    return first_way(header, np.frombuffer(names, NAMES)[0], create_vertices)


@inlined
def takes_own_lists(header, names, way):
    """Whether nothing is asked of a batch, whose lists may then be its only half.

    That is so where only one direction is stored, and all that the lists put is there, or is
    entered whatever it is. What they delete has a record: where it is not there, that has no edges.
    """
    if header[_DIRECTED] == 0 or header[_REVERSE_ENTRY_WORDS] > 0 or way == _CAREFUL:
        return False
    return way == ENTERING or names.put_top < 0 or header[_NUM_VERTICES] == header[_VERTEX_COUNT]


@compiled
def takes_own_lists_of(header, names, way):
    """`takes_own_lists`; ``names`` are bytes."""
    return takes_own_lists(header, np.frombuffer(names, NAMES)[0], way)


@inlined
def vertices_after(header, names):
    """Vertex records after a batch that is not identified with care."""
    return max(header[_VERTEX_COUNT], names.put_top + 1)


@inlined
def fits_table(header, names):
    """Whether the graph has ids of the batch's kind, and may have so many vertex records."""
    return names.dense == header[_DENSE_IDS] and names.put_top < _MAX_VERTICES
