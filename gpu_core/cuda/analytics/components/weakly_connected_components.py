"""Weakly connected components in CUDA (Afforest): one list of launches, without synchronization.

How trees are joined, and why most edges need not be looked at: the host twin. Kernels:
``weakly_connected_components.cu``; how components are called: `component_names.py`. Rows are read
where they are (`rows.Rows`).
"""

from typing import Final

import numpy as np

from ....rows import Adjacencies, Rows
from ...device.declarations import constant
from ...device.device import Array
from ...grid import THREADS, blocks_for
from ...memory.workspace import Workspace
from ..parts.compact_rows import bytes_of, zeros
from ..parts.frontier import queue_items
from ..parts.row_arguments import one_way
from .component_names import NAME_BYTES, name_components

_SOURCE: Final = "weakly_connected_components.cu"

#: Entries of each row that are linked before the others: as of the host twin.
_SAMPLED: Final = 2

_NO_ROOT: Final = constant(_SOURCE, "NO_ROOT")
_ASKED: Final = constant(_SOURCE, "ASKED")

#: Blocks a multiprocessor of the launch for queued rows.
_BLOCKS: Final = 8


def first_members(workspace: Workspace, adjacencies: Adjacencies, order: Array | None) -> Array:
    """As of the host twin, on the device; waits for nothing.

    ``order``: uint32[n]; None: the vertices are 0, 1, 2 …
    """
    device, out, count = workspace.device, adjacencies.out, adjacencies.out.count
    parent = device.empty(count, np.uint32)
    items = queue_items(out)
    with workspace.scratch(bytes_of((items + 3, np.uint64)) + NAME_BYTES * count) as scratch:
        queue = scratch.take(items, np.uint64)
        state = zeros(scratch, 3, np.uint64)
        number, blocks = np.uint64(count), blocks_for(count)

        def launch(kernel: str, *arguments: object) -> None:
            device.launch(_SOURCE, kernel, blocks, THREADS, *arguments)

        def link_rest(rows: Rows, linked: int, tail: Array) -> None:
            read = one_way(rows)
            launch("link_rest", read, number, np.uint32(linked), state, parent, tail, queue)
            device.launch(
                _SOURCE, "link_queued", _BLOCKS * device.multiprocessors, THREADS, read, parent,
                tail, queue,
            )  # fmt: skip

        compress = device.prepared(_SOURCE, "compress", number, parent)
        launch("begin_components", one_way(out), number, parent)
        device.start_prepared(compress, blocks, THREADS)
        launch("link_sampled", one_way(out), number, parent)
        device.start_prepared(compress, blocks, THREADS)
        if adjacencies.into is None:
            # An edge is not seen from its other end, so every row is read.
            state[:1] = _NO_ROOT
        elif count:
            device.launch(_SOURCE, "find_large", 1, _ASKED, number, parent, state)
        link_rest(out, _SAMPLED, state[1:])
        if adjacencies.into is not None and adjacencies.directed:
            link_rest(adjacencies.into, 0, state[2:])
        device.start_prepared(compress, blocks, THREADS)
        # A root is the smallest index of its component: its first vertex, where ids are indices.
        if order is not None:
            name_components(device, scratch, order, int(order.size), parent)
    return parent
