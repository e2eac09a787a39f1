"""CUDA twin of breadth-first search: many levels a launch, without the host.

How a level is reached: ``bfs.cu``; when it is pushed and when pulled: the host twin. The device
decides that too, so the host starts *rounds* without knowing how far the search is: a launch that
reaches all levels that are small (few blocks, which wait for one another at the end of each), then
some that reach one large level each. A launch that finds nothing to do ends at once. After a few
rounds the host reads whether there is a frontier left; each time it starts twice as many.

The queue holds every vertex that was reached, so parents, which are found behind the search, take
one launch over it more.

Rows are read where they are (`rows.Rows`).
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from ...rows import Adjacencies, Rows
from ..device.device import Array, Device
from ..device.sorting import Scratch
from ..memory.workspace import Workspace
from .compact_rows import THREADS, blocks_for, bytes_of, zeros

_SOURCE: Final = "bfs.cu"

#: As of the host twin.
PUSH_SHARE = 14
PULL_SHARE = 24

#: Twins of constants of ``bfs.cu``.
_UNREACHED: Final = np.uint32(0xFFFFFFFF)
_NO_POSITION: Final = np.uint32(0xFFFFFFFF)
_PIECE_ENTRIES: Final = 1024
_SMALL_THREADS: Final = 1024

#: Twin of ``Search`` in ``bfs.cu``.
_SEARCH: Final = (
    "tail", "vertices", "entries", "first", "end", "known_vertices", "known_entries", "size",
    "heavy", "level", "pulls", "ticket",
)  # fmt: skip

#: Twin of ``Choice`` in ``bfs.cu``.
_CHOICE_DTYPE: Final = np.dtype(
    [(name, np.uint64) for name in ("rows", "entries", "push_share", "pull_share")]
)

#: Entries that each block of the launch for small levels takes of one.
SMALL_ENTRIES = 8192
#: Launches of one large level in a round.
_LARGE_LEVELS: Final = 4
#: Rounds that are started at first, and at most, before the host looks.
_FIRST_ROUNDS: Final = 2
_MOST_ROUNDS: Final = 16
#: Blocks a multiprocessor of a launch for a large level.
_BLOCKS: Final = 4


def distances(workspace: Workspace, sides: Adjacencies, sources: npt.NDArray[np.uint32]) -> Array:
    """int32[vertex_count] on the device: hops by vertex index, -1 where none lead there.

    Waits for the search.

    Parameters
    ----------
    sides
        Rows of out-neighbors, and of in-neighbors where they are stored.
    sources
        uint32[k], indices of different vertices.
    """
    out = sides.out
    distance = _unreached(workspace.device, out.count)
    if sources.size:
        with workspace.scratch(_search_bytes(out)) as scratch:
            _search(workspace.device, scratch, sides, sources, distance)
    return distance.view(np.int32)


def distances_and_parents(
    workspace: Workspace,
    sides: Adjacencies,
    sources: npt.NDArray[np.uint32],
    order: Array | None,
) -> tuple[Array, Array]:
    """`distances`, and uint32[vertex_count] on the device: the position of each vertex' parent.

    Waits for the search.

    Parameters
    ----------
    sides, sources
        As of `distances`.
    order
        uint32[n], vertex indices in increasing order of users' ids; None: 0, 1, 2 …
    """
    device, out = workspace.device, sides.out
    distance, parent = _unreached(device, out.count), device.empty(out.count, np.uint32)
    parent.fill(_NO_POSITION)
    if sources.size:
        places = 0 if order is None else out.count
        need = _search_bytes(out) + bytes_of((places, np.uint32))
        with workspace.scratch(need) as scratch:
            search, queue = _search(device, scratch, sides, sources, distance)
            position = None
            if order is not None:
                position, number = scratch.take(out.count, np.uint32), np.uint64(order.size)
                device.launch(
                    _SOURCE, "place_vertices", blocks_for(order.size), THREADS, order, number,
                    position,
                )  # fmt: skip
            device.launch(
                _SOURCE, "offer_parents", _BLOCKS * device.multiprocessors, THREADS, *out.walked,
                search, queue, distance, position, parent,
            )  # fmt: skip
    return distance.view(np.int32), parent


def _unreached(device: Device, count: int) -> Array:
    distance = device.empty(count, np.uint32)
    distance.fill(_UNREACHED)
    return distance


def _items(out: Rows) -> int:
    """Items of a queue of all rows, at most."""
    return out.count + out.num_entries // _PIECE_ENTRIES


def _search_bytes(out: Rows) -> int:
    """Bytes of scratch that `_search` takes."""
    return bytes_of((_items(out) + len(_SEARCH), np.uint64))


def _search(
    device: Device,
    scratch: Scratch,
    sides: Adjacencies,
    sources: npt.NDArray[np.uint32],
    distance: Array,
) -> tuple[Array, Array]:
    """Find all distances; returns the state of the search, and its queue, in scratch."""
    queue = scratch.take(_items(sides.out), np.uint64)
    search = zeros(scratch, len(_SEARCH), np.uint64)
    out, back = sides.out.walked, (sides.into or sides.out).walked
    share = 0 if sides.into is None else PUSH_SHARE
    choice = np.array(
        (sides.out.count, sides.out.num_entries, share, PULL_SHARE), dtype=_CHOICE_DTYPE
    )
    written = choice, search, distance, queue
    device.launch(
        _SOURCE, "reach_sources", blocks_for(sources.size), THREADS, device.to_device(sources),
        np.uint64(sources.size), sides.out.degree, *written,
    )  # fmt: skip
    few, many = device.meeting_blocks, _BLOCKS * device.multiprocessors
    most, rounds = np.uint64(few * SMALL_ENTRIES), _FIRST_ROUNDS
    while True:
        for _ in range(rounds):
            device.launch(_SOURCE, "reach_small_levels", few, _SMALL_THREADS, *out, most, *written)
            for _ in range(_LARGE_LEVELS):
                device.launch(_SOURCE, "reach_level", many, THREADS, *out, *back, *written)
        if not device.read_words(search)[_SEARCH.index("size")]:
            return search, queue
        rounds = min(2 * rounds, _MOST_ROUNDS)
