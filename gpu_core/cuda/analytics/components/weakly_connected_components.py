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
from ...memory.workspace import Workspace
from ..parts.compact_rows import THREADS, blocks_for, bytes_of, zeros
from ..parts.frontier import queue_items
from .component_names import NAME_BYTES, name_components

_SOURCE: Final = "weakly_connected_components.cu"

#: As of the host twin.
SAMPLED = 2

_NO_ROOT: Final = constant(_SOURCE, "NO_ROOT")
_ASKED: Final = constant(_SOURCE, "ASKED")

#: Blocks a multiprocessor of the launch for queued rows.
_BLOCKS: Final = 8


def first_members(workspace: Workspace, adjacencies: Adjacencies, order: Array | None) -> Array:
    """Position in the order of ids of the first vertex of each vertex' component, on the device.

    Waits for nothing.

    Parameters
    ----------
    adjacencies
        Rows of out-neighbors, and of in-neighbors where they are stored.
    order
        uint32[n], vertex indices in increasing order of users' ids; None: 0, 1, 2 …

    Returns
    -------
    uint32[vertex_count]
        Of no meaning for absent vertices.
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
            launch("link_rest", *rows.walked, number, np.uint32(linked), state, parent, tail, queue)
            device.launch(
                _SOURCE, "link_queued", _BLOCKS * device.multiprocessors, THREADS, *rows.walked,
                parent, tail, queue,
            )  # fmt: skip

        launch("begin_components", number, parent)
        for entry in range(SAMPLED):
            launch("link_sampled", *out.walked, number, np.uint32(entry), parent)
            launch("compress", number, parent)
        if adjacencies.into is None:
            # Nobody sees an edge from its other end, so every row is read.
            state[:1] = _NO_ROOT
        elif count:
            device.launch(_SOURCE, "find_large", 1, _ASKED, number, parent, state)
        link_rest(out, SAMPLED, state[1:])
        if adjacencies.into is not None and adjacencies.directed:
            link_rest(adjacencies.into, 0, state[2:])
        launch("compress", number, parent)
        vertices = out.num_vertices if order is None else int(order.size)
        name_components(device, scratch, order, vertices, parent)
    return parent
