"""Plan of a batch: new position, degree and capacity of each row, computed before any write.

Part of   the apply path: deltas -> **plan** -> arena.prepare, arena.take -> commit
Reads     the image, and one *delta* of a batch: its entries for one direction, grouped by row and
          sorted by (column, kind) within a row
Writes    the lists of settled rows and of the others; for each of the others the degree and the
          room before and after, and, where the row is not short, for each of its entries the
          position in the old adjacency and whether it was there
Keeps     the demand of a batch is exact before the first word of the graph changes, so a batch that
          does not fit is refused whole

A row is *settled* if its room stays as it is whatever its entries meet: it has room for all of
them, and would not shrink if all of them were deletes that hit. Its record alone decides that.
Settled rows ask the arena for nothing; they are rewritten in one pass (`rows/settled.py`) and not
planned. Most rows of most batches are.

Short rows are merged in registers (`rows/short_rows.py`), both here, where only the counts are
kept, and where they are written. The entries of others are searched for
(`rows/planned_entries.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...image.fields import KIND_DANGLING, KIND_DELETE, KIND_PUT
from ...jit.compile import compiled
from ...jit.parallel import for_ranges
from ...jit.prefetch import AHEAD, prefetch, prefetch_row
from ...layouts import (
    moves_to_grow,
    open_adjacency,
    room_after,
    room_of,
    state_class,
)
from ..memory.rooms import Rooms, rooms_of
from ..memory.scratch import HostScratch
from ..queries.host_graph import HostGraph
from .deltas import Delta
from .rows.lanes import MANY
from .rows.planned_entries import plan_entries
from .rows.short_rows import longest_short, plan_short
from .tally import NO_ENTRIES, Tally, add_entries

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]

#: A settled row that does not fit lanes is rewritten entry by entry; where more than this many
#: entries meet one longer than lanes, one merging pass moves less.
FEW_ENTRIES = 4


class PlannedRows(NamedTuple):
    """Rows of a delta that are not settled, and what happens to them. Kernels take it as it is."""

    #: uint32[k]: numbers of the rows in the delta, increasing.
    which: UInt32s
    #: uint32[entries of the delta], filled for the entries of those that are not short: position in
    #: the old adjacency, and whether the entry was there.
    position: UInt32s
    found: npt.NDArray[np.bool_]
    #: uint32[k] each.
    degree_before: UInt32s
    degree_after: UInt32s
    room_before: UInt32s
    room_after: UInt32s


@dataclass
class Plan:
    """A delta, and what is known of it before anything is written."""

    direction: str
    delta: Delta
    rooms: Rooms
    #: uint32: the settled rows of the delta by number, in parts ``begin, end`` for one thread each.
    settled: UInt32s
    settled_parts: list[tuple[int, int]]
    #: None: all rows are settled.
    rows: PlannedRows | None
    #: Of the planned rows.
    tally: Tally


def make_plan(engine: HostGraph, direction: str, delta: Delta, scratch: HostScratch) -> Plan:
    """Read what each row that is not settled will come to; touches nothing but scratch."""
    kinds = delta.kinds.tobytes()
    puts, deletes = KIND_PUT in kinds, KIND_DELETE in kinds or KIND_DANGLING in kinds
    shape = engine.shape(direction)
    listed = scratch.take(delta.rows.size, np.uint32)
    rooms = rooms_of(shape)
    parts = for_ranges(
        list_settled, delta.rows.size, engine.image, shape, delta, rooms, puts, deletes, listed
    )
    settled_parts = [(low, end) for low, end, _ in parts]
    which = np.concatenate([listed[end:high][::-1] for _, end, high in parts] or [listed])
    if which.size == 0:
        return Plan(direction, delta, rooms, listed, settled_parts, None, Tally())
    rows = PlannedRows(
        which,
        scratch.take(delta.columns.size, np.uint32),
        scratch.take(delta.columns.size, np.bool_),
        *scratch.take(4 * which.size, np.uint32).reshape(4, which.size),
    )
    tally = Tally.sum(for_ranges(plan_rows, which.size, engine.image, shape, delta, rows))
    return Plan(direction, delta, rooms, listed, settled_parts, rows, tally)


def plan_bytes(deltas: list[tuple[str, Delta]]) -> int:
    """Scratch that `make_plan` takes at most."""
    return sum(5 * delta.columns.size + 20 * delta.rows.size + 64 for _, delta in deltas)


_AHEAD = np.uint64(AHEAD)


@compiled
def list_settled(low, high, image, shape, delta, rooms, puts, deletes, out):
    """Write the numbers of settled rows to ``out[low:end]``, of the others to ``out[end:high]``.

    The others stand there from the last to the first. Written in any case and kept by the count:
    a branch would often be guessed wrong.

    Returns
    -------
    low, end, high : int
    """
    rows, indptr, clear = delta.rows, delta.indptr, delta.clear
    least, most = rooms.least, rooms.most
    # Unsigned indices: Numba then leaves out the step for those below 0.
    one = np.uint64(1)
    base = np.uint64(shape.vertex_base)
    record_words = np.uint64(shape.vertex_words)
    degree_word = np.uint64(shape.degree_word)
    front = np.uint64(low)
    back = np.uint64(high - 1)
    last = np.uint64(high - 1)
    for row in range(np.uint64(low), np.uint64(high)):
        prefetch(image, base + np.uint64(rows[min(row + _AHEAD, last)]) * record_words)
        vertex = np.uint64(rows[row])
        settled = np.uint64(0)
        if vertex < np.uint64(shape.vertex_count):
            record = base + vertex * record_words
            degree = np.int64(image[record + degree_word])
            count = indptr[row + one] - indptr[row]
            room = state_class(shape, image[record])
            settled = np.uint64(
                (degree - count * deletes >= least[room])
                & (degree + count * puts <= most[room])
                & ((count <= FEW_ENTRIES) | (degree <= MANY))
                & (not clear[row])
            )
        out[front] = row
        out[back] = row
        front += settled
        back -= one - settled
    return low, np.int64(front), high


@compiled
def plan_rows(low, high, image, shape, delta, plan):
    """Plan rows ``plan.which[low:high]``.

    Returns
    -------
    added, found_puts, found_deletes, removed, replaced : int
        Entries put that were not there; put and there; deleted and there; taken away, those lost
        with a vertex included; lost with a vertex and put again, which count as added and removed.
    moved, appended, merged : int
        Rows whose degree changes: those that get a larger run; of the others, those whose first
        entry of the batch comes after all that was there; the rest.
    """
    rows, indptr, clear = delta.rows, delta.indptr, delta.clear
    counts = NO_ENTRIES
    moved = 0
    appended = 0
    merged = 0
    short = longest_short(shape)
    for item in range(low, high):
        far = np.int64(rows[plan.which[min(item + 2 * AHEAD, high - 1)]])
        prefetch(image, shape.vertex_base + far * shape.vertex_words)
        if item + AHEAD < high:
            prefetch_row(image, shape, np.int64(rows[plan.which[item + AHEAD]]))
        row = plan.which[item]
        vertex = np.int64(rows[row])
        adjacency = open_adjacency(image, shape, vertex)
        degree = adjacency[1]
        room = np.int64(0)
        if vertex < shape.vertex_count:
            room = room_of(shape, image[shape.vertex_base + vertex * shape.vertex_words], degree)
        span = indptr[row], indptr[row + 1]
        if degree + span[1] - span[0] <= short:
            more, appends = plan_short(image, shape, adjacency, clear[row], delta, span)
        else:
            more, appends = plan_entries(image, shape, adjacency, clear[row], delta, span, plan)
        after = degree + more[0] - more[3]
        plan.degree_before[item] = degree
        plan.degree_after[item] = after
        plan.room_before[item] = room
        plan.room_after[item] = room_after(shape, room, after)
        counts = add_entries(counts, more)
        if after != degree:
            moves = room < plan.room_after[item] and moves_to_grow(shape, degree)
            moved += moves
            appended += appends and not moves
            merged += not appends and not moves
    return (*counts, moved, appended, merged)
