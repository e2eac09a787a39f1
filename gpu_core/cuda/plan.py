"""What a batch will do to each row that it touches, found on the device without touching anything.

Part of   the apply path: identify -> halves -> **plan** -> serve_demand -> commit
Kernels   ``kernels/plan.cu``, ``kernels/long_rows.cu``; ``kernels/rows.cuh`` tells how a row meets
          its entries
Twin      ``host/plan.py``

One launch a half, and nothing is read back: the demand stays on the device. Rows that are too long
for one group of lanes take two launches more, and scratch; they are provided for only while they
are met (`LongRows`).

Here is said how much scratch that takes, and what the launches of a batch are written from
(`Planned`); `batch_launches.py` writes those of this step and of all that follow it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..image import CLASSES, Field
from ..records import RECORDS
from . import free_runs
from .batch_facts import CALL, DIRECTED_KERNELS, PLAIN_KERNELS
from .batch_launches import ENTRY_TILE, PLAN, write_launches
from .packed_arguments import packer
from .scratch import DeviceScratch

if TYPE_CHECKING:
    from .arena import DeviceArena
    from .batch import DeviceBatch
    from .device import Array, Device
    from .engine import CudaEngine
    from .half import Halves

#: As in ``kernels/rows.cuh``: tiles of rows at most, and the lengths from which a row is long.
MOST_TILES: Final = 2048
OLD_TILE: Final = 2048
LONG_ENTRIES: Final = 512


def long_degree(words: int) -> int:
    """Old entries, of so many words, up to which a row is not long."""
    return 512 if words == 1 else 256


_LONG: Final = "long_rows.cu"
#: Blocks of a launch that does a whole batch, and that wait for one another.
_MEETING: Final = {"apply_few_rows": 1, "apply_cluster_of_rows": 8}

_CALL: Final = packer(*CALL.names or ())
_KERNELS: Final = packer(*[name for _, name in (*DIRECTED_KERNELS * 2, *PLAIN_KERNELS)])


class LongRoom(NamedTuple):
    """Bounds of what long rows take, from the sizes of the graph and of the batch."""

    rows: int
    entry_tiles: int
    old_tiles: int
    staging_words: int


#: Where no long rows are expected.
NO_LONG_ROOM: Final = LongRoom(0, 0, 0, 0)


@dataclass
class LongRows:
    """What is provided for long rows, remembered from batch to batch."""

    #: Whether they are looked for; without, a batch that has some begins again.
    expected: bool = False
    #: uint32 words for old entries of rows that stay in place and are moved within it.
    staging_words: int = 0

    def room(self, engine: CudaEngine, halves: Halves) -> LongRoom:
        """What is provided for the long rows of a batch."""
        if not self.expected:
            return NO_LONG_ROOM
        stored = engine.arena[Field.NUM_EDGES] * (1 if engine.directed else 2)
        rows = entry_tiles = old_tiles = 0
        for direction, half in halves.each:
            limits = thresholds(engine.arena.entry_words(direction))
            most = stored // (limits["LONG_DEGREE"] + 1)
            most += half.entries // (limits["LONG_ENTRIES"] + 1)
            most = min(most, half.max_rows)
            rows += most
            entry_tiles += half.entries // ENTRY_TILE + most
            old_tiles += stored // limits["OLD_TILE"] + most
        return LongRoom(rows, entry_tiles, old_tiles, self.staging_words)


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


class Planned:
    """The halves of a batch, as its launches are written from them, and the scratch of those."""

    def __init__(self, engine: CudaEngine, halves: Halves) -> None:
        self.halves = halves
        #: What is provided for long rows.
        self.room = engine.updates.long_rows.room(engine, halves)
        #: First byte of the scratch, and the byte behind it; the array that it is part of.
        self.scratch = self.scratch_end = 0
        self.memory: Array = None

    def take_scratch(self, arena: DeviceArena) -> None:
        """Take all the scratch that is free; it stays in use until the halves are committed."""
        self.memory = arena.image
        self.scratch, self.scratch_end = arena.free_scratch()

    def need(self, device: Device) -> npt.NDArray[np.int64]:
        """int64[CLASSES]: runs to be taken, once the rows are planned; in host memory."""
        scratch = DeviceScratch(device.xp, self.memory)
        return device.to_host(scratch.array_at(self.scratch, CLASSES, np.int64))


def write_list(
    engine: CudaEngine,
    plan: Planned,
    batch: DeviceBatch,
    steps: int,
    vertex_count: int,
    *,
    report: int = 0,
    served: free_runs.Service = free_runs.NOT_SERVED,
) -> bool:
    """Write the launches of some steps of a batch to the engine's list, for `device.Device.run`.

    Steps tell each other on the device what they found, by the batch's status as well.

    Parameters
    ----------
    steps
        Sum of ``PLAN`` … ``COMMIT`` of `batch_launches.py`. ``PLAN`` takes what scratch is free: it
        stays in use until ``COMMIT``, which comes in the same list or a later one.
    vertex_count
        Vertex records after the batch, not less than before: pages end where their table ends.
    report
        If these steps end the batch, address as of `commit.finish`; no vertices are taken out then,
        and only such are new as kernels have found.
    served
        Runs handed out for the batch, where ``SERVE`` is not among the steps before ``COMMIT``.

    Returns
    -------
    bool
        `False`: ``PLAN`` found too little scratch, and now there is enough. The arena has moved for
        it, and what kernels said of the batch is forgotten: the batch begins again.

    Raises
    ------
    ArenaFullError
        There is not so much scratch, and the arena cannot grow.
    """
    arena, room = engine.arena, plan.room
    if steps & PLAN:
        plan.take_scratch(arena)
    facts = b"".join((
        _CALL(
            len(plan.halves.each), plan.scratch, plan.scratch_end, engine.vertex_count,
            vertex_count, report, served.service, served.taken, MOST_TILES, free_runs.FEW_RUNS,
            *room,
        ),
        arena.facts, kernels_of(engine, with_long=room.rows > 0), batch.facts, plan.halves.packed,
    ))  # fmt: skip
    end = write_launches(engine.updates.lines, facts, steps)
    if end <= plan.scratch_end:
        return True
    arena.provide_scratch(end - plan.scratch)
    return False


def kernels_of(engine: CudaEngine, *, with_long: bool) -> bytes:
    """Handles of all kernels that a batch may take, packed as `batch_facts.KERNELS`.

    Those for long rows are 0 unless asked for: they are compiled when such rows are first met. So
    are those for a whole batch where there can be none: entries of several words, no clusters.
    """
    kept = engine.updates.kernels
    key = with_long, *_OTHER_THRESHOLDS.items()
    if key not in kept:
        handle, handles = engine.device.kernel, []
        for direction in ("out", "in"):
            words = engine.arena.entry_words(direction)
            blocks = engine.device.meeting_blocks if words == 1 else 0
            for file, name in DIRECTED_KERNELS:
                is_taken = with_long if file == _LONG else blocks >= _MEETING.get(name, 0)
                handles.append(handle(file, name, defines_of(words)) if is_taken else 0)
        handles += [handle(file, name) for file, name in PLAIN_KERNELS]
        kept[key] = _KERNELS(*handles)
    return kept[key]
