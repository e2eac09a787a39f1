"""CUDA twin of core numbers: many rounds a launch, without the host.

How vertices are peeled off: ``core_number.cu``. The device decides what a round does and whether it
is a small one, so the host starts launches without knowing how far it is, as of `bfs.py`: one that
does all small rounds (few blocks, which wait for one another), then some that do one large round
each.

Rows are read where they are (`rows.Rows`), those of in-neighbors of a directed graph that has none
stored in a copy.
"""

from typing import Final

import numpy as np

from ...rows import Adjacencies, Rows
from ..device.device import Array
from ..device.packed_arguments import address
from ..memory.workspace import Workspace
from .compact_rows import THREADS, blocks_for, bytes_of, in_rows, in_rows_bytes, zeros

_SOURCE: Final = "core_number.cu"

#: Twins of constants of ``core_number.cu`` and ``frontier.cuh``.
_PIECE_ENTRIES: Final = 1024
_SMALL_THREADS: Final = 1024
_NO_VERTEX: Final = 0xFFFFFFFF

#: Twin of ``Peeling`` in ``core_number.cu``: words, and which of them tells that there is more.
_PEELING_WORDS: Final = 15
_HEAVY: Final = 12

#: Twin of ``Graph`` in ``core_number.cu``.
_GRAPH_DTYPE: Final = np.dtype(
    [
        (name, np.uint64)
        for name in ("peeling", "degree", "queues", "lists", "queue_items", "rows", "sides")
    ]
)

#: Entries that each block of the launch for small rounds takes of one.
SMALL_ENTRIES = 8192
#: Launches of one large round behind each of the others.
_LARGE_ROUNDS: Final = 4
#: Such groups that are started at first, and at most, before the host looks.
_FIRST_GROUPS: Final = 4
_MOST_GROUPS: Final = 32
#: Blocks a multiprocessor of a launch for a large round.
_BLOCKS: Final = 4


def self_loop(workspace: Workspace, out: Rows) -> int | None:
    """Smallest index of a vertex with an edge to itself; None: there is none. Waits."""
    device = workspace.device
    found = device.to_device(np.array([_NO_VERTEX], np.uint32))
    device.launch(
        _SOURCE, "find_loop", blocks_for(out.count), THREADS, *out.walked, np.uint64(out.count),
        found,
    )  # fmt: skip
    [vertex] = device.read_words(found)
    return None if vertex == _NO_VERTEX else int(vertex)


def core_numbers(workspace: Workspace, sides: Adjacencies) -> Array:
    """int32[vertex_count] on the device: core number by vertex index. Waits for the device.

    Parameters
    ----------
    sides
        Rows of out-neighbors, and of in-neighbors where they are stored; without self loops.
    """
    device, out = workspace.device, sides.out
    count, directions = out.count, 2 if sides.directed else 1
    degree = device.empty(count, np.uint32)
    if not count:
        return degree.view(np.int32)
    items = count + out.num_entries // _PIECE_ENTRIES
    need = bytes_of((directions * items + 2 * count + _PEELING_WORDS, np.uint64))
    need += in_rows_bytes(device, sides)
    with workspace.scratch(need) as scratch:
        into = in_rows(device, scratch, sides)
        queues = scratch.take(directions * items, np.uint64)
        lists = scratch.take(2 * count, np.uint64)
        peeling = zeros(scratch, _PEELING_WORDS, np.uint64)
        arrays = (address(array) for array in (peeling, degree, queues, lists))
        graph = np.array((*arrays, items, count, directions), dtype=_GRAPH_DTYPE)
        device.launch(
            _SOURCE, "begin_peeling", blocks_for(count), THREADS, out.degree, into.degree, graph
        )
        few, many = device.meeting_blocks, _BLOCKS * device.multiprocessors
        read = *out.walked, *into.walked, graph
        most, groups = np.uint64(few * SMALL_ENTRIES), _FIRST_GROUPS
        while device.read_words(peeling)[_HEAVY]:
            for _ in range(groups):
                device.launch(_SOURCE, "peel_small_rounds", few, _SMALL_THREADS, *read, most)
                for _ in range(_LARGE_ROUNDS):
                    device.launch(_SOURCE, "peeling_round", many, THREADS, *read)
            groups = min(2 * groups, _MOST_GROUPS)
    return degree.view(np.int32)
