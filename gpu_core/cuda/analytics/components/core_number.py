"""Core numbers in CUDA: peeling, many rounds in one launch, without the host.

How vertices are peeled off: ``core_number.cu``; how launches are started that do the rounds:
`parts/frontier.py`.

Rows are read where they are (`rows.Rows`), those of in-neighbors of a directed graph that has none
stored in a copy.
"""

from typing import Final

import numpy as np

from ....rows import Adjacencies, Rows
from ...device.declarations import constant, structure, word_of, words_of
from ...device.device import Array
from ...device.packed_arguments import address
from ...grid import THREADS, blocks_for
from ...memory.workspace import Workspace
from ..parts.compact_rows import bytes_of, in_rows, in_rows_bytes, zeros
from ..parts.frontier import Groups, queue_items, small_level
from ..parts.row_arguments import both_ways, one_way

_SOURCE: Final = "core_number.cu"

_NO_VERTEX: Final = constant(_SOURCE, "NO_VERTEX")
_PEELING: Final = structure(_SOURCE, "Peeling")
_GRAPH: Final = structure(_SOURCE, "Graph")

_GROUPS: Final = Groups(first=4, most=32)


def self_loop(workspace: Workspace, out: Rows) -> int | None:
    """Smallest index of a vertex with an edge to itself; None: there is none. Waits."""
    device = workspace.device
    found = device.to_device(np.array([_NO_VERTEX], np.uint32))
    device.launch(
        _SOURCE, "find_loop", blocks_for(out.count), THREADS, one_way(out), np.uint64(out.count),
        found,
    )  # fmt: skip
    [vertex] = device.read_words(found)
    return None if vertex == _NO_VERTEX else int(vertex)


def core_numbers(workspace: Workspace, adjacencies: Adjacencies) -> Array:
    """As of the host twin, int32[vertex_count] on the device. Waits for the device."""
    device, out = workspace.device, adjacencies.out
    count, directions = out.count, 2 if adjacencies.directed else 1
    degree = device.empty(count, np.uint32)
    if not count:
        return degree.view(np.int32)
    items = queue_items(out)
    need = bytes_of((directions * items + 2 * count + words_of(_PEELING), np.uint64))
    need += in_rows_bytes(device, adjacencies)
    with workspace.scratch(need) as scratch:
        into = in_rows(device, scratch, adjacencies)
        queues = scratch.take(directions * items, np.uint64)
        lists = scratch.take(2 * count, np.uint64)
        peeling = zeros(scratch, words_of(_PEELING), np.uint64)
        arrays = (address(array) for array in (peeling, degree, queues, lists))
        graph = np.array((*arrays, items, count, directions), dtype=_GRAPH)
        device.launch(
            _SOURCE, "begin_peeling", blocks_for(count), THREADS, out.degree, into.degree, graph
        )
        read = both_ways(out, into), graph
        small, large = ("peel_small_rounds", *read, small_level(device)), ("peeling_round", *read)
        _GROUPS.start(device, _SOURCE, small, large, peeling, word_of(_PEELING, "heavy"))
    return degree.view(np.int32)
