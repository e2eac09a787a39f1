"""Raw edges sorted by (source, destination, position), as packed keys, by radix sort.

Keys hold what is asked for: ids relative to the smallest one, whether a row inserts (where some
delete), and its position (where properties are kept). An edge that does not fit into 64 bits is
sorted by destination first, and then by source.

Part of `raw_edges.py`, where rows are not partitioned into buckets (`edge_buckets.py`). Kernels:
``raw_edges.cu``.
"""

from typing import Final, NamedTuple

import numpy as np

from ..device.device import Array, Device
from ..device.launch_list import Launches
from ..device.packed_arguments import DeviceList, Piece, address, as_array, packer
from ..device.sorting.sorting import RadixSort, sort_bytes
from ..device.stream_words import words_of_stream
from ..memory.scratch import Scratch
from ..structs import SORT_THREADS

_TILE_THREADS = 256
KEY_BITS: Final = 64
#: Type of ids of 32 bits.
NARROW: Final = np.dtype(np.uint32)
_BLOCKS_A_MULTIPROCESSOR = 4
_PACKING = packer(
    "op", "order", "rows", "src_low", "src_span", "dst_low", "dst_span", "dst_bits", "tail_bits",
    "folds", "keys", "tails", "portion", "zeros", "cleared", "row_zeros", "faults", "src", "dst",
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
    op: Array | DeviceList | None
    #: uint32 or int64, both the same; None where the key does not hold it.
    src: Array | DeviceList | None
    dst: Array | DeviceList | None
    number: int
    bounds: Bounds
    #: Whether edges are folded to ``src <= dst``.
    folds: bool
    #: Whether keys are to hold the positions of rows.
    with_positions: bool


class Zeros(NamedTuple):
    """uint32 that become 0 before all that comes after the sort."""

    some: Piece
    #: One a row, or none.
    of_rows: Piece | None


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
    """Compute the bounds of ids on the device, and wait for the result."""
    most = _BLOCKS_A_MULTIPROCESSOR * device.multiprocessors
    blocks = min(-(-src.size // _TILE_THREADS), most)
    found = device.empty(4 * (1 + blocks), np.int64)
    kernel = "bounds_of_narrow_ids" if src.dtype == NARROW else "bounds_of_ids"
    columns = address(src), address(dst), src.size
    arguments = _BOUNDS(
        *columns, address(found[4:]), address(found), words_of_stream(device).ticket
    )
    device.launch_packed("raw_edges.cu", kernel, blocks, _TILE_THREADS, arguments)
    return Bounds(*device.read_words(found[:4]).tolist())


def folded(bounds: Bounds) -> Bounds:
    """Bounds of edges that are folded to ``src <= dst``."""
    low, high = min(bounds.src_low, bounds.dst_low), max(bounds.src_high, bounds.dst_high)
    return Bounds(low, high, low, high)


def bits_of(rows: EdgeRows) -> tuple[int, int, int]:
    """Bits of a source and of a destination, relative to the smallest ones, and of a key's tail."""
    bounds = rows.bounds
    src_span, dst_span = bounds.src_high - bounds.src_low, bounds.dst_high - bounds.dst_low
    # Whether the row inserts, and its position.
    tail_bits = int(rows.op is not None)
    if rows.with_positions:
        tail_bits = 1 + max(1, (rows.number - 1).bit_length())
    return max(1, src_span.bit_length()), max(1, dst_span.bit_length()), tail_bits


def order_bytes(device: Device, rows: EdgeRows) -> int:
    """Bytes of scratch that `sorted_by_edge` takes at most."""
    src_bits, dst_bits, _ = bits_of(rows)
    sorts = 2 if src_bits + dst_bits > KEY_BITS else 1
    return sorts * sort_bytes(device, rows.number, with_values=True)


def sorted_by_edge(
    device: Device, launches: Launches, rows: EdgeRows, zeros: Zeros, scratch: Scratch
) -> SortedRows:
    """Sort the rows by edge; rows of one edge stay in order."""
    count, bounds = rows.number, rows.bounds
    src_bits, dst_bits, tail_bits = bits_of(rows)
    edge_bits = src_bits + dst_bits
    lows, all_inserts = (bounds.src_low, bounds.dst_low), rows.op is None
    if edge_bits > KEY_BITS:
        src, dst = as_array(rows.src), as_array(rows.dst)
        if rows.folds:
            src, dst = device.xp.minimum(src, dst), device.xp.maximum(src, dst)
        # Narrow ids come here where the bounds that were given are wide.
        dst = device.xp.asarray(dst, np.int64)
        launches.hold(src, dst)
        by_dst = RadixSort(device, scratch, count, 0, dst_bits, with_values=True, launches=launches)
        rows = rows._replace(src=None, dst=dst, folds=False)
        _pack(launches, rows, zeros, by_dst, None, 0, 0)
        _, order = by_dst.run(counted=True)
        by_src = RadixSort(device, scratch, count, 0, src_bits, with_values=True, launches=launches)
        _pack(launches, rows._replace(src=src, dst=None), zeros, by_src, order, 0, 0)
        keys, tails = by_src.run(counted=True)
        return SortedRows(keys, tails, dst, *lows, 0, 0, all_inserts)
    beside = edge_bits + tail_bits > KEY_BITS
    tail_bits = 0 if beside else tail_bits
    top = tail_bits + edge_bits
    sort = RadixSort(device, scratch, count, tail_bits, top, with_values=beside, launches=launches)
    _pack(launches, rows, zeros, sort, None, dst_bits, tail_bits)
    keys, tails = sort.run(counted=True)
    return SortedRows(keys, tails, None, *lows, dst_bits, tail_bits, all_inserts)


def _pack(
    launches: Launches,
    rows: EdgeRows,
    zeros: Zeros,
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
        address(sort.values), sort.grid.portion, *zeros.some, address(zeros.of_rows),
        launches.words.faults, address(rows.src), address(rows.dst),
    )  # fmt: skip
    # Of no rows it clears what is to be 0.
    blocks = max(sort.grid.blocks, 1)
    launches.launch_packed("raw_edges.cu", kernel, blocks, SORT_THREADS, arguments + sort.counting)


def _of_64_bits(number: int) -> int:
    """A number below 2^64 as the int64 of the same bits."""
    return number - (number >> 63 << 64)
