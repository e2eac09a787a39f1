"""Rows of raw edges in the order of (source, destination, position): packed, and sorted by radix.

Keys hold what is asked for: ids relative to the smallest one, whether a row inserts (where some
delete), and its position (where properties are kept). An edge that does not fit into 64 bits is
sorted by destination first, and then by source.

Part of `raw_edges.py`. Kernels: ``kernels/raw_edges.cu``.
"""

from typing import Any, NamedTuple

import numpy as np

from .device import Array, Device
from .packed_arguments import address, packer
from .sorting import SORT_THREADS, Plain, RadixSort, ticket_of

_TILE_THREADS = 256
_KEY_BITS = 64
_BLOCKS_A_MULTIPROCESSOR = 4
_EDGES = packer(
    "op", "src", "dst", "order", "count", "src_low", "dst_low", "dst_bits", "tail_bits", "keys",
    "tails", "portion",
)  # fmt: skip


class EdgeRows(NamedTuple):
    """Columns of raw edges, on the device; a column is None where it is not asked for."""

    #: int8, or None where all rows insert.
    op: Array | None
    #: int64
    src: Array
    dst: Array


class SortedRows(NamedTuple):
    """Rows in order of (src, dst, position); ``Sorted`` of the kernels."""

    #: uint64
    keys: Array
    #: uint32: what of the tails does not fit into the keys, or None.
    tails: Array | None
    #: int64: destinations by row, where keys hold the source alone.
    wide_dst: Array | None
    src_low: int
    dst_low: int
    dst_bits: int
    tail_bits: int
    all_inserts: bool

    @property
    def arguments(self) -> tuple[Any, ...]:
        """As kernels take them."""
        return (
            self.keys, self.tails, self.wide_dst, np.int64(self.keys.size),
            np.int64(self.src_low), np.int64(self.dst_low), np.uint32(self.dst_bits),
            np.uint32(self.tail_bits), np.uint32(self.all_inserts),
        )  # fmt: skip


def bounds_of_ids(device: Device, rows: EdgeRows) -> Any:
    """int64[4] on the host: smallest and largest source, smallest and largest destination."""
    most = _BLOCKS_A_MULTIPROCESSOR * device.multiprocessors
    blocks = min(-(-rows.src.size // _TILE_THREADS), most)
    bounds = device.empty(4, np.int64)
    device.launch(
        "raw_edges.cu", "bounds_of_ids", blocks, _TILE_THREADS, rows.src, rows.dst,
        np.int64(rows.src.size), device.empty(4 * blocks, np.int64), bounds,
        ticket_of(device),
    )  # fmt: skip
    return device.read_words(bounds)


def sorted_by_edge(
    device: Device, rows: EdgeRows, bounds: Any, *, with_positions: bool
) -> SortedRows:
    """Sort the rows by edge; rows of one edge stay in order."""
    src_low, src_high, dst_low, dst_high = (int(bound) for bound in bounds)
    count = rows.src.size
    src_bits = max(1, (src_high - src_low).bit_length())
    dst_bits = max(1, (dst_high - dst_low).bit_length())
    edge_bits = src_bits + dst_bits
    tail_bits = 0 if rows.op is None else 1
    if with_positions:
        tail_bits = max(1, (count - 1).bit_length()) + 1
    all_inserts = rows.op is None
    if edge_bits > _KEY_BITS:
        by_dst = RadixSort(device, Plain(device), count, 0, dst_bits, with_values=True)
        _pack(device, rows._replace(src=None), by_dst, None, bounds, 0, 0)
        _, order = by_dst.run(counted=True)
        by_src = RadixSort(device, Plain(device), count, 0, src_bits, with_values=True)
        _pack(device, rows._replace(dst=None), by_src, order, bounds, 0, 0)
        keys, tails = by_src.run(counted=True)
        return SortedRows(keys, tails, rows.dst, src_low, dst_low, 0, 0, all_inserts)
    beside = edge_bits + tail_bits > _KEY_BITS
    tail_bits = 0 if beside else tail_bits
    sort = RadixSort(
        device, Plain(device), count, tail_bits, tail_bits + edge_bits, with_values=beside
    )
    _pack(device, rows, sort, None, bounds, dst_bits, tail_bits)
    keys, tails = sort.run(counted=True)
    return SortedRows(keys, tails, None, src_low, dst_low, dst_bits, tail_bits, all_inserts)


def _pack(
    device: Device,
    rows: EdgeRows,
    sort: RadixSort,
    order: Array | None,
    bounds: Any,
    dst_bits: int,
    tail_bits: int,
) -> None:
    columns = (address(column) for column in (rows.op, rows.src, rows.dst, order))
    numbers = sort.count, int(bounds[0]), int(bounds[2]), dst_bits, tail_bits
    target = address(sort.keys), address(sort.values), sort.grid.portion
    device.launch_packed(
        "raw_edges.cu", "pack_edges", sort.grid.blocks, SORT_THREADS,
        _EDGES(*columns, *numbers, *target) + sort.counting,
    )  # fmt: skip
