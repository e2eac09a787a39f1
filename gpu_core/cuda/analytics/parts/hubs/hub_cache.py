"""A cache in shared memory of the values that entries name most often; rows stay where they are.

Kernels: ``hub_cache.cu``; how a vertex is found in it: ``hub_cache.cuh``. Where rows are copied,
entries name slots instead (`hubs.py`), and more hubs have one.
"""

from typing import Final, NamedTuple

import numpy as np

from ....device.declarations import constant
from ....device.device import Array, Device
from ....device.packed_arguments import address, pack
from ....grid import blocks_for
from ....memory.scratch import DeviceScratch
from ..compact_rows import bytes_of
from .hubs import OTHER_BYTES

_SOURCE: Final = "hub_cache.cu"

_CHOOSE_THREADS: Final = constant(_SOURCE, "CHOOSE_THREADS")
#: Bytes of shared memory of a slot, and bits of the tag that identifies its vertex.
_SLOT_BYTES: Final = 10
_TAG_BITS: Final = 16
#: Binary logarithm of the slots at most: 160 KiB. What they do not take of a multiprocessor is
#: cache.
MOST_BITS = 14

#: Arguments of kernels without a cache.
NO_CACHE: Final = pack(0, 0, 0)


class HubCache(NamedTuple):
    """The vertices of all slots, and their values in device memory."""

    #: ``HubCache`` of ``hub_cache.cuh``.
    arguments: bytes
    #: Shared memory of a block that has it.
    shared_bytes: int


def fits_cache(device: Device, count: int) -> bool:
    """Whether tags distinguish ``count`` vertices."""
    return count <= 1 << (_TAG_BITS + _bits(device))


def hub_cache_bytes(device: Device) -> int:
    """Bytes of scratch that `hub_cache` takes."""
    return bytes_of((1 << _bits(device), np.uint32), (1 << _bits(device), np.float64))


def hub_cache(device: Device, scratch: DeviceScratch, degrees: Array) -> HubCache:
    """Choose the vertices of a cache that is not filled yet.

    ``degrees``: uint32[vertex_count] on the device, how often entries name each vertex.
    """
    bits = _bits(device)
    slots = 1 << bits
    hubs, values = scratch.reserve(4 * slots), scratch.reserve(8 * slots)
    choose_hubs(device, degrees, bits, hubs)
    return HubCache(pack(hubs, values, bits), _SLOT_BYTES * slots)


def choose_hubs(device: Device, degrees: Array, bits: int, hubs: int) -> None:
    """Write uint32[2^bits] to address ``hubs``: for each slot its vertex of largest degree.

    Vertices whose last ``bits`` bits are its number may have a slot; 0 where there are none.
    """
    slots = 1 << bits
    device.launch_packed(
        _SOURCE, "choose_hubs_of_slots", blocks_for(slots, _CHOOSE_THREADS), _CHOOSE_THREADS,
        pack(address(degrees), int(degrees.size), bits, hubs),
    )  # fmt: skip


def _bits(device: Device) -> int:
    most = (device.shared_bytes - OTHER_BYTES) // _SLOT_BYTES
    return min(MOST_BITS, most.bit_length() - 1)
