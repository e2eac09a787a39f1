"""Rows that pull supersteps read: in place, in an order of vertices, remapped, or both.

*In an order* of vertices by degree (``programs/vertex_order.py``) lanes of a warp read rows of
about one length, and rows of more than `SHORT_ROW` entries come last, a warp each. *Remapped*,
entries of the short rows of 32 lanes are copied column by column, so that a warp reads them side by
side; each slice of 32 rows has room for 32 times its longest short row, which is little more than
they have where rows are sorted. Long rows are read where they are, by whole warps.

Rows are the same, entry by entry; only `PulledRows.order` names vertices. All of it is scratch,
made once a run: kernels in ``pull_rows.cu``. PageRank's own copy (``parts/slices.py``) has no
padding, but lanes work out together where each entry is.

Source: Zhong et al., "Optimizing Graph Processing on GPUs", IEEE TPDS 28(4), 2017, sections 4.1 and
4.2. Slices of 32 rows with padding: SELL-C-sigma of Kreutzer et al., SIAM J. Sci. Comput. 2014.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from ....programs.run import SHORT_ROW, Task
from ....programs.vertex_order import LINEAR_BUCKETS, LOG2_BUCKETS
from ....rows import Rows
from ...device.device import Array, Device
from ...device.sorting.sorting import RadixSort, sort_bytes
from ...grid import THREADS, WARP, blocks_for
from ...memory.scratch import DeviceScratch
from ..parts.compact_rows import SCAN_ROWS, bytes_of, measure_rows, zeros
from ..parts.row_arguments import by_width, with_weights

_SOURCE: Final = "pull_rows.cu"
_SHORT_ROW: Final = np.uint32(SHORT_ROW)

#: Bit of a sort above the numbers of all buckets: that of long rows.
_LONG_BIT: Final = {
    "linear": (LINEAR_BUCKETS - 1).bit_length(),
    "log2": (LOG2_BUCKETS - 1).bit_length(),
}
#: Blocks a multiprocessor of a launch that looks at all degrees.
_BLOCKS: Final = 2

#: Takes so many bytes of scratch for the length of the run.
TakeScratch = Callable[[int], DeviceScratch]


class PulledRows(NamedTuple):
    """Rows as ``pull_messages`` reads them."""

    #: Rows by their number.
    rows: Rows
    #: Where those of up to `SHORT_ROW` entries are read.
    short: Rows
    #: uint32[rows]: vertex of each row; None: its number.
    order: Array | None
    #: Rows that are a thread's each; those after are long, and a warp's each.
    singles: int

    @property
    def threads(self) -> int:
        """Threads of a launch."""
        whole = WARP * blocks_for(self.singles, WARP)
        return whole + WARP * (self.rows.count - self.singles)

    def arguments(self, *, weighted: bool) -> tuple[Any, ...]:
        """Their arguments for ``pull_messages``."""
        read = (with_weights(rows, weighted=weighted) for rows in (self.rows, self.short))
        return *read, self.order, np.uint64(self.singles)


def pulled_rows(device: Device, take_scratch: TakeScratch, rows: Rows, task: Task) -> PulledRows:
    """Arrange rows as a task asks for; their memory must not change until the run ends."""
    weighted = task.weighted
    found = PulledRows(rows, rows, None, rows.count)
    if task.vertex_order != "none" and rows.count:
        found = _in_order(device, take_scratch, rows, task.vertex_order, weighted=weighted)
    if task.remap and rows.count:
        short = _remapped(device, take_scratch, found.rows, found.singles, weighted=weighted)
        found = found._replace(short=short)
    return found


def _in_order(
    device: Device, take_scratch: TakeScratch, rows: Rows, vertex_order: str, *, weighted: bool
) -> PulledRows:
    """Sort vertices by buckets, unless all degrees are the same."""
    count = rows.count
    need = sort_bytes(device, count) + bytes_of((2 * count + 3, np.uint32), (2 * count, np.int64))
    scratch = take_scratch(need)
    size = np.int64(count)
    measured = zeros(scratch, 3, np.uint32)
    blocks = min(blocks_for(count), _BLOCKS * device.multiprocessors)
    device.launch(
        _SOURCE, "measure_degrees", blocks, THREADS, rows.degree, size, _SHORT_ROW, measured
    )
    complement, most, longs = map(int, device.read_words(measured))
    least = ~complement & 0xFFFFFFFF
    if least == most:
        return PulledRows(rows, rows, None, count)
    long_bit = _LONG_BIT[vertex_order]
    sort = RadixSort(device, scratch, count, 32, 32 + long_bit + 1)
    buckets = LINEAR_BUCKETS if vertex_order == "linear" else 0
    device.launch(
        _SOURCE, "key_rows", blocks_for(count), THREADS, rows.degree, size, _SHORT_ROW,
        *map(np.uint32, (least, most, buckets, 1 << long_bit)), sort.keys,
    )  # fmt: skip
    keys, _ = sort.run(counted=False)
    order, degree = (scratch.take(count, np.uint32) for _ in range(2))
    begin = scratch.take(count, np.int64)
    weight_begin = scratch.take(count, np.int64) if weighted else None
    device.launch(
        _SOURCE, "take_in_order", blocks_for(count), THREADS, keys, size, rows.begin, rows.degree,
        rows.weight_begin if weighted else None, order, begin, degree, weight_begin,
    )  # fmt: skip
    taken = replace(rows, begin=begin, degree=degree, weight_begin=weight_begin, indptr=None)
    return PulledRows(taken, taken, order, count - longs)


def _remapped(
    device: Device, take_scratch: TakeScratch, rows: Rows, singles: int, *, weighted: bool
) -> Rows:
    """Copy of the short rows among the first ``singles``, laid out column by column."""
    slices, size = blocks_for(singles, WARP), np.int64(singles)
    need = bytes_of(
        (slices + 1 + blocks_for(slices, SCAN_ROWS) + singles, np.int64), (slices, np.uint32)
    )
    scratch = take_scratch(need)
    capacities = scratch.take(slices, np.uint32)
    device.launch(
        _SOURCE, "measure_slices", blocks_for(singles), THREADS, rows.degree, size, _SHORT_ROW,
        capacities,
    )  # fmt: skip
    starts = measure_rows(device, scratch, capacities)
    positions = int(device.read_words(starts[-1:])[0])
    begin = scratch.take(singles, np.int64)
    given = rows.weights if weighted else None
    copied = take_scratch(positions * (4 + (0 if given is None else given.itemsize)))
    columns = copied.take(positions, np.uint32)
    weights = None if given is None else copied.take(positions, given.dtype)
    device.launch(
        _SOURCE, "lay_out", blocks_for(singles), THREADS,
        with_weights(rows, weighted=weighted), size, _SHORT_ROW, starts, begin, columns,
        *by_width(weights),
    )  # fmt: skip
    return replace(
        rows, begin=begin, columns=columns, step=WARP, indptr=None, weights=weights,
        weight_begin=begin,
    )  # fmt: skip
