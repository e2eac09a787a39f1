"""Shortest paths by weight in CUDA: near-far, many rounds in one launch, without the host.

How distances fall: ``sssp.cu``; how launches are started that do the rounds: `parts/frontier.py`.

Rows are read where they are (`rows.Rows`).
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from ....rows import Rows
from ...device.declarations import constant, structure, word_of, words_of
from ...device.device import Array
from ...device.packed_arguments import address
from ...grid import THREADS, blocks_for
from ...memory.workspace import Workspace
from ..parts.compact_rows import bytes_of, zeros
from ..parts.frontier import Groups, blocks_of, queue_frontier, queue_items, small_level
from ..parts.row_arguments import with_weights

_SOURCE: Final = "sssp.cu"

_NO_VERTEX: Final = constant(_SOURCE, "NO_VERTEX")
_SEARCH: Final = structure(_SOURCE, "Search")
_PILE: Final = structure(_SOURCE, "Pile")

#: Width of the near bucket, in mean weights over the mean degree: the threads of a warp have one
#: entry each, then, of the vertices that an average one brings near.
NEAR_WIDTH = 32
_GROUPS: Final = Groups(first=2, most=16)


def weigh(workspace: Workspace, out: Rows) -> tuple[float, int | None]:
    """Mean of all weights, and the smallest index of a vertex that has a negative one, if any.

    Waits for the device.
    """
    device, items = workspace.device, queue_items(out)
    with workspace.scratch(bytes_of((items + 3, np.uint64))) as scratch:
        queue = scratch.take(items, np.uint64)
        found = zeros(scratch, 3, np.uint64)
        found[2:] = _NO_VERTEX
        queue_frontier(device, out, found, queue)
        device.launch(
            _SOURCE, "weigh", blocks_of(device), THREADS, with_weights(out, weighted=True),
            found, queue, found[1:2].view(np.float64), found[2:].view(np.uint32),
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
    items = queue_items(out)
    need = bytes_of((2 * items + 2 * count + words_of(_SEARCH), np.uint64), (2 * count, np.uint32))
    with workspace.scratch(need) as scratch:
        queues, far = scratch.take(2 * items, np.uint64), scratch.take(2 * count, np.uint64)
        marks = zeros(scratch, 2 * count, np.uint32)
        search = zeros(scratch, words_of(_SEARCH), np.uint64)
        arrays = search, distance, queues, far, marks, marks[count:]
        width = NEAR_WIDTH * mean * count / max(out.num_entries, 1)
        pile = np.array((*map(address, arrays), items, count, width), dtype=_PILE)
        device.launch(
            _SOURCE, "begin_search", blocks_for(sources.size), THREADS, device.to_device(sources),
            np.uint64(sources.size), out.degree, pile,
        )  # fmt: skip
        read = with_weights(out, weighted=True), pile
        small, large = ("search_small_rounds", *read, small_level(device)), ("search_round", *read)
        _GROUPS.start(device, _SOURCE, small, large, search, word_of(_SEARCH, "size"))
    return distance


def of_hops(workspace: Workspace, hops: Array) -> Array:
    """float64[vertex_count] on the device: hops of `bfs.distances`; inf where there is no path."""
    device, count = workspace.device, int(hops.size)
    distance = device.empty(count, np.float64)
    device.launch(
        _SOURCE, "distances_of_hops", blocks_for(count), THREADS, hops, np.uint64(count), distance
    )
    return distance
