"""Changed edges of hubs in CUDA, whose rows are looked for in shared memory (``hub_pairs.cu``).

In a skewed graph most look-ups are in the rows of few vertices, each of which has many changed
edges in a batch. Their pairs are put together by a sort; all others are left to binary search.
Worth its launches where there is much to look up.
"""

from typing import Final, NamedTuple

import numpy as np

from ....rows import Rows
from ...device.declarations import constant
from ...device.device import Array, Device
from ...device.packed_arguments import address, pack
from ...device.sorting.sorting import RadixSort
from ...grid import THREADS, blocks_for
from ...memory.scratch import PoolScratch
from ..parts.compact_rows import measure_rows, zeros
from ..parts.hubs.hub_cache import choose_hubs
from ..parts.pairs import Pairs
from ..parts.row_arguments import fields

_SOURCE: Final = "hub_pairs.cu"

_HUB_THREADS: Final = constant(_SOURCE, "HUB_THREADS")
_HUB_BLOCKS: Final = constant(_SOURCE, "HUB_BLOCKS")
#: Binary logarithms of the buckets of the table of a row, and of the vertices whose triangles a
#: block counts in shared memory, at most: 80 KiB, so that two blocks fit a multiprocessor.
_BUCKET_BITS: Final = 12
_CORNER_BITS: Final = 11
_BUCKET_BYTES: Final = 4 * constant(_SOURCE, "TABLE_KEYS")
#: Look-ups in the row of a vertex from which a block makes a table of it.
LEAST_ENTRIES = 4096
#: Slots of the set of changed edges for each of them, at least.
_SLOTS_A_KEY: Final = 2
_LEAST_SLOT_BITS: Final = 6


class PairsByHub(NamedTuple):
    """Pairs in the order of their hubs, those without one after them."""

    #: uint32[k]: where each stands among the keys.
    numbers: Array
    #: int64[k + 1]: entries of the shorter rows before each.
    starts: Array
    #: uint64[1]: pairs of hubs.
    hub_pairs: Array
    #: uint64: ``KeySet`` of ``found_triangles.cuh``, and the binary logarithm of its slots.
    changed: Array
    changed_bits: int


def count_hub_pairs(
    device: Device, rows: Rows, pairs: Pairs, triangles: Array, sign: int
) -> PairsByHub:
    """Count the triangles of changed edges of hubs; returns all pairs, for those without one.

    Waits for nothing.

    Parameters
    ----------
    rows
        Of an undirected graph that has all of these edges.
    triangles
        uint64[vertex_count]: ``sign`` is added for each triangle, at its corners.
    """
    keys, count = pairs.keys, int(pairs.keys.size)
    number, blocks = np.int64(count), blocks_for(count)
    changed_bits = max((_SLOTS_A_KEY * count - 1).bit_length(), _LEAST_SLOT_BITS)
    memory = PoolScratch(device)
    changed = zeros(memory, 1 << changed_bits, np.uint64)
    entries, words = zeros(memory, rows.count, np.uint64), zeros(memory, 2, np.uint64)
    hub_pairs, taken = words[:1], words[1:]
    device.launch(
        _SOURCE, "weigh_hubs", blocks, THREADS, keys, number, rows.degree, entries, changed,
        np.int64(changed_bits),
    )  # fmt: skip
    bits = rows.count.bit_length()
    sort = RadixSort(device, memory, count, 32, 32 + bits, with_values=True)
    device.launch(
        _SOURCE, "order_pairs", blocks, THREADS, keys, number, rows.degree, entries,
        np.uint64(LEAST_ENTRIES), np.int64(bits), sort.keys, sort.values, hub_pairs,
    )  # fmt: skip
    sides, numbers = sort.run(counted=False)
    lengths = device.empty(count, np.uint32)
    groups = device.empty(2 * rows.count, np.uint32)
    device.launch(
        _SOURCE, "measure_ordered", blocks, THREADS, sides, number, hub_pairs, rows.degree, lengths,
        groups,
    )  # fmt: skip
    starts = measure_rows(device, memory, lengths)
    bucket_bits, corner_bits = _shared_bits(device)
    corners = device.empty(1 << corner_bits, np.uint32)
    choose_hubs(device, rows.degree, corner_bits, address(corners))
    addresses = (keys, sides, numbers, starts, hub_pairs, groups)
    device.launch_packed(
        _SOURCE, "count_common_of_hubs", _HUB_BLOCKS * device.multiprocessors, _HUB_THREADS,
        pack(
            *map(address, addresses), *fields(rows), address(changed), changed_bits, sign,
            address(triangles), address(taken), bucket_bits, address(corners), corner_bits,
        ),
        shared_bytes=_shared_bytes(bucket_bits, corner_bits),
    )  # fmt: skip
    assert numbers is not None
    return PairsByHub(numbers, starts, hub_pairs, changed, changed_bits)


def _shared_bits(device: Device) -> tuple[int, int]:
    """Binary logarithms as `_BUCKET_BITS` and `_CORNER_BITS`, for which the device has room."""
    most = device.dynamic_shared_bytes(_SOURCE, "count_common_of_hubs")
    bits = _BUCKET_BITS, _CORNER_BITS
    while _shared_bytes(*bits) > most:
        bits = bits[0] - 1, bits[1] - 1
    return bits


def _shared_bytes(bucket_bits: int, corner_bits: int) -> int:
    return (_BUCKET_BYTES << bucket_bits) + (8 << corner_bits)
