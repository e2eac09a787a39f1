"""Lists of the edges that are kept of raw rows: room for them, and the launches that fill them.

Part of `raw_edges.py`; where rows are dealt into buckets the launches are those of
`edge_buckets.py`. Kernels: ``kernels/raw_edges.cu``.
"""

from typing import Any, NamedTuple

import numpy as np

from ..records import Record
from .edge_order import NARROW, SortedRows
from .launch_list import Launches
from .packed_arguments import Piece, address, packer
from .scratch import DeviceScratch, Pieces

_TILE_ENTRIES = 2048
_TILE_THREADS = 256

#: ``Counts`` of the kernels.
COUNTS = (
    "puts", "deletes", "loops", "revoked", "put_rows", "delete_rows", "put_beyond",
    "delete_beyond",
)  # fmt: skip
#: What the host is told.
REPORT = (*COUNTS, "faults")
#: Words that are cleared: the counts, an empty list's, one that fills up; two a bucket follow.
EMPTY = len(COUNTS)
COUNT_WORDS = EMPTY + 2
#: Type of users' ids.
WIDE = np.dtype(np.int64)

_TURNS = packer("turns")
_COUNTED = packer("keep_loops", "turns", "tiles", "counts", "ticket")
_LISTED = packer("keep_loops", "tiles", "put_at", "delete_at")
_LIST = packer("at", "tiles", "rows", "indptr", "columns", "positions", "firsts", "turned")
_ROWS_COUNTED = packer("tiles", "counts", "ticket")
_GROUPED = packer("tiles", "turns", "ids_are_narrow")
_REPORTED = packer("counts", "faults", "ticket", "host")


class KeptList(NamedTuple):
    """Addresses of a list of edges, a CSR of users' ids with room for all rows; 0: none."""

    #: uint32: places of the deciding rows in the order, where these are listed.
    at: int
    rows: int
    #: uint32
    indptr: int
    columns: int
    #: uint32: numbers of rows.
    positions: int
    firsts: int
    #: uint8: whether a row before the deciding one says the contrary.
    turned: int

    def argument(self, tiles: int) -> bytes:
        """``KeptList`` of the kernels, packed."""
        return _LIST(self.at, tiles, *self[1:])


class Target(NamedTuple):
    """Where the edges that are kept go."""

    puts: KeptList
    deletes: KeptList
    #: Address of ``Counts``, and of what is 0 behind them.
    counts: int
    #: Address of page-locked words that get `REPORT` from the last launch.
    told: int
    keeps_loops: bool
    ids_are_narrow: bool


def id_type(*, dense: bool) -> Any:
    """Type of ids: vertex indices, or users' own."""
    return NARROW if dense else WIDE


def _tiles_of(count: int) -> int:
    """Blocks that rows are cut into where they are not dealt into buckets."""
    return -(-count // _TILE_ENTRIES)


def room_for_list(
    size: int,
    block: DeviceScratch,
    scratch: DeviceScratch,
    record: Record,
    *,
    dense: bool,
    is_put: bool,
    is_listed: bool,
) -> KeptList:
    """Memory for a list of puts or deletes, as if all rows were kept.

    ``is_listed``: also for the places of the deciding rows in the order.
    """
    id_bytes = id_type(dense=dense).itemsize
    with_times = is_put and record.has_times
    with_positions = is_put and record.properties
    return KeptList(
        at=scratch.place(4 * size) if is_listed else 0,
        rows=block.place(id_bytes * size),
        indptr=block.place(4 * (size + 1)),
        columns=block.place(id_bytes * size),
        positions=scratch.place(4 * size) if with_positions else 0,
        firsts=scratch.place(4 * size) if with_times else 0,
        # Whether an edge that is deleted was inserted before says whether its end points stay.
        turned=block.place(size) if with_times or not is_put else 0,
    )


def group_sorted(
    launches: Launches, ordered: SortedRows, to: Target, scratch: Pieces, turns: Piece | None
) -> None:
    """Fill the lists with the edges that are kept, of rows in order; they are counted first."""
    launch, rows, ticket = launches.launch_packed, ordered.argument, launches.words.ticket
    count = ordered.keys.size
    if turns is not None:
        launch(
            "raw_edges.cu", "mark_turns", -(-count // _TILE_THREADS), _TILE_THREADS,
            rows + _TURNS(address(turns)),
        )  # fmt: skip
    blocks = _tiles_of(count)
    tiles = address(scratch.take(2 * blocks, np.uint32))
    launch(
        "raw_edges.cu", "count_kept", blocks, _TILE_THREADS,
        rows + _COUNTED(to.keeps_loops, address(turns), tiles, to.counts, ticket),
    )  # fmt: skip
    launch(
        "raw_edges.cu", "list_kept", blocks, _TILE_THREADS,
        rows + _LISTED(to.keeps_loops, tiles, to.puts.at, to.deletes.at),
    )  # fmt: skip
    grid = blocks if ordered.all_inserts else 2 * blocks
    arguments = rows + to.puts.argument(tiles) + to.deletes.argument(tiles + 4 * blocks)
    launch(
        "raw_edges.cu", "count_edge_rows", grid, _TILE_THREADS,
        arguments + _ROWS_COUNTED(blocks, to.counts, ticket),
    )  # fmt: skip
    report = _REPORTED(to.counts, launches.words.faults, ticket, to.told)
    launch(
        "raw_edges.cu", "group_edges", grid, _TILE_THREADS,
        arguments + _GROUPED(blocks, address(turns), to.ids_are_narrow) + report,
    )  # fmt: skip
