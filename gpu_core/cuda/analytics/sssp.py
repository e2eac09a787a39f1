"""CUDA twin of shortest paths by weight: near-far, many rounds a launch, without the host.

How distances fall: ``sssp.cu``. The device decides what a round does and whether it is a small one,
so the host starts launches without knowing how far the search is, as of `bfs.py`: one that does all
small rounds (few blocks, which wait for one another), then some that do one large round each.

Rows are read where they are (`rows.Rows`).
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from ...rows import Rows
from ..device.device import Array
from ..device.packed_arguments import address
from ..memory.workspace import Workspace
from .compact_rows import THREADS, blocks_for, bytes_of, zeros

_SOURCE: Final = "sssp.cu"

#: Twins of constants of ``sssp.cu`` and ``frontier.cuh``.
_PIECE_ENTRIES: Final = 1024
_SMALL_THREADS: Final = 1024
_NO_VERTEX: Final = 0xFFFFFFFF

#: Twin of ``Search`` in ``sssp.cu``.
_SEARCH: Final = (
    "tail", "entries", "far_tail", "least", "size", "heavy", "side", "far_side", "splits", "round",
    "threshold", "near_before", "ticket",
)  # fmt: skip

#: Twin of ``Pile`` in ``sssp.cu``.
_PILE_DTYPE: Final = np.dtype(
    [
        *((name, np.uint64) for name in ("search", "distance", "queues", "far")),
        *((name, np.uint64) for name in ("queued_for", "is_far", "queue_items", "rows")),
        ("width", np.float64),
    ]
)

#: What is near is so many mean weights wide over the mean degree: the threads of a warp have one
#: entry each, then, of the vertices that an average one brings near.
NEAR_WIDTH = 32
#: Entries that each block of the launch for small rounds takes of one.
SMALL_ENTRIES = 8192
#: Launches of one large round behind each of the others.
_LARGE_ROUNDS: Final = 4
#: Such groups that are started at first, and at most, before the host looks.
_FIRST_GROUPS: Final = 2
_MOST_GROUPS: Final = 16
#: Blocks a multiprocessor of a launch for a large round.
_BLOCKS: Final = 4


def weigh(workspace: Workspace, out: Rows) -> tuple[float, int | None]:
    """Mean of all weights, and the smallest index of a vertex that has a negative one, if any.

    Waits for the device.
    """
    device, items = workspace.device, _items(out)
    with workspace.scratch(bytes_of((items + 3, np.uint64))) as scratch:
        queue = scratch.take(items, np.uint64)
        found = zeros(scratch, 3, np.uint64)
        found[2:] = _NO_VERTEX
        device.launch(
            _SOURCE, "queue_rows", blocks_for(out.count), THREADS, out.degree,
            np.uint64(out.count), found, queue,
        )  # fmt: skip
        device.launch(
            _SOURCE, "weigh", _BLOCKS * device.multiprocessors, THREADS, *out.walked,
            *_weights(out), found, queue, found[1:2].view(np.float64), found[2:].view(np.uint32),
        )  # fmt: skip
        _, total, negative = device.read_words(found)
    mean = float(total.view(np.float64)) / max(out.num_entries, 1)
    return mean, None if negative == _NO_VERTEX else int(negative)


def distances(
    workspace: Workspace, out: Rows, sources: npt.NDArray[np.uint32], mean: float
) -> Array:
    """float64[vertex_count] on the device: least sum of weights; inf where there is no path.

    Waits for the search.

    Parameters
    ----------
    out
        Rows of out-neighbors with weights, none of them negative.
    sources
        uint32[k], indices of different vertices.
    mean
        Of the weights.
    """
    device, count = workspace.device, out.count
    distance = device.empty(count, np.float64)
    distance.fill(np.inf)
    if not sources.size:
        return distance
    items = _items(out)
    need = bytes_of((2 * items + 2 * count + len(_SEARCH), np.uint64), (2 * count, np.uint32))
    with workspace.scratch(need) as scratch:
        queues, far = scratch.take(2 * items, np.uint64), scratch.take(2 * count, np.uint64)
        marks = zeros(scratch, 2 * count, np.uint32)
        search = zeros(scratch, len(_SEARCH), np.uint64)
        arrays = search, distance, queues, far, marks, marks[count:]
        width = NEAR_WIDTH * mean * count / max(out.num_entries, 1)
        pile = np.array((*map(address, arrays), items, count, width), dtype=_PILE_DTYPE)
        device.launch(
            _SOURCE, "begin_search", blocks_for(sources.size), THREADS, device.to_device(sources),
            np.uint64(sources.size), out.degree, pile,
        )  # fmt: skip
        few, many = device.meeting_blocks, _BLOCKS * device.multiprocessors
        read = (*out.walked, *_weights(out), pile)
        most, groups = np.uint64(few * SMALL_ENTRIES), _FIRST_GROUPS
        while device.read_words(search)[_SEARCH.index("size")]:
            for _ in range(groups):
                device.launch(_SOURCE, "search_small_rounds", few, _SMALL_THREADS, *read, most)
                for _ in range(_LARGE_ROUNDS):
                    device.launch(_SOURCE, "search_round", many, THREADS, *read)
            groups = min(2 * groups, _MOST_GROUPS)
    return distance


def of_hops(workspace: Workspace, hops: Array) -> Array:
    """float64[vertex_count] on the device: hops of `bfs.distances`; inf where there is no path."""
    device, count = workspace.device, int(hops.size)
    distance = device.empty(count, np.float64)
    device.launch(
        _SOURCE, "distances_of_hops", blocks_for(count), THREADS, hops, np.uint64(count), distance
    )
    return distance


def _items(out: Rows) -> int:
    """Items of a queue of all rows, at most."""
    return out.count + out.num_entries // _PIECE_ENTRIES


def _weights(out: Rows) -> tuple[Array | None, Array | None, Array]:
    """Weights as float32 or float64, and where each row has its own."""
    wide = out.weights is not None and out.weights.dtype == np.float64
    return (None, out.weights, out.weight_begin) if wide else (out.weights, None, out.weight_begin)
