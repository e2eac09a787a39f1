"""Hubs: the vertices that most entries name, whose values fit into shared memory.

Where there are some, rows have an order of their own: hubs, then warm vertices, then all others
that are there. Kernels: ``hubs.cu``; the order: ``hubs.cuh``. The device chooses. The host learns
the number of hubs (`Hubs.wait`) before it launches the kernel that uses them, or the one that does
not.
"""

from typing import Final

import numpy as np

from .....rows import Rows
from ....device.declarations import constant, structure
from ....device.device import Device
from ....device.packed_arguments import address, pack
from ....device.pending_read import PendingReport
from ....device.stream_words import words_of_stream
from ....grid import blocks_for
from ....memory.scratch import DeviceScratch

_SOURCE: Final = "hubs.cu"

_CHOOSE_THREADS: Final = constant(_SOURCE, "CHOOSE_THREADS")
_ORDER_THREADS: Final = constant(_SOURCE, "ORDER_THREADS")
_ORDERED: Final = constant(_SOURCE, "ORDERED")
_GROUP_VERTICES: Final = 32
CHOICE_DTYPE: Final = structure(_SOURCE, "HubChoice")
GROUP_DTYPE: Final = structure(_SOURCE, "RowGroup")

#: Slots at most: 192 KiB. What shared memory does not take of a multiprocessor is cache.
_MOST_SLOTS: Final = 24 << 10
#: Bytes of a block's shared memory that are left to other uses.
OTHER_BYTES: Final = 2048
#: Bytes of the values of warm vertices: much less than what the L2 cache holds, as entries stream
#: through it. At most 8 << `WARM_BITS`, less the hubs'.
_WARM_BYTES: Final = 6 << 20
#: Blocks a multiprocessor that count degrees.
_CHOOSE_BLOCKS: Final = 2
#: Most entries for each that names a hub; with more, no vertex counts as a hub.
LEAST_SHARE: Final = 4
#: Vertices whose rows have numbers.
_MOST_VERTICES: Final = 1 << constant(_SOURCE, "COLD_BITS")
#: `Hubs.arguments` where none are asked for.
NO_HUBS: Final = pack(0, 0, 0)


def hubs_bytes(vertices: int) -> int:
    """Bytes of scratch that `Hubs` of ``vertices`` vertices take."""
    groups = blocks_for(vertices, _GROUP_VERTICES)
    return CHOICE_DTYPE.itemsize + GROUP_DTYPE.itemsize * groups + 4 * vertices


class Hubs:
    """A graph's hubs, and the order of rows.

    Parameters
    ----------
    scratch
        Has room for `hubs_bytes`.
    out
        Out-neighbors of all vertices: entries name each as often as it has some.
    """

    def __init__(self, device: Device, scratch: DeviceScratch, out: Rows) -> None:
        self._device, self._out = device, out
        #: Address of a `CHOICE_DTYPE`.
        self.choice = scratch.reserve(CHOICE_DTYPE.itemsize)
        device.fill_bytes(self.choice, CHOICE_DTYPE.itemsize, 0)
        #: Address of `GROUP_DTYPE` [groups]: rows of 32 vertices.
        self.groups = scratch.reserve(GROUP_DTYPE.itemsize * blocks_for(out.count, _GROUP_VERTICES))
        #: Address of uint32[vertices]: vertex of each row.
        self.order = scratch.reserve(4 * out.count)
        #: Hubs that there is room for; each takes 8 bytes of shared memory.
        self.slots = min(_MOST_SLOTS, (device.shared_bytes - OTHER_BYTES) // 8)
        if out.count > _MOST_VERTICES:
            self.slots = 0
        #: ``Hubs`` of ``hubs.cuh``.
        self.arguments = pack(self.choice, self.groups, self.order)

    def choose(self, entries: int) -> None:
        """Choose them, of a graph with so many entries."""
        device, out = self._device, self._out
        report = device.page_locked(1, np.int64)
        device.launch_packed(
            _SOURCE, "choose_hubs",
            min(_CHOOSE_BLOCKS * device.multiprocessors, blocks_for(out.count, _CHOOSE_THREADS)),
            _CHOOSE_THREADS,
            pack(
                address(out.degree), out.count, out.num_vertices, self.slots, _WARM_BYTES // 8,
                -(-entries // LEAST_SHARE), self.choice, report.ctypes.data,
                words_of_stream(device).ticket,
            ),
        )  # fmt: skip
        self._report = PendingReport(device, report)
        device.launch_packed(
            _SOURCE, "order_rows", blocks_for(out.count, _ORDERED), _ORDER_THREADS,
            pack(address(out.degree), address(out.present), out.count) + self.arguments,
        )  # fmt: skip

    def wait(self) -> int:
        """Return how many there are, once that is known."""
        return int(self._report.wait()[0])
