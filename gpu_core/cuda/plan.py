"""What a batch will do to each row that it touches, found on the device without touching anything.

Part of   the apply path: identify -> halves -> **plan** -> serve_demand -> commit
Kernels   ``kernels/plan.cu``, ``kernels/long_rows.cu``; ``kernels/rows.cuh`` tells how a row meets
          its entries
Twin      ``host/plan.py``

One launch a half, and nothing is read back: the demand stays on the device. Rows that are too long
for one group of lanes take two launches more, and scratch; they are provided for only while they
are met (`LongRows`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from ..image import CLASSES, Field
from ..records import RECORDS
from .packed_arguments import address, packer
from .scratch import ALIGNMENT

if TYPE_CHECKING:
    from .device import Array
    from .engine import CudaEngine
    from .half import Half
    from .scratch import DeviceScratch

#: As in ``kernels/rows.cuh``: threads of a block, and the lengths from which a row is long.
BLOCK: Final = 256
MOST_TILES: Final = 2048
ENTRY_TILE: Final = BLOCK
OLD_TILE: Final = 4096
LONG_ENTRIES: Final = 512


def long_degree(words: int) -> int:
    """Old entries, of so many words, up to which a row is not long."""
    return 512 if words == 1 else 256


#: Blocks that take tiles by turns, a multiprocessor.
TILE_BLOCKS: Final = 8

_LONG: Final = "long_rows.cu"
_LONG_ROW_BYTES: Final = 48
#: Pieces of scratch that plans take.
_MOST_PIECES: Final = 20


#: What follows `Half.argument`: the half's number, and then ``Plan`` of the kernels.
_PLAN: Final = packer(
    "number", "words", "counts", "need", "tile_shift", "first_tile", "tiles", "stride", "long_rows",
    "entry_tiles", "old_tiles", "tile_sums", "after", "positions", "sums", "codes", "staging",
    "staging_words",
)  # fmt: skip
_WORD: Final = packer("last, or the address of what long rows are searched with")


@dataclass
class LongRows:
    """What is provided for long rows, remembered from batch to batch."""

    #: Whether they are looked for; without, a batch that has some begins again.
    expected: bool = False
    #: uint32 words for old entries of rows that stay in place and are moved within it.
    staging_words: int = 0


class Plan(NamedTuple):
    """One half of a batch, and what is known of it once the kernels have run."""

    direction: str
    half: Half
    #: Arguments of the kernels, behind those for the image: half and plan.
    argument: bytes
    defines: tuple[tuple[str, int], ...]
    #: Whether long rows are provided for.
    has_long: bool


class Plans(NamedTuple):
    """Plans of all halves that have entries or rows."""

    plans: list[Plan]
    #: Address of int64[CLASSES]: runs to be taken. Undefined where there are no plans.
    need: int
    #: Bound of the runs to be taken.
    most: int


class Size(NamedTuple):
    """Numbers of a half, or bounds of them."""

    direction: str
    rows: int
    entries: int


def plan_bytes(engine: CudaEngine, sizes: list[Size], long_rows: LongRows) -> int:
    """Scratch that `make_plans` takes at most for halves of these sizes."""
    rows = sum([half.rows for half in sizes])
    tiles = min(rows // BLOCK + len(sizes), MOST_TILES)
    size = 4 * rows + 4 * CLASSES * (tiles + 3) + 8 * CLASSES + _MOST_PIECES * ALIGNMENT
    if long_rows.expected:
        room = _LongRoom.of(engine, sizes, long_rows)
        size += room.rows * _LONG_ROW_BYTES + 8 * room.entry_tiles + 4 * room.old_tiles
        size += 4 * room.staging_words
        size += sum(4 * half.rows + 9 * half.entries for half in sizes)
    return size


@dataclass
class _LongRoom:
    """Bounds of what long rows take, from the sizes of the graph and of the batch."""

    rows: int
    entry_tiles: int
    old_tiles: int
    staging_words: int

    @classmethod
    def of(cls, engine: CudaEngine, sizes: list[Size], long_rows: LongRows) -> _LongRoom:
        stored = engine.arena[Field.NUM_EDGES] * (1 if engine.directed else 2)
        room = cls(0, 0, 0, long_rows.staging_words)
        for half in sizes:
            limits = thresholds(engine.arena.entry_words(half.direction))
            rows = stored // (limits["LONG_DEGREE"] + 1)
            rows += half.entries // (limits["LONG_ENTRIES"] + 1)
            rows = min(rows, half.rows)
            room.rows += rows
            room.entry_tiles += half.entries // ENTRY_TILE + rows
            room.old_tiles += stored // limits["OLD_TILE"] + rows
        return room


_NO_LONG_ROOM: Final = _LongRoom(0, 0, 0, 0)
_NO_LONG_PLACES: Final[tuple[int, ...]] = (0,) * 9


def thresholds(words: int) -> dict[str, int]:
    """Lengths that the kernels go by where they are not told others."""
    return {
        "LONG_DEGREE": long_degree(words),
        "LONG_ENTRIES": LONG_ENTRIES,
        "OLD_TILE": OLD_TILE,
    } | dict(_OTHER_THRESHOLDS)


#: Macros of ``rows.cuh`` with other values than there: for tests.
_OTHER_THRESHOLDS: dict[str, int] = {}


def defines_of(words: int) -> tuple[tuple[str, int], ...]:
    """Macros that the kernels of a half are compiled with."""
    if _OTHER_THRESHOLDS:
        return (("ENTRY_WORDS", words), *_OTHER_THRESHOLDS.items())
    return _DEFINES[words]


_DEFINES: Final = {record.words: (("ENTRY_WORDS", record.words),) for record in RECORDS.values()}


def make_plans(
    engine: CudaEngine,
    halves: list[tuple[str, Half]],
    scratch: DeviceScratch,
    long_rows: LongRows,
    reset: Array | None,
) -> Plans:
    """Plan each half; changes nothing but the batch's status.

    The status becomes ``NEEDS_SCRATCH`` where long rows are met that were not expected, or whose
    old entries do not fit into what is provided (then ``SCRATCH_BYTES`` says how much that is).

    Parameters
    ----------
    scratch
        Has `plan_bytes` left; what is returned lives in it.
    reset
        uint8, of each put of semantic records: its first time is reset.
    """
    halves = [each for each in halves if each[1].max_rows]
    rows = [half.max_rows for _, half in halves]
    tile_shift, tiles = _tiles_of(rows)
    all_tiles = sum(tiles)
    # The classes lie a multiple of 16 bytes apart.
    stride = -(-all_tiles // 4) * 4
    need = scratch.place(8 * CLASSES + 4 * CLASSES * stride)
    counts = need + 8 * CLASSES
    room, of_long = _NO_LONG_ROOM, [_NO_LONG_PLACES] * len(halves)
    if long_rows.expected:
        sizes = [Size(direction, half.max_rows, half.entries) for direction, half in halves]
        room = _LongRoom.of(engine, sizes, long_rows)
        if room.rows:
            of_long = _places_of_long(scratch, room, sizes)
    plans = []
    first_tile = 0
    for number, (direction, half) in enumerate(halves):
        argument = half.argument + _PLAN(
            number, scratch.place(4 * rows[number]), counts, need, tile_shift, first_tile,
            all_tiles, stride, *of_long[number], room.staging_words,
        )  # fmt: skip
        first_tile += tiles[number]
        form = defines_of(engine.arena.entry_words(direction))
        plans.append(Plan(direction, half, argument, form, room.rows > 0))
    if room.rows:
        _search_long(engine, plans, room, reset)
    for number, plan in enumerate(plans):
        _launch(engine, "plan.cu", "plan_rows", tiles[number], plan, _WORD(plan is plans[-1]))
    return Plans(plans, need, sum(rows))


def _tiles_of(rows: list[int]) -> tuple[int, list[int]]:
    """How rows are cut: tiles of ``1 << shift`` rows, and how many each half has."""
    shift = BLOCK.bit_length() - 1
    while True:
        tiles = [-(-count >> shift) for count in rows]
        if sum(tiles) <= MOST_TILES:
            return shift, tiles
        shift += 1


def _places_of_long(
    scratch: DeviceScratch, room: _LongRoom, sizes: list[Size]
) -> list[tuple[int, ...]]:
    """Places of the arrays for long rows, by half, in the order of the plan's fields."""
    place = scratch.place
    listed = (
        place(room.rows * _LONG_ROW_BYTES), place(4 * room.entry_tiles),
        place(4 * room.old_tiles), place(4 * room.entry_tiles),
    )  # fmt: skip
    staging = place(4 * room.staging_words)
    return [
        (
            *listed, place(4 * half.rows), place(4 * half.entries), place(4 * half.entries),
            place(half.entries), staging,
        )
        for half in sizes
    ]  # fmt: skip


def _search_long(
    engine: CudaEngine, plans: list[Plan], room: _LongRoom, reset: Array | None
) -> None:
    """List the long rows of all halves, and look up what their entries meet."""
    for plan in plans:
        _launch(engine, _LONG, "find_long", -(-plan.half.max_rows // BLOCK), plan)
    blocks = min(room.entry_tiles, TILE_BLOCKS * engine.device.multiprocessors)
    for plan in plans:
        times = _WORD(address(reset if plan.direction == "out" else None))
        _launch(engine, _LONG, "search_long", blocks, plan, times)


def _launch(
    engine: CudaEngine, file: str, kernel: str, blocks: int, plan: Plan, more: bytes = b""
) -> None:
    arguments = engine.arena.image_argument(plan.direction) + plan.argument + more
    engine.device.launch_packed(file, kernel, blocks, BLOCK, arguments, plan.defines)
