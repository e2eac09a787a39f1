"""Apply one batch to the arena image on the device.

::

    identify   users' ids -> vertex indices                                       (reads)
    halves     the batch's entries by row, for each stored direction              (reads)
    plan       what happens to each row whose room may change, exactly            (reads)
    serve      runs handed out, from what `plan` left on the device
    commit     vertices of dense ids that are new; rows, records and free runs; the header goes to a
               report, in memory of the host
               -> the host waits, and reads it

Nobody waits before the end: each step is told by the one before, on the device. Where it cannot go
on, it sets the batch's status, all later ones do nothing, and the report says so:

``UNKNOWN_IDS``    it names ids that nobody knows: identified again, with care
``NEEDS_SCRATCH``  it meets long rows that were not expected: provided for, and planned again
``NEEDS_HOST``     pages do not suffice: the host joins free runs, compacts or grows the image, or
                   refuses the batch; then it is committed as it was planned

All launches from *plan* on are written before the first of them runs (`batch_launches.py`). Where
less scratch is free than they take, the arena provides it, and the batch begins again.

A batch whose lists are its only half, and of which nothing is asked, comes here only where it needs
help (`own_lists.py`). A batch that was identified with care, or that outgrows a table, is served
with the host's help in any case. Twin: ``host/apply.py``; both take the same runs for the same
batch. Nothing is changed before *serve*, and from there on nothing is refused, so a batch is
applied whole or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from ..batch import UpdateBatch
from ..host.accounts import Outcome, numbers_of_batch
from ..host.apply import growing_tables, vertex_table_words
from ..host.demand import Demand
from ..image import CLASSES, HEADER_FIELDS, WORD_BYTES, BatchField, BatchStatus
from .batch_launches import COMMIT, ENTER, PLAN, SERVE
from .commit import Report, finish
from .half import Halves, pack_halves
from .halves import halves_bytes, halves_of, own_halves
from .identified import Identified
from .identify import identify, identify_bytes, on_device, vertex_count_after, way_of
from .launches import empty_list
from .own_lists import Desk, apply_own_lists
from .plan import LongRows, Planned, write_list
from .scratch import Pieces
from .vertices import create_vertices, remove_vertices
from .ways import Way

if TYPE_CHECKING:
    from .batch import DeviceBatch
    from .engine import CudaEngine

#: Batches without long rows after which none are expected any more.
_QUIET_BATCHES: Final = 64

#: Steps of a batch that needs no help of the host, and of one that enters vertices.
_COMMON: Final = PLAN | SERVE | COMMIT
_ENTERING: Final = _COMMON | ENTER


@dataclass
class UpdateState:
    """What an engine remembers from batch to batch."""

    #: What kernels leave of a batch.
    report: Report
    long_rows: LongRows = field(default_factory=LongRows)
    #: Batches since the last one with long rows.
    quiet: int = 0
    #: Handles of kernels, packed, by what they are compiled for: `plan.kernels_of`.
    kernels: dict[tuple[object, ...], bytes] = field(default_factory=dict)
    #: The list that launches of a batch are written to, and what the short way is told.
    lines: npt.NDArray[np.int64] = field(default_factory=empty_list)
    desk: Desk = field(default_factory=Desk)

    def provide(self, staging_bytes: int) -> None:
        """Expect long rows, of which so many bytes are to be staged."""
        words = staging_bytes // WORD_BYTES
        self.long_rows.expected = True
        self.long_rows.staging_words = max(self.long_rows.staging_words, words + words // 4)
        self.quiet = 0

    def see(self, long_rows: int) -> None:
        """Take notice of the long rows of a batch that was applied."""
        self.quiet = 0 if long_rows else self.quiet + 1
        if self.quiet >= _QUIET_BATCHES:
            self.forget()

    def forget(self) -> None:
        """Expect no long rows: a refused batch may have asked for more than there can be."""
        self.long_rows = LongRows()


def apply_batch(
    engine: CudaEngine,
    batch: UpdateBatch | DeviceBatch,
    *,
    create_vertices: bool,
    queue_room: int = 0,
) -> Outcome:
    """Apply a batch of users' ids; ``queue_room`` more freed indices will be queued.

    Raises
    ------
    BatchError
        As `identify.identify`.
    ArenaFullError
        The batch does not fit. The graph is as before.
    """
    if isinstance(batch, UpdateBatch):
        with engine.lock:
            batch = on_device(engine, batch)
    status, outcome = apply_own_lists(engine, batch, create_vertices=create_vertices)
    if outcome is not None:
        return outcome
    with engine.lock:
        return _apply_by_steps(
            engine, batch, status, create_vertices=create_vertices, queue_room=queue_room
        )


def _apply_by_steps(
    engine: CudaEngine,
    batch: DeviceBatch,
    status: int | None,
    *,
    create_vertices: bool,
    queue_room: int,
) -> Outcome:
    """Apply a batch that `apply_own_lists` has left with this status."""
    way = way_of(engine, batch, create_vertices=create_vertices)
    report, mapped, careful = engine.updates.report, None, None
    if status == BatchStatus.NEEDS_HOST:
        assert batch.own_halves is not None
        plan = Planned(engine, batch.own_halves)
        # Where its launches found it: nothing has taken scratch since.
        plan.take_scratch(engine.arena)
        status = _commit_planned(engine, batch, plan, way, create_vertices=create_vertices)
    while status != BatchStatus.OK:
        if status == BatchStatus.NEEDS_SCRATCH:
            engine.updates.provide(report[BatchField.SCRATCH_BYTES])
        elif status is not None:
            if way is Way.CAREFUL:
                msg = f"the kernels left status {status}"
                raise AssertionError(msg)
            way = Way.CAREFUL
        # Without a status it begins: anew, maybe, with the scratch that it was short of.
        if way is not Way.CAREFUL:
            mapped, status = _attempt(engine, batch, way, create_vertices=create_vertices)
        else:
            if careful is None:
                careful = identify(engine, batch, way, create_vertices=create_vertices)
            mapped, status = careful, _attempt_with_care(engine, careful, queue_room)
    engine.updates.see(report[BatchField.LONG_ROWS])
    return _outcome(engine, batch, mapped)


def _attempt(
    engine: CudaEngine, batch: DeviceBatch, way: Way, *, create_vertices: bool
) -> tuple[Identified | None, int | None]:
    """Apply a batch as far as it goes without care.

    Returns
    -------
    mapped : Identified or None
        What it is; `None` where it is what its own lists say.
    status : BatchStatus or None
        `None`, here and below, where there was too little scratch; else the report is valid.
    """
    own = own_halves(engine, batch, way)
    if own is not None:
        return None, _write(engine, batch, own, way, create_vertices=create_vertices)
    need = identify_bytes(batch) + halves_bytes(
        engine, batch.put_indices.size, batch.delete_indices.size
    )
    with engine.arena.scratch(need) as scratch:
        pieces = Pieces(scratch)
        mapped = identify(engine, batch, way, create_vertices=create_vertices, scratch=pieces)
        halves = pack_halves(halves_of(engine, mapped, pieces))
        return mapped, _write(engine, batch, halves, way, create_vertices=create_vertices)


def _write(
    engine: CudaEngine,
    batch: DeviceBatch,
    halves: Halves,
    way: Way,
    *,
    create_vertices: bool,
) -> int | None:
    """Plan, serve and commit the halves of a batch without care; returns its status."""
    arena, report = engine.arena, engine.updates.report
    plan, count = Planned(engine, halves), vertex_count_after(engine, batch)
    steps = _ENTERING if way is Way.ENTERING else _COMMON
    if halves.each and not write_list(engine, plan, batch, steps, count, report=report.address):
        return None
    with engine.committing():
        if halves.each:
            engine.device.run(engine.updates.lines)
        else:
            finish(engine, 0, report.address)
        arena.follow(report)
    status = report[BatchField.STATUS]
    if status == BatchStatus.NEEDS_HOST:
        return _commit_planned(engine, batch, plan, way, create_vertices=create_vertices)
    return status


def _commit_planned(
    engine: CudaEngine, batch: DeviceBatch, plan: Planned, way: Way, *, create_vertices: bool
) -> int:
    """Commit halves whose launches have found that they need the host; returns the status."""
    arena, report = engine.arena, engine.updates.report
    # What `commit` needs of the plan was cleared with the rest.
    for name in (BatchField.LONG_ROWS, BatchField.LONG_TILES, BatchField.SCRATCH_BYTES):
        arena.header[name] = report[name]
    arena.push_header()
    count = vertex_count_after(engine, batch)
    mapped = Identified(batch, count, create_vertices=create_vertices)
    return _commit_by_host(engine, mapped, plan, enters=way is Way.ENTERING)


def _attempt_with_care(engine: CudaEngine, mapped: Identified, queue_room: int) -> int | None:
    """Apply a batch that was identified with care, as far as it goes; returns its status."""
    if mapped.deleted.size:
        # Who mentions the deleted vertices was counted on the way, so these have their own memory.
        halves = pack_halves(halves_of(engine, mapped))
        return _plan_for_host(engine, mapped, halves, queue_room)
    puts, deletes = mapped.put_columns.size, mapped.delete_columns.size
    with engine.arena.scratch(halves_bytes(engine, puts, deletes)) as scratch:
        halves = pack_halves(halves_of(engine, mapped, Pieces(scratch)))
        return _plan_for_host(engine, mapped, halves, queue_room)


def _plan_for_host(
    engine: CudaEngine, mapped: Identified, halves: Halves, queue_room: int
) -> int | None:
    """Plan the halves of a batch and go on with the host's help; returns its status."""
    plan = Planned(engine, halves)
    if not write_list(engine, plan, mapped.batch, PLAN, mapped.vertex_count):
        return None
    engine.device.run(engine.updates.lines)
    return _commit_by_host(engine, mapped, plan, queue_room)


def _commit_by_host(
    engine: CudaEngine,
    mapped: Identified,
    plan: Planned,
    queue_room: int = 0,
    *,
    enters: bool = False,
) -> int:
    """Serve a planned batch with the host's help, tables and vertices included, and write it.

    ``enters``: its lists tell which vertices are new; else ``mapped`` does.
    """
    arena = engine.arena
    arena.pull_header()
    if arena[BatchField.STATUS] != BatchStatus.OK:
        engine.updates.report.words[:HEADER_FIELDS] = arena.header
        arena.header[BatchField.STATUS :] = 0
        arena.push_header()
        return engine.updates.report[BatchField.STATUS]
    created, gone = mapped.created.size, mapped.gone.size
    runs = np.zeros(CLASSES, np.int64)
    if plan.halves.each:
        runs += plan.need(engine.device)
    words = vertex_table_words(arena, mapped.vertex_count, created, gone + queue_room)
    tables = growing_tables(arena, words)
    for _, size_class in tables:
        runs[size_class] += 1
    demand = Demand(mapped.vertex_count, runs)
    arena.prepare(demand)
    with engine.committing():
        taken = arena.take(demand)
        for table, size_class in tables:
            arena.move_table(table, int(taken.runs(size_class, 1)[0]), size_class)
        steps = COMMIT
        if enters:
            steps |= ENTER
        else:
            create_vertices(engine, mapped)
        count = mapped.vertex_count
        write_list(engine, plan, mapped.batch, steps, count, served=taken.served)
        engine.device.run(engine.updates.lines)
        remove_vertices(engine, mapped.gone)
        finish(engine, created - gone, engine.updates.report.address)
        arena.header[BatchField.STATUS :] = 0
        arena.follow(engine.updates.report)
        return engine.updates.report[BatchField.STATUS]


def _outcome(engine: CudaEngine, batch: DeviceBatch, mapped: Identified | None) -> Outcome:
    """Numbers of the batch from its report; ``mapped`` as of `_attempt`."""
    report = engine.updates.report
    row_puts, row_deletes = batch.put_vertex_row_count, batch.delete_vertex_row_count
    row_puts_found, row_deletes_found = row_puts, 0
    created, removed = report[BatchField.CREATED], 0
    if mapped is not None:
        row_puts_found, row_deletes_found = mapped.row_puts_found, mapped.row_deletes_found
        created, removed = created + mapped.created.size, mapped.gone.size
    return Outcome(*numbers_of_batch(
        report.header, report.counts, report.tally, report.rows, 1 if engine.directed else 2,
        batch.delete_indices.size, row_puts, row_puts_found, row_deletes, row_deletes_found,
        created, removed,
    ))  # fmt: skip
