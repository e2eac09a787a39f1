"""Rows of raw edges in the order of (source, destination, position): packed, and sorted by radix.

Keys hold what is asked for: ids relative to the smallest one, whether a row inserts (where some
delete), and its position (where properties are kept). An edge that does not fit into 64 bits is
sorted by destination first, and then by source.

Where ids are spread over their range, rows are dealt into buckets by their sources, and no more: a
block each sorts a bucket, and goes on with it (``kernels/edge_buckets.cu``).

Part of `raw_edges.py`. Kernels: ``kernels/raw_edges.cu``.
"""

from typing import Final, NamedTuple

import numpy as np

from .device import Array, Device
from .launch_list import Launches
from .packed_arguments import Piece, address, packer
from .sorting import (
    BLOCK_KEYS,
    DIGIT_BITS,
    SORT_THREADS,
    RadixSort,
    Scratch,
    sort_bytes,
)
from .stream_words import ticket_of

_TILE_THREADS = 256
_KEY_BITS = 64
#: Type of ids of 32 bits.
NARROW: Final = np.dtype(np.uint32)
#: Keys of the largest bucket that one block sorts.
BUCKET_KEYS: Final = 19 * SORT_THREADS
#: Keys of a bucket on the mean at most: buckets of keys that are drawn alike differ.
_MEAN_KEYS = 0.85 * BUCKET_KEYS
#: Bits of a source that keys are dealt by: one pass or two.
_LEAST_BITS, _MOST_BITS = DIGIT_BITS, 2 * DIGIT_BITS
_BLOCKS_A_MULTIPROCESSOR = 4
_PACKING = packer(
    "op", "order", "rows", "src_low", "src_span", "dst_low", "dst_span", "dst_bits", "tail_bits",
    "folds", "keys", "tails", "portion", "zeros", "cleared", "row_zeros", "faults", "src", "dst",
)  # fmt: skip
_SORTED = packer(
    "keys", "tails", "wide_dst", "count", "src_low", "dst_low", "dst_bits", "tail_bits",
    "all_inserts",
)  # fmt: skip
_DEALT = packer("shift", "mask")
_BOUNDS = packer("src", "dst", "count", "partial", "bounds", "ticket")


class Bounds(NamedTuple):
    """Smallest and largest source, smallest and largest destination."""

    src_low: int
    src_high: int
    dst_low: int
    dst_high: int


class Buckets(NamedTuple):
    """How rows are dealt: by so many of the uppermost bits of their sources."""

    bits: int
    #: How many there are, by the range of the sources.
    number: int


#: Rows are sorted instead.
NO_BUCKETS: Final = Buckets(0, 0)


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
    #: uint32 that become 0 before all that comes behind the sort: some, and one a row, or none.
    zeros: Piece
    row_zeros: Piece | None
    #: What to deal the rows into, if they are not to be sorted.
    buckets: Buckets
    with_positions: bool


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
    #: Where the rows are dealt into buckets, no more, ``Dealt`` of the kernels, packed.
    dealt: bytes

    @property
    def argument(self) -> bytes:
        """As kernels take them, packed."""
        lists = address(self.keys), address(self.tails), address(self.wide_dst)
        return _SORTED(*lists, self.keys.size, *self[3:-1])


def bounds_of_ids(device: Device, src: Array, dst: Array) -> Bounds:
    """Ask the device for the bounds of ids that are there, and wait for the answer."""
    most = _BLOCKS_A_MULTIPROCESSOR * device.multiprocessors
    blocks = min(-(-src.size // _TILE_THREADS), most)
    found = device.empty(4 * (1 + blocks), np.int64)
    kernel = "bounds_of_narrow_ids" if src.dtype == NARROW else "bounds_of_ids"
    columns = address(src), address(dst), src.size
    arguments = _BOUNDS(*columns, address(found[4:]), address(found), address(ticket_of(device)))
    device.launch_packed("raw_edges.cu", kernel, blocks, _TILE_THREADS, arguments)
    return Bounds(*device.read_words(found[:4]).tolist())


def folded(bounds: Bounds) -> Bounds:
    """Bounds of edges that are folded to ``src <= dst``."""
    low, high = min(bounds.src_low, bounds.dst_low), max(bounds.src_high, bounds.dst_high)
    return Bounds(low, high, low, high)


def order_bytes(device: Device, count: int, bounds: Bounds) -> int:
    """Bytes of scratch that `sorted_by_edge` takes at most."""
    sorts = 2 if sum(_bits_of(bounds)) > _KEY_BITS else 1
    return sorts * sort_bytes(device, count, with_values=True)


def _bits_of(bounds: Bounds) -> tuple[int, int]:
    """Bits of a source and of a destination, relative to the smallest ones."""
    src_span, dst_span = bounds.src_high - bounds.src_low, bounds.dst_high - bounds.dst_low
    return max(1, src_span.bit_length()), max(1, dst_span.bit_length())


def _tail_bits(count: int, *, has_op: bool, with_positions: bool) -> int:
    """Bits of a key below the edge's: whether the row inserts, and its position."""
    return max(1, (count - 1).bit_length()) + 1 if with_positions else int(has_op)


def buckets_for(
    count: int, bounds: Bounds, *, folds: bool, has_op: bool, with_positions: bool
) -> Buckets:
    """Buckets that have room for rows whose ids are spread evenly between bounds, if any do."""
    src_bits, dst_bits = _bits_of(bounds)
    tail_bits = _tail_bits(count, has_op=has_op, with_positions=with_positions)
    if count <= BLOCK_KEYS or src_bits + dst_bits + tail_bits > _KEY_BITS:
        return NO_BUCKETS
    span = bounds.src_high - bounds.src_low
    # The smaller one of two ends is twice as often among the lowest ids as one end by itself.
    least = count * (2 if folds else 1) / _MEAN_KEYS
    for bits in range(_LEAST_BITS, min(src_bits, _MOST_BITS) + 1):
        number = (span >> src_bits - bits) + 1
        if number >= least:
            return Buckets(bits, number)
    return NO_BUCKETS


def sorted_by_edge(
    device: Device, launches: Launches, rows: EdgeRows, scratch: Scratch
) -> SortedRows:
    """Sort the rows by edge, or deal them into buckets; rows of one edge stay in order."""
    count, bounds = rows.number, rows.bounds
    src_bits, dst_bits = _bits_of(bounds)
    edge_bits = src_bits + dst_bits
    has_op = rows.op is not None
    tail_bits = _tail_bits(count, has_op=has_op, with_positions=rows.with_positions)
    lows, all_inserts = (bounds.src_low, bounds.dst_low), not has_op
    if edge_bits > _KEY_BITS:
        if rows.folds:
            src, dst = device.xp.minimum(rows.src, rows.dst), device.xp.maximum(rows.src, rows.dst)
            rows = rows._replace(src=src, dst=dst, folds=False)
        # Narrow ids come here where the bounds that were given are wide.
        rows = rows._replace(dst=device.xp.asarray(rows.dst, np.int64))
        launches.hold(rows.src, rows.dst)
        by_dst = RadixSort(device, scratch, count, 0, dst_bits, with_values=True, launches=launches)
        _pack(launches, rows._replace(src=None), by_dst, None, 0, 0)
        _, order = by_dst.run(counted=True)
        by_src = RadixSort(device, scratch, count, 0, src_bits, with_values=True, launches=launches)
        _pack(launches, rows._replace(dst=None), by_src, order, 0, 0)
        keys, tails = by_src.run(counted=True)
        return SortedRows(keys, tails, rows.dst, *lows, 0, 0, all_inserts, b"")
    beside = edge_bits + tail_bits > _KEY_BITS
    tail_bits = 0 if beside else tail_bits
    top, dealt_bits = tail_bits + edge_bits, rows.buckets.bits
    low = top - dealt_bits if dealt_bits else tail_bits
    sort = RadixSort(device, scratch, count, low, top, with_values=beside, launches=launches)
    _pack(launches, rows, sort, None, dst_bits, tail_bits)
    keys, tails = sort.run(counted=True)
    dealt = _DEALT(low, (1 << dealt_bits) - 1) if dealt_bits else b""
    return SortedRows(keys, tails, None, *lows, dst_bits, tail_bits, all_inserts, dealt)


def _pack(
    launches: Launches,
    rows: EdgeRows,
    sort: RadixSort,
    order: Array | Piece | None,
    dst_bits: int,
    tail_bits: int,
) -> None:
    ids: Array = rows.dst if rows.src is None else rows.src
    kernel = "pack_narrow_edges" if ids.dtype == NARROW else "pack_edges"
    bounds = rows.bounds
    src_span = _of_64_bits(bounds.src_high - bounds.src_low)
    dst_span = _of_64_bits(bounds.dst_high - bounds.dst_low)
    arguments = _PACKING(
        address(rows.op), address(order), rows.number, bounds.src_low, src_span, bounds.dst_low,
        dst_span, dst_bits, tail_bits, rows.folds, address(sort.keys),
        address(sort.values), sort.grid.portion, *rows.zeros, address(rows.row_zeros),
        launches.words.faults, address(rows.src), address(rows.dst),
    )  # fmt: skip
    # Of no rows it clears what is to be 0.
    blocks = max(sort.grid.blocks, 1)
    launches.launch_packed("raw_edges.cu", kernel, blocks, SORT_THREADS, arguments + sort.counting)


def _of_64_bits(number: int) -> int:
    """A number below 2^64 as the int64 of the same bits."""
    return number - (number >> 63 << 64)
