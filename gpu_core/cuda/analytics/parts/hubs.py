"""Hubs: the vertices that most entries name, whose values fit into shared memory.

Kernels: ``hubs.cu``; slots: ``hubs.cuh``. The device chooses the hubs. The host learns their number
(`Hubs.wait`) before it launches the kernel that uses them, or the one that does not.
"""

from typing import Final

import numpy as np

from ...device.declarations import constant, structure
from ...device.device import Array, Device
from ...device.packed_arguments import address, pack
from ...device.pending_read import PendingReport
from ...device.stream_words import ticket_of
from ...memory.scratch import DeviceScratch
from .compact_rows import THREADS, blocks_for

_SOURCE: Final = "hubs.cu"

_CHOOSE_THREADS: Final = constant(_SOURCE, "CHOOSE_THREADS")
_GROUP_VERTICES: Final = 32
CHOICE_DTYPE: Final = structure(_SOURCE, "HubChoice")

#: Slots at most: 192 KiB. What shared memory does not take of a multiprocessor is cache.
_MOST_SLOTS: Final = 24 << 10
#: Bytes of a block's shared memory that are left to other uses.
OTHER_BYTES: Final = 2048
#: Blocks a multiprocessor that count degrees.
_CHOOSE_BLOCKS: Final = 2
#: One of so many entries must name a hub, or there are none.
LEAST_SHARE: Final = 4
#: A vertex beyond could not be told from a slot.
_MOST_VERTICES: Final = 1 << 31


def hubs_bytes(rows: int) -> int:
    """Bytes of scratch that `Hubs` of so many vertices take."""
    slots = min(_MOST_SLOTS, rows)
    return CHOICE_DTYPE.itemsize + 8 * blocks_for(rows, _GROUP_VERTICES) + 16 * slots


class Hubs:
    """Slots of a graph's hubs, and float64 values of them twice: to read and to write.

    Parameters
    ----------
    count
        Number of vertices.
    scratch
        Has room for `hubs_bytes`.
    degrees
        uint32[vertex_count] on the device: how often entries name each vertex. None: as often as
        they have neighbors.
    """

    def __init__(
        self, device: Device, scratch: DeviceScratch, count: int, degrees: Array | None
    ) -> None:
        self._device, self._count, self._degrees = device, count, degrees
        #: Address of a `CHOICE_DTYPE`, to be all 0 when they are chosen.
        self.choice = scratch.reserve(CHOICE_DTYPE.itemsize)
        #: Address of uint64[groups]: bits of the hubs of 32 vertices, and the slot of the first.
        self.groups = scratch.reserve(8 * blocks_for(count, _GROUP_VERTICES))
        #: Slots that there are; each takes 8 bytes of shared memory.
        self.slots = min(_MOST_SLOTS, (device.shared_bytes - OTHER_BYTES) // 8)
        self.slots = min(self.slots, count)
        if count > _MOST_VERTICES:
            self.slots = 0
        #: Addresses of float64[slots].
        self.values = scratch.reserve(8 * self.slots), scratch.reserve(8 * self.slots)
        #: ``Hubs`` of ``hubs.cuh``.
        self.arguments = pack(self.choice, self.groups)

    def choose(self, lengths: int, entries: int) -> None:
        """Choose them for rows of these lengths (address of uint32[rows]), all entries together."""
        device, count = self._device, self._count
        degrees = address(self._degrees) or lengths
        report = device.page_locked(1, np.int64)
        device.launch_packed(
            _SOURCE, "choose_hubs",
            min(_CHOOSE_BLOCKS * device.multiprocessors, blocks_for(count, _CHOOSE_THREADS)),
            _CHOOSE_THREADS,
            pack(
                degrees, count, self.slots, -(-entries // LEAST_SHARE), self.choice,
                report.ctypes.data, address(ticket_of(device)),
            ),
        )  # fmt: skip
        self._report = PendingReport(device, report)
        device.launch_packed(
            _SOURCE, "list_hubs", blocks_for(count), THREADS, pack(degrees, count) + self.arguments
        )

    def wait(self) -> int:
        """Return how many there are, once that is known."""
        return int(self._report.wait()[0])
