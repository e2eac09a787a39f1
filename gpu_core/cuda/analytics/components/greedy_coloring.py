"""Greedy coloring in CUDA: each round colors all vertices whose earlier neighbors have colors.

Why that gives the colors of one vertex after the other: ``greedy_coloring.cu``; how launches are
started that do the rounds: `parts/frontier.py`.
"""

from typing import Final

import numpy as np

from ....rows import Rows
from ...device.declarations import constant, structure, word_of, words_of
from ...device.device import Array
from ...device.packed_arguments import address
from ...grid import THREADS, blocks_for
from ...memory.workspace import Workspace
from ..parts.compact_rows import bytes_of, measure_rows, rows_bytes, zeros
from ..parts.frontier import Groups, blocks_of, queue_frontier, queue_items, small_level
from ..parts.row_arguments import one_way

_SOURCE: Final = "greedy_coloring.cu"

_WORD_BITS: Final = constant(_SOURCE, "WORD_BITS")
_COLORING: Final = structure(_SOURCE, "Coloring")
_COLORING_WORDS: Final = words_of(_COLORING)
_GRAPH: Final = structure(_SOURCE, "Graph")

_GROUPS: Final = Groups(first=4, most=32)


def greedy_colors(workspace: Workspace, rows: Rows, position: Array) -> tuple[Array, int]:
    """As of the host twin, on the device, and the number of colors. Waits for the device.

    ``position``: uint32[vertex_count] on the device, of each vertex in the order of users' ids.
    """
    device, count = workspace.device, rows.count
    color = device.empty(count, np.uint32)
    color.fill(0)
    items = queue_items(rows)
    # Every edge has one end before the other.
    words = count + rows.num_entries // (2 * _WORD_BITS)
    need = bytes_of((items + _COLORING_WORDS + 1, np.uint64), (2 * count + words, np.uint32))
    with workspace.scratch(need + rows_bytes(count, 0)) as scratch:
        state = zeros(scratch, _COLORING_WORDS + 1, np.uint64)
        coloring, tail = state[:_COLORING_WORDS], state[_COLORING_WORDS:]
        queue = scratch.take(items, np.uint64)
        lengths = scratch.take(count, np.uint32)
        marks = zeros(scratch, count + words, np.uint32)
        waiting, taken = marks[:count], marks[count:]
        arrays = [coloring, queue, rows.degree, position, waiting, lengths, None, taken, color]
        number, blocks = np.uint64(count), blocks_for(count)

        def graph() -> np.ndarray[tuple[()], np.dtype[np.void]]:
            return np.array(tuple(address(array) for array in arrays), dtype=_GRAPH)

        queue_frontier(device, rows, tail, queue)
        device.launch(
            _SOURCE, "count_before", blocks_of(device), THREADS, one_way(rows), tail, graph()
        )
        device.launch(_SOURCE, "begin_coloring", blocks, THREADS, number, graph())
        arrays[6] = measure_rows(device, scratch, lengths)
        read = one_way(rows), graph()
        small, large = ("color_small_rounds", *read, small_level(device)), ("color_round", *read)
        found = _GROUPS.start(device, _SOURCE, small, large, coloring, word_of(_COLORING, "heavy"))
    return color, int(found[word_of(_COLORING, "most")]) + 1
