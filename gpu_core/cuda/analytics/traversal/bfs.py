"""Breadth-first search in CUDA: direction-optimizing, many levels in one launch, without the host.

How a level is reached: ``bfs.cu``; when it is pushed and when pulled, which the device decides: the
host twin, but small levels are pushed; how launches are started that reach the levels:
`parts/frontier.py`.

The queue holds every vertex that was reached, so parents, which are found after the search, take
one launch over it more.

Rows are read where they are (`rows.Rows`).
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from ....algorithms.traversal.bfs import PULL_SHARE, PUSH_SHARE
from ....rows import Adjacencies, Rows
from ...device.declarations import constant, structure, word_of, words_of
from ...device.device import Array, Device
from ...device.packed_arguments import address
from ...grid import THREADS, blocks_for
from ...memory.scratch import Scratch
from ...memory.workspace import Workspace
from ..parts.compact_rows import bytes_of, zeros
from ..parts.frontier import Groups, blocks_of, queue_items, small_level
from ..parts.row_arguments import one_way

_SOURCE: Final = "bfs.cu"

#: Each byte of ``UNREACHED``, and of the position of no vertex.
_UNREACHED_BYTE: Final = constant(_SOURCE, "UNREACHED") & 0xFF
_NO_POSITION_BYTE: Final = 0xFF
_SEARCH: Final = structure(_SOURCE, "Search")
_SIZE: Final = word_of(_SEARCH, "frontier") + word_of(structure(_SOURCE, "Frontier"), "size")
_CHOICE: Final = structure(_SOURCE, "Choice")

_GROUPS: Final = Groups(first=2, most=16)


def distances(
    workspace: Workspace, adjacencies: Adjacencies, sources: npt.NDArray[np.uint32]
) -> Array:
    """int32[vertex_count] on the device: hops by vertex index, -1 where none lead there.

    Waits for the search.

    Parameters
    ----------
    adjacencies
        Rows of out-neighbors, and of in-neighbors where they are stored.
    sources
        uint32[k], indices of different vertices.
    """
    out = adjacencies.out
    distance = _unreached(workspace.device, out.count)
    if sources.size:
        with workspace.scratch(_search_bytes(out)) as scratch:
            _search(workspace.device, scratch, adjacencies, sources, distance)
    return distance.view(np.int32)


def distances_and_parents(
    workspace: Workspace,
    adjacencies: Adjacencies,
    sources: npt.NDArray[np.uint32],
    order: Array | None,
) -> tuple[Array, Array]:
    """`distances`, and uint32[vertex_count] on the device: the position of each vertex' parent.

    Waits for the search.

    Parameters
    ----------
    adjacencies, sources
        As of `distances`.
    order
        uint32[n], vertex indices in increasing order of users' ids; None: 0, 1, 2 …
    """
    device, out = workspace.device, adjacencies.out
    distance, parent = _unreached(device, out.count), device.empty(out.count, np.uint32)
    device.fill_bytes(address(parent), parent.nbytes, _NO_POSITION_BYTE)
    if sources.size:
        positions = 0 if order is None else out.count
        need = _search_bytes(out) + bytes_of((positions, np.uint32))
        with workspace.scratch(need) as scratch:
            search, queue = _search(device, scratch, adjacencies, sources, distance)
            position = None
            if order is not None:
                position = scratch.take(out.count, np.uint32)
                device.launch(
                    "queries.cu", "rank_vertices", blocks_for(order.size), THREADS, order,
                    np.int64(order.size), position,
                )  # fmt: skip
            device.launch(
                _SOURCE, "offer_parents", blocks_of(device), THREADS, one_way(out),
                search, queue, distance, position, parent,
            )  # fmt: skip
    return distance.view(np.int32), parent


def _unreached(device: Device, count: int) -> Array:
    distance = device.empty(count, np.uint32)
    device.fill_bytes(address(distance), distance.nbytes, _UNREACHED_BYTE)
    return distance


def _search_bytes(out: Rows) -> int:
    """Bytes of scratch that `_search` takes."""
    return bytes_of((queue_items(out) + words_of(_SEARCH), np.uint64))


def _search(
    device: Device,
    scratch: Scratch,
    adjacencies: Adjacencies,
    sources: npt.NDArray[np.uint32],
    distance: Array,
) -> tuple[Array, Array]:
    """Find all distances; returns the state of the search, and its queue, in scratch."""
    queue = scratch.take(queue_items(adjacencies.out), np.uint64)
    search = zeros(scratch, words_of(_SEARCH), np.uint64)
    out, back = one_way(adjacencies.out), one_way(adjacencies.into or adjacencies.out)
    share = 0 if adjacencies.into is None else PUSH_SHARE
    choice = np.array(
        (adjacencies.out.count, adjacencies.out.num_entries, share, PULL_SHARE), dtype=_CHOICE
    )
    written = choice, search, distance, queue
    device.launch(
        _SOURCE, "reach_sources", blocks_for(sources.size), THREADS, device.to_device(sources),
        np.uint64(sources.size), adjacencies.out.degree, *written,
    )  # fmt: skip
    small = "reach_small_levels", out, small_level(device), *written
    large = "reach_level", out, back, *written
    _GROUPS.start(device, _SOURCE, small, large, search, _SIZE)
    return search, queue
