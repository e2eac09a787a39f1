"""Level-synchronous searches on the device: queues of rows, and launches started ahead in groups.

Twin of ``frontier.cuh``. The device decides what a level is, whether it is a small one, and which
is the last. So the host starts launches without knowing how far the search is, in *groups*: one
that goes through all levels that are small (few blocks, which wait for one another at the end of
each), then some that go through one large level each. A launch that finds nothing to do ends at
once. After a few groups the host looks whether there is more to do; each time it starts twice as
many.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np

from ....rows import Rows
from ...device.declarations import constant
from ...device.device import Array, Device
from ...grid import THREADS, blocks_for

#: Entries of an item of a queue, and threads of a block of a launch for small levels.
PIECE_ENTRIES: Final = constant("frontier.cuh", "PIECE_ENTRIES")
SMALL_THREADS: Final = constant("frontier.cuh", "SMALL_THREADS")
_QUEUED_TOGETHER: Final = constant("frontier.cu", "QUEUED_TOGETHER")
#: Entries that each block of a launch for small levels takes of one.
SMALL_ENTRIES = 8192
#: Blocks a multiprocessor of a launch that walks a queue of entries.
_BLOCKS: Final = 4

#: Items of a queue for a block, of launches whose blocks do not stay for more.
_BLOCK_ITEMS: Final = 128

#: Name of a kernel, and its arguments.
Launch = tuple[Any, ...]


def queue_items(rows: Rows, vertices: int | None = None) -> int:
    """Items of a queue of the rows of ``vertices`` vertices, or of all, at most."""
    return (rows.count if vertices is None else vertices) + rows.num_entries // PIECE_ENTRIES


def blocks_of(device: Device) -> int:
    """Blocks of a launch that walks a queue of entries, however many there are."""
    return _BLOCKS * device.multiprocessors


def blocks_of_queue(device: Device, items: int) -> int:
    """Blocks of a launch that walks a queue of up to ``items`` items: with few of them each."""
    return max(blocks_of(device), blocks_for(items, _BLOCK_ITEMS))


def queue_frontier(
    device: Device, rows: Rows, tail: Array, queue: Array, vertices: Array | None = None
) -> None:
    """Queue the rows of some vertices, or of all.

    Parameters
    ----------
    tail
        uint64[1], 0: becomes the end of the queue.
    queue
        uint64[`queue_items`].
    vertices
        uint32[k], each once; None: all.
    """
    count = rows.count if vertices is None else int(vertices.size)
    device.launch(
        "frontier.cu", "queue_frontier", blocks_for(count, THREADS * _QUEUED_TOGETHER), THREADS,
        vertices, np.uint64(count), rows.degree, tail, queue,
    )  # fmt: skip


def small_level(device: Device) -> np.uint64:
    """Entries of a level up to which it is a small one."""
    return np.uint64(device.meeting_blocks * SMALL_ENTRIES)


class Groups(NamedTuple):
    """Number of launches that are started before the host reads the state."""

    #: Groups that are started at first, and at most.
    first: int
    most: int
    #: Launches for one large level in a group, and blocks a multiprocessor of each.
    large_levels: int = 4
    large_blocks: int = _BLOCKS
    #: Threads of a block of the launch for small levels.
    small_threads: int = SMALL_THREADS

    def start(
        self,
        device: Device,
        source: str,
        small: Launch,
        large: Launch,
        state: Array,
        more: int,
        *,
        defines: Mapping[str, int] = MappingProxyType({}),
    ) -> Array:
        """Start groups of launches until there is nothing left to do; waits for the device.

        Parameters
        ----------
        source
            File of the kernels.
        small, large
            The launch for small levels, and that for a large one.
        state
            uint64, on the device: what they keep.
        more
            Which word of it is 0 once there is nothing left to do.
        defines
            As of `Device.launch`.

        Returns
        -------
        uint64
            The state at the end, in host memory.
        """
        few, many = device.meeting_blocks, self.large_blocks * device.multiprocessors
        small_one, large_one = (
            device.prepared(source, *each, defines=defines) for each in (small, large)
        )
        groups = self.first
        while True:
            for _ in range(groups):
                device.start_prepared(small_one, few, self.small_threads)
                for _ in range(self.large_levels):
                    device.start_prepared(large_one, many, THREADS)
            words = device.read_words(state)
            if not words[more]:
                return words
            groups = min(2 * groups, self.most)
