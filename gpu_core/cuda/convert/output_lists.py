"""Output lists of a conversion: their allocation, and the launches that fill them.

Part of `raw_edges.py`; where rows are partitioned into buckets the launches are those of
`edge_buckets.py`. Kernels: ``raw_edges.cu``.
"""

from typing import Any, NamedTuple

import numpy as np

from ...records import Record
from ..device.device import Device
from ..device.launch_list import Launches
from ..device.packed_arguments import Piece, address, packer
from ..device.transfer import size_of_piece
from ..memory.scratch import SLACK_BYTES, DeviceScratch
from .edge_order import NARROW, EdgeRows, SortedRows

_TILE_ENTRIES = 2048
_TILE_THREADS = 256

#: ``Counts`` of the kernels.
COUNTS = (
    "puts", "deletes", "loops", "revoked", "put_rows", "delete_rows", "put_beyond",
    "delete_beyond",
)  # fmt: skip
#: What is reported to the host.
REPORT = (*COUNTS, "faults")
#: Words that are cleared: the counts, an empty list's, one that fills up; two a bucket follow.
EMPTY = len(COUNTS)
COUNT_WORDS = EMPTY + 2
#: Type of users' ids.
WIDE = np.dtype(np.int64)

_SWITCHES = packer("switches")
_COUNTED = packer("keep_loops", "switches", "tiles", "counts", "ticket")
_LISTED = packer("keep_loops", "tiles", "put_at", "delete_at")
_LIST = packer("at", "tiles", "rows", "indptr", "columns", "positions", "firsts", "switched")
_ROWS_COUNTED = packer("tiles", "counts", "ticket")
_GROUPED = packer("tiles", "switches", "ids_are_narrow")
_REPORTED = packer("counts", "faults", "ticket", "host")


class OutputList(NamedTuple):
    """Addresses of a list of edges, a CSR of users' ids with room for all rows; 0: none."""

    #: uint32: positions of the deciding rows in the order, where these are listed.
    at: int
    rows: int
    #: uint32
    indptr: int
    columns: int
    #: uint32: numbers of rows.
    positions: int
    firsts: int
    #: uint8: whether a row before the deciding one says the contrary.
    switched: int

    def argument(self, tiles: int) -> bytes:
        """``OutputList`` of the kernels, packed."""
        return _LIST(self.at, tiles, *self[1:])


class ConversionMemory(NamedTuple):
    """Memory of a conversion, in two pieces: the lists, which the batch keeps, and the rest."""

    block: DeviceScratch
    scratch: DeviceScratch
    #: ``Counts``, and what is 0 behind them.
    zeros: Piece
    puts: OutputList
    deletes: OutputList


class Output(NamedTuple):
    """Where a conversion writes the edges that it keeps, and its report."""

    memory: ConversionMemory
    #: Address of page-locked words that get `REPORT` from the last launch.
    report: int
    keeps_loops: bool
    ids_are_narrow: bool


def id_type(*, dense: bool) -> Any:
    """Type of ids: vertex indices, or users' own."""
    return NARROW if dense else WIDE


def _tiles_of(count: int) -> int:
    """Blocks that rows are cut into where they are not partitioned into buckets."""
    return -(-count // _TILE_ENTRIES)


def memory_for(
    device: Device,
    rows: EdgeRows,
    record: Record,
    order_bytes: int,
    *,
    dense: bool,
    buckets: int,
) -> ConversionMemory:
    """Memory for the lists, as if all rows were kept.

    Parameters
    ----------
    order_bytes
        Bytes of scratch that are left for putting the rows in order.
    buckets
        That rows are partitioned into; 0: they are sorted, and those that decide are listed.
    """
    count, kinds = rows.number, 1 if rows.op is None else 2
    id_bytes = id_type(dense=dense).itemsize
    words = COUNT_WORDS + 2 * buckets
    # Ids twice, offsets, and flags; positions; positions in the order, and what is counted by
    # tiles.
    block = _memory(device, kinds * count * (2 * id_bytes + 5) + 4 * words)
    scratch = _memory(
        device,
        order_bytes + count * (8 * rows.with_positions + (0 if buckets else 8 * kinds)),
    )
    zeros = Piece(block.reserve(4 * words), words)

    def allocate_list(*, is_put: bool) -> OutputList:
        with_times = is_put and record.has_times
        return OutputList(
            at=0 if buckets else scratch.reserve(4 * count),
            rows=block.reserve(id_bytes * count),
            indptr=block.reserve(4 * (count + 1)),
            columns=block.reserve(id_bytes * count),
            positions=scratch.reserve(4 * count) if is_put and rows.with_positions else 0,
            firsts=scratch.reserve(4 * count) if with_times else 0,
            # Whether an edge that is deleted was inserted before tells if its end points stay.
            switched=block.reserve(count) if with_times or not is_put else 0,
        )

    puts, deletes = (
        allocate_list(is_put=True),
        OutputList(0, 0, zeros.address + 4 * EMPTY, 0, 0, 0, 0),
    )
    if kinds == 2:
        deletes = allocate_list(is_put=False)
    return ConversionMemory(block, scratch, zeros, puts, deletes)


def _memory(device: Device, nbytes: int) -> DeviceScratch:
    """So many bytes for one batch, of CuPy's pool."""
    size = size_of_piece(nbytes + 2 * SLACK_BYTES)
    return DeviceScratch(device.xp, device.empty(size, np.uint8))


def group_sorted(
    launches: Launches, ordered: SortedRows, to: Output, switches: Piece | None
) -> None:
    """Fill the lists with the edges that are kept, of rows in order; they are counted first."""
    launch, rows, ticket = launches.launch_packed, ordered.argument, launches.words.ticket
    count, counts = ordered.keys.size, to.memory.zeros.address
    puts, deletes = to.memory.puts, to.memory.deletes
    if switches is not None:
        launch(
            "raw_edges.cu", "mark_switches", -(-count // _TILE_THREADS), _TILE_THREADS,
            rows + _SWITCHES(address(switches)),
        )  # fmt: skip
    blocks = _tiles_of(count)
    tiles = to.memory.scratch.reserve(8 * blocks)
    launch(
        "raw_edges.cu", "count_kept", blocks, _TILE_THREADS,
        rows + _COUNTED(to.keeps_loops, address(switches), tiles, counts, ticket),
    )  # fmt: skip
    launch(
        "raw_edges.cu", "list_kept", blocks, _TILE_THREADS,
        rows + _LISTED(to.keeps_loops, tiles, puts.at, deletes.at),
    )  # fmt: skip
    grid = blocks if ordered.all_inserts else 2 * blocks
    arguments = rows + puts.argument(tiles) + deletes.argument(tiles + 4 * blocks)
    launch(
        "raw_edges.cu", "count_edge_rows", grid, _TILE_THREADS,
        arguments + _ROWS_COUNTED(blocks, counts, ticket),
    )  # fmt: skip
    report = _REPORTED(counts, launches.words.faults, ticket, to.report)
    launch(
        "raw_edges.cu", "group_edges", grid, _TILE_THREADS,
        arguments + _GROUPED(blocks, address(switches), to.ids_are_narrow) + report,
    )  # fmt: skip
