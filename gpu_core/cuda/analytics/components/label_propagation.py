"""Label propagation in CUDA: two launches for each color of each sweep.

The first counts the labels around all vertices of the color, entry by entry, so that hubs are
shared by the whole device; the second has the vertices take theirs. Kernels:
``label_propagation.cu``. The host looks once a sweep whether a label has changed.
"""

from typing import Final

import numpy as np

from ....rows import Rows
from ...device.declarations import structure
from ...device.device import Array, Device
from ...device.packed_arguments import address
from ...device.sorting.sorting import sort_keys
from ...grid import THREADS, blocks_for
from ...memory.scratch import PoolScratch
from ...memory.workspace import Workspace
from ..parts.compact_rows import measure_rows, zeros
from ..parts.frontier import PIECE_ENTRIES
from ..parts.row_arguments import one_way
from .component_names import NAME_BYTES, name_components
from .greedy_coloring import greedy_colors

_SOURCE: Final = "label_propagation.cu"

_TABLE: Final = structure(_SOURCE, "Table")

#: Blocks a multiprocessor of the launch that counts.
_BLOCKS: Final = 4


def communities(
    workspace: Workspace, rows: Rows, order: Array | None, max_iter: int | None
) -> tuple[Array, int]:
    """As of the host twin, on the device; waits for each sweep.

    ``order``: uint32[n]; None: the vertices are 0, 1, 2 …
    """
    device, count = workspace.device, rows.count
    label = device.empty(count, np.uint32)
    if not count:
        return label, 0
    label.fill(0)
    label[slice(None) if order is None else order] = device.xp.arange(
        rows.num_vertices, dtype=np.uint32
    )
    color, colors = greedy_colors(workspace, rows, label)
    sweeps = _Sweeps(device, rows, color, colors)
    done = 0
    while done != max_iter and sweeps.changes(label):
        done += 1
    with workspace.scratch(NAME_BYTES * count) as scratch:
        name_components(device, scratch, order, rows.num_vertices, label)
    return label, done


class _Sweeps:
    """Rows in the order of colors, and what their labels are counted in."""

    def __init__(self, device: Device, rows: Rows, color: Array, colors: int) -> None:
        xp, memory, count = device.xp, PoolScratch(device), rows.count
        self._device, self._rows, self._memory = device, rows, memory
        keys = color.astype(np.uint64) << np.uint64(32) | xp.arange(count, dtype=np.uint64)
        keys, _ = sort_keys(device, keys, 32, 32 + max(colors - 1, 1).bit_length())
        self._members = keys.astype(np.uint32)
        lengths = rows.degree[self._members]
        pieces = (lengths + np.uint32(PIECE_ENTRIES - 1)) // np.uint32(PIECE_ENTRIES)
        starts, items = (measure_rows(device, memory, each) for each in (lengths, pieces))
        bounds = xp.searchsorted(keys, xp.arange(colors + 1, dtype=np.uint64) << np.uint64(32))
        #: Of each color and of the end, in host memory: first vertex, first item, first entry.
        self._vertices = device.to_host(bounds).astype(np.uint64)
        self._items = device.to_host(items[bounds]).astype(np.uint64)
        self._entries = device.to_host(starts[bounds])
        self._queue = memory.take(int(self._items[-1]), np.uint64)
        self._positions = memory.take(count, np.int64)
        device.launch(
            _SOURCE, "queue_by_color", blocks_for(count), THREADS, self._members, np.uint64(count),
            items, starts, self._queue, self._positions,
        )  # fmt: skip
        slots = 2 * int(np.diff(self._entries).max())
        self._labels, self._counts = (zeros(memory, slots, np.uint64) for _ in range(2))
        self._best, self._own = zeros(memory, count, np.uint64), zeros(memory, count, np.uint32)
        self._stamp = 0

    def changes(self, label: Array) -> bool:
        """Sweep over all vertices; returns whether a label has changed."""
        device, many = self._device, _BLOCKS * self._device.multiprocessors
        changed = zeros(self._memory, 1, np.uint64)
        table = [address(each) for each in (self._labels, self._counts, self._positions)]
        for color in range(self._vertices.size - 1):
            low, high = self._items[color], self._items[color + 1]
            if low == high:
                continue
            self._stamp += 1
            counted = np.array((*table, self._entries[color], self._stamp), dtype=_TABLE)
            device.launch(
                _SOURCE, "count_labels", many, THREADS, one_way(self._rows), self._queue, low, high,
                counted, label, self._best, self._own,
            )  # fmt: skip
            first, end = self._vertices[color], self._vertices[color + 1]
            device.launch(
                _SOURCE, "take_labels", blocks_for(int(end - first)), THREADS, self._members, first,
                end, label, self._best, self._own, changed,
            )  # fmt: skip
        return bool(device.read_words(changed)[0])
