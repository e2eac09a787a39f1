"""Strongly connected components in CUDA: trimming, then forward and backward searches.

Why this finds them: ``strongly_connected_components.cu``; how launches are started that do the
rounds of a search: `frontier.py`. There are two searches for each shuffled order of seeds, of which
a graph takes a few.

Rows are read where they are (`rows.Rows`), those of in-neighbors that are not stored in a copy.
"""

from typing import Final

import numpy as np

from ....rows import Adjacencies
from ...device.declarations import constant, structure, word_of, words_of
from ...device.device import Array, Device
from ...device.packed_arguments import address
from ...grid import THREADS, blocks_for
from ...memory.workspace import Workspace
from ..parts.compact_rows import bytes_of, in_rows, in_rows_bytes, zeros
from ..parts.frontier import Groups, queue_items, small_level
from ..parts.row_arguments import both_ways
from .component_names import NAME_BYTES, name_components

_SOURCE: Final = "strongly_connected_components.cu"

_TRIMS, _GOES_FORWARD, _GOES_BACK = (
    np.uint32(constant(_SOURCE, name)) for name in ("TRIMS", "GOES_FORWARD", "GOES_BACK")
)
_ROUNDS: Final = structure(_SOURCE, "Rounds")
#: The word that is set while there is more to do.
_HEAVY: Final = word_of(_ROUNDS, "heavy")
_GRAPH: Final = structure(_SOURCE, "Graph")

_GROUPS: Final = Groups(first=1, most=16)


def first_members(workspace: Workspace, adjacencies: Adjacencies, order: Array | None) -> Array:
    """As of the host twin, on the device, also with rows of in-neighbors; waits for the searches.

    ``order``: uint32[n]; None: the vertices are 0, 1, 2 …
    """
    device, out = workspace.device, adjacencies.out
    count = out.count
    component = device.empty(count, np.uint32)
    if not count:
        return component
    items = queue_items(out)
    need = bytes_of((4 * items + words_of(_ROUNDS), np.uint64), (4 * count, np.uint32))
    need += in_rows_bytes(device, adjacencies) + NAME_BYTES * count
    with workspace.scratch(need) as scratch:
        into = in_rows(device, scratch, adjacencies)
        rounds = zeros(scratch, words_of(_ROUNDS), np.uint64)
        queues = scratch.take(4 * items, np.uint64)
        of_vertices = [scratch.take(count, np.uint32) for _ in range(4)]
        arrays = (address(array) for array in (rounds, queues, component, *of_vertices))
        graph = np.array((*arrays, items, count), dtype=_GRAPH)
        _find(device, both_ways(out, into), rounds, graph)
        name_components(device, scratch, order, out.num_vertices, component)
    return component


def _find(device: Device, rows: Array, rounds: Array, graph: Array) -> None:
    """Find the components of all vertices."""
    blocks, most = blocks_for(int(graph["rows"])), small_level(device)

    def search(what: np.uint32) -> None:
        """Do rounds of a kind until there is nothing left."""
        read = rows, graph, what
        small, large = ("search_small_rounds", *read, most), ("search_round", *read)
        _GROUPS.start(device, _SOURCE, small, large, rounds, _HEAVY)

    device.launch(_SOURCE, "begin_trimming", blocks, THREADS, rows, graph)
    search(_TRIMS)
    device.launch(_SOURCE, "choose_seed", blocks, THREADS, graph)
    number = 0
    while True:
        seeds = rows, graph, np.uint32(number)
        device.launch(_SOURCE, "begin_search", blocks, THREADS, *seeds)
        if not device.read_words(rounds)[_HEAVY]:
            return
        search(_GOES_FORWARD)
        device.launch(_SOURCE, "begin_return", blocks, THREADS, *seeds)
        search(_GOES_BACK)
        number += 1
