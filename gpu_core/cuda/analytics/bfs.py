"""CUDA twin of breadth-first search: many levels a launch, without the host.

How a level is reached: ``bfs.cu``; when it is pushed and when pulled: the host twin. The device
decides that too, so the host starts *rounds* without knowing how far the search is: a launch that
reaches all levels that are small (few blocks, which wait for one another at the end of each), then
some that reach one large level each. A launch that finds nothing to do ends at once. After a few
rounds the host reads whether there is a frontier left; each time it starts twice as many.

Rows are read where they are (`rows.Rows`).
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from ...rows import Adjacencies
from ..device.device import Array, Device
from ..memory.workspace import Workspace
from .compact_rows import THREADS, blocks_for, bytes_of, zeros

_SOURCE: Final = "bfs.cu"

#: As of the host twin.
PUSH_SHARE = 14
PULL_SHARE = 24

#: Twins of constants of ``bfs.cu``.
_UNREACHED: Final = np.uint32(0xFFFFFFFF)
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
    device, out = workspace.device, sides.out
    distance = device.empty(out.count, np.uint32)
    distance.fill(_UNREACHED)
    if not sources.size:
        return distance.view(np.int32)
    items = out.count + out.num_entries // _PIECE_ENTRIES
    with workspace.scratch(bytes_of((items + len(_SEARCH), np.uint64))) as scratch:
        queue = scratch.take(items, np.uint64)
        search = zeros(scratch, len(_SEARCH), np.uint64)
        _search(device, sides, device.to_device(sources), search, distance, queue)
    return distance.view(np.int32)


def _search(
    device: Device, sides: Adjacencies, sources: Array, search: Array, distance: Array, queue: Array
) -> None:
    out, back = sides.out.walked, (sides.into or sides.out).walked
    share = 0 if sides.into is None else PUSH_SHARE
    choice = np.array(
        (sides.out.count, sides.out.num_entries, share, PULL_SHARE), dtype=_CHOICE_DTYPE
    )
    written = choice, search, distance, queue
    device.launch(
        _SOURCE, "reach_sources", blocks_for(sources.size), THREADS, sources,
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
            return
        rounds = min(2 * rounds, _MOST_ROUNDS)
