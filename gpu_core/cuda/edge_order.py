"""Rows of raw edges in the order of (source, destination, position): packed, and sorted by radix.

Keys hold what is asked for: ids relative to the smallest one, whether a row inserts (where some
delete), and its position (where properties are kept). An edge that does not fit into 64 bits is
sorted by destination first, and then by source.

Where ids are spread over their range, rows are dealt into buckets (`sorting.py`): fewer launches.

Part of `raw_edges.py`. Kernels: ``kernels/raw_edges.cu``.
"""

from typing import NamedTuple

import numpy as np

from .device import Array, Device
from .packed_arguments import Piece, address, packer
from .sorting import (
    BLOCK_KEYS,
    BUCKET_KEYS,
    DIGIT_BITS,
    SORT_THREADS,
    RadixSort,
    Scratch,
    sort_bytes,
    ticket_of,
)

_TILE_THREADS = 256
_KEY_BITS = 64
#: Share of a bucket's room that keys may fill on the mean: buckets of keys drawn alike differ.
_FILLED = 0.85
#: Bits of edges from which buckets save passes.
_BUCKET_BITS = 2 * DIGIT_BITS + 1
_BLOCKS_A_MULTIPROCESSOR = 4
_PACKING = packer(
    "op", "order", "rows", "src_low", "src_span", "dst_low", "dst_span", "dst_bits", "tail_bits",
    "folds", "keys", "tails", "portion", "counts", "src", "dst",
)  # fmt: skip
_SORTED = packer(
    "keys", "tails", "wide_dst", "count", "src_low", "dst_low", "dst_bits", "tail_bits",
    "all_inserts",
)  # fmt: skip
_BOUNDS = packer("src", "dst", "count", "partial", "bounds", "ticket")


class Bounds(NamedTuple):
    """Smallest and largest source, smallest and largest destination."""

    src_low: int
    src_high: int
    dst_low: int
    dst_high: int


class EdgeRows(NamedTuple):
    """Columns of raw edges, on the device, and how they are read."""

    #: int8, or None where all rows insert.
    op: Array | None
    #: uint32 or int64, both the same; None where the key does not hold it.
    src: Array | None
    dst: Array | None
    number: int
    bounds: Bounds
    #: Whether edges are folded to ``src <= dst``.
    folds: bool
    #: ``Counts`` of the kernels, which say what is wrong with the rows.
    counts: Array
    #: Address of their ``faults``.
    faults: int
    #: Whether to deal the rows into buckets, as far as is known. Where a bucket is overfull the
    #: faults say so, and the order is none.
    in_buckets: bool


class SortedRows(NamedTuple):
    """Rows in order of (src, dst, position); ``Sorted`` of the kernels."""

    #: uint64
    keys: Array | Piece
    #: uint32: what of the tails does not fit into the keys, or None.
    tails: Array | Piece | None
    #: int64: destinations by row, where keys hold the source alone.
    wide_dst: Array | None
    src_low: int
    dst_low: int
    dst_bits: int
    tail_bits: int
    all_inserts: bool

    @property
    def argument(self) -> bytes:
        """As kernels take them, packed."""
        lists = address(self.keys), address(self.tails), address(self.wide_dst)
        return _SORTED(*lists, self.keys.size, *self[3:])


def bounds_of_ids(device: Device, src: Array, dst: Array) -> Bounds:
    """Ask the device for the bounds of ids that are there, and wait for the answer."""
    most = _BLOCKS_A_MULTIPROCESSOR * device.multiprocessors
    blocks = min(-(-src.size // _TILE_THREADS), most)
    found = device.empty(4 * (1 + blocks), np.int64)
    kernel = "bounds_of_narrow_ids" if src.dtype == np.uint32 else "bounds_of_ids"
    columns = address(src), address(dst), src.size
    arguments = _BOUNDS(*columns, address(found[4:]), address(found), address(ticket_of(device)))
    device.launch_packed("raw_edges.cu", kernel, blocks, _TILE_THREADS, arguments)
    return Bounds(*device.read_words(found[:4]).tolist())


def folded(bounds: Bounds) -> Bounds:
    """Bounds of edges that are folded to ``src <= dst``."""
    low, high = min(bounds.src_low, bounds.dst_low), max(bounds.src_high, bounds.dst_high)
    return Bounds(low, high, low, high)


def order_bytes(device: Device, rows: EdgeRows) -> int:
    """Bytes of scratch that `sorted_by_edge` takes at most."""
    sorts = 2 if sum(_bits_of(rows.bounds)) > _KEY_BITS else 1
    return sorts * sort_bytes(device, rows.number, with_values=True)


def _bits_of(bounds: Bounds) -> tuple[int, int]:
    """Bits of a source and of a destination, relative to the smallest ones."""
    src_span, dst_span = bounds.src_high - bounds.src_low, bounds.dst_high - bounds.dst_low
    return max(1, src_span.bit_length()), max(1, dst_span.bit_length())


def sorted_by_edge(
    device: Device, rows: EdgeRows, scratch: Scratch, *, with_positions: bool
) -> SortedRows:
    """Sort the rows by edge; rows of one edge stay in order."""
    count, bounds = rows.number, rows.bounds
    src_bits, dst_bits = _bits_of(bounds)
    edge_bits = src_bits + dst_bits
    tail_bits = 0 if rows.op is None else 1
    if with_positions:
        tail_bits = max(1, (count - 1).bit_length()) + 1
    lows, all_inserts = (bounds.src_low, bounds.dst_low), rows.op is None
    if edge_bits > _KEY_BITS:
        if rows.folds:
            src, dst = device.xp.minimum(rows.src, rows.dst), device.xp.maximum(rows.src, rows.dst)
            rows = rows._replace(src=src, dst=dst, folds=False)
        # Narrow ids come here where the bounds that were given are wide.
        rows = rows._replace(dst=device.xp.asarray(rows.dst, np.int64))
        by_dst = RadixSort(device, scratch, count, 0, dst_bits, with_values=True)
        _pack(device, rows._replace(src=None), by_dst, None, 0, 0)
        _, order = by_dst.run(counted=True)
        by_src = RadixSort(device, scratch, count, 0, src_bits, with_values=True)
        _pack(device, rows._replace(dst=None), by_src, order, 0, 0)
        keys, tails = by_src.run(counted=True)
        return SortedRows(keys, tails, rows.dst, *lows, 0, 0, all_inserts)
    beside = edge_bits + tail_bits > _KEY_BITS
    tail_bits = 0 if beside else tail_bits
    sort = RadixSort(
        device, scratch, count, tail_bits, tail_bits + edge_bits, with_values=beside,
        in_buckets=rows.in_buckets and not beside and _fit_buckets(rows, edge_bits, dst_bits),
    )  # fmt: skip
    _pack(device, rows, sort, None, dst_bits, tail_bits)
    keys, tails = sort.run(counted=True, faults=rows.faults)
    return SortedRows(keys, tails, None, *lows, dst_bits, tail_bits, all_inserts)


def _fit_buckets(rows: EdgeRows, edge_bits: int, dst_bits: int) -> bool:
    """Whether buckets by the uppermost digit have room for rows whose ids are spread evenly."""
    if edge_bits < _BUCKET_BITS or rows.number <= BLOCK_KEYS:
        return False
    bounds = rows.bounds
    highest = (bounds.src_high - bounds.src_low) << dst_bits | (bounds.dst_high - bounds.dst_low)
    buckets = (highest >> edge_bits - DIGIT_BITS) + 1
    # The smaller one of two ends is twice as often among the lowest ids as one end by itself.
    most = rows.number / buckets * (2 if rows.folds else 1)
    return most <= _FILLED * BUCKET_KEYS


def _pack(
    device: Device,
    rows: EdgeRows,
    sort: RadixSort,
    order: Array | Piece | None,
    dst_bits: int,
    tail_bits: int,
) -> None:
    ids: Array = rows.dst if rows.src is None else rows.src
    kernel = "pack_narrow_edges" if ids.dtype == np.uint32 else "pack_edges"
    bounds = rows.bounds
    src_span = _of_64_bits(bounds.src_high - bounds.src_low)
    dst_span = _of_64_bits(bounds.dst_high - bounds.dst_low)
    arguments = _PACKING(
        address(rows.op), address(order), rows.number, bounds.src_low, src_span, bounds.dst_low,
        dst_span, dst_bits, tail_bits, rows.folds, address(sort.keys),
        address(sort.values), sort.grid.portion, address(rows.counts), address(rows.src),
        address(rows.dst),
    )  # fmt: skip
    device.launch_packed(
        "raw_edges.cu", kernel, sort.grid.blocks, SORT_THREADS, arguments + sort.counting
    )


def _of_64_bits(number: int) -> int:
    """A number below 2^64 as the int64 of the same bits."""
    return number - (number >> 63 << 64)
