"""Hubs on the device: vertices that so many entries name that shared memory holds what they give.

Kernels: ``kernels/hubs.cu``; what a hub and a slot is: ``kernels/hubs.cuh``. The device decides who
is one. The host need not know before it launches the kernel that uses them, or one that does not.
"""

from typing import TYPE_CHECKING, Final

import numpy as np

from .compact_rows import THREADS, blocks_for, ticket_of
from .device import Array
from .packed_arguments import address, pack
from .pending_read import PendingReport

if TYPE_CHECKING:
    from .engine import CudaEngine
    from .scratch import DeviceScratch

_SOURCE: Final = "hubs.cu"

#: Twins of constants of ``hubs.cu`` and ``hubs.cuh``.
_CHOOSE_THREADS: Final = 512
_DEGREE_CLASSES: Final = 400
_GROUP_VERTICES: Final = 32

#: Twin of ``HubChoice`` in ``hubs.cuh``.
CHOICE_DTYPE: Final = np.dtype(
    [
        ("classes", np.uint32, _DEGREE_CLASSES),
        ("count", np.uint32),
        ("least_degree", np.uint32),
        ("listed", np.uint32),
    ]
)

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
    engine
        Whose vertices they are.
    scratch
        Has room for `hubs_bytes`.
    degrees
        uint32[vertex_count] on the device: how often entries name each vertex. None: as often as
        they have neighbours.
    """

    def __init__(
        self, engine: "CudaEngine", scratch: "DeviceScratch", degrees: Array | None
    ) -> None:
        self._engine, self._degrees = engine, degrees
        #: Address of a `CHOICE_DTYPE`, to be all 0 when they are chosen.
        self.choice = scratch.place(CHOICE_DTYPE.itemsize)
        #: Address of uint64[groups]: bits of the hubs of 32 vertices, and the slot of the first.
        self.groups = scratch.place(8 * blocks_for(engine.vertex_count, _GROUP_VERTICES))
        #: Slots that there are; each takes 8 bytes of shared memory.
        self.slots = min(_MOST_SLOTS, (engine.device.shared_bytes - OTHER_BYTES) // 8)
        self.slots = min(self.slots, engine.vertex_count)
        if engine.vertex_count > _MOST_VERTICES:
            self.slots = 0
        #: Addresses of float64[slots].
        self.values = scratch.place(8 * self.slots), scratch.place(8 * self.slots)
        #: ``Hubs`` of ``hubs.cuh``.
        self.arguments = pack(self.choice, self.groups)

    def choose(self, lengths: int, entries: int) -> None:
        """Choose them for rows of these lengths (address of uint32[rows]), all entries together."""
        device, count = self._engine.device, self._engine.vertex_count
        degrees = address(self._degrees) or lengths
        report = device.page_locked(1, np.int64)
        device.launch_packed(
            _SOURCE, "choose_hubs",
            min(_CHOOSE_BLOCKS * device.multiprocessors, blocks_for(count, _CHOOSE_THREADS)),
            _CHOOSE_THREADS,
            pack(
                degrees, count, self.slots, -(-entries // LEAST_SHARE), self.choice,
                report.ctypes.data, address(ticket_of(self._engine)),
            ),
        )  # fmt: skip
        self._report = PendingReport(device, report)
        device.launch_packed(
            _SOURCE, "list_hubs", blocks_for(count), THREADS, pack(degrees, count) + self.arguments
        )

    def wait(self) -> int:
        """Return how many there are, once that is known."""
        return int(self._report.wait()[0])
