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

A batch that was identified with care, or that outgrows a table, is served with the host's help in
any case. Twin: ``host/apply.py``; both take the same runs for the same batch. Nothing is changed
before *serve*, and from there on nothing is refused, so a batch is applied whole or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from ..host.apply import Outcome, growing_tables, outcome_of, vertex_table_words
from ..host.demand import Demand
from ..host.plan import Tally
from ..image import CLASSES, WORD_BYTES, BatchField, BatchStatus
from .commit import Report, finish, rewrite
from .free_runs import serve_bytes, serve_demand
from .halves import halves_bytes, halves_of
from .identify import Way, identify, identify_bytes, on_device, vertex_count_after, way_of
from .plan import LongRows, Plans, Size, make_plans, plan_bytes
from .scratch import Pieces
from .vertices import create_vertices, enter_lists, remove_vertices

if TYPE_CHECKING:
    from ..batch import UpdateBatch
    from .batch import DeviceBatch
    from .engine import CudaEngine
    from .identified import Identified
    from .scratch import DeviceScratch

#: Batches without long rows after which none are expected any more.
_QUIET_BATCHES: Final = 64


@dataclass
class UpdateState:
    """What an engine remembers from batch to batch."""

    #: What kernels leave of a batch.
    report: Report
    long_rows: LongRows = field(default_factory=LongRows)
    #: Batches since the last one with long rows.
    quiet: int = 0

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
    batch = on_device(engine, batch)
    way = way_of(engine, batch, create_vertices=create_vertices)
    careful: Identified | None = None
    while True:
        if way is not Way.CAREFUL:
            mapped, report = _attempt(engine, batch, way, create_vertices=create_vertices)
        else:
            if careful is None:
                careful = identify(engine, batch, way, create_vertices=create_vertices)
            mapped, report = careful, _attempt_with_care(engine, careful, queue_room)
        status = report[BatchField.STATUS]
        if status == BatchStatus.OK:
            engine.updates.see(report[BatchField.LONG_ROWS])
            return _outcome(engine, mapped, report)
        if status == BatchStatus.NEEDS_SCRATCH:
            engine.updates.provide(report[BatchField.SCRATCH_BYTES])
        elif way is not Way.CAREFUL:
            way = Way.CAREFUL
        else:
            msg = f"the kernels left status {status}"
            raise AssertionError(msg)


def _attempt(
    engine: CudaEngine, batch: DeviceBatch, way: Way, *, create_vertices: bool
) -> tuple[Identified, list[int]]:
    """Apply a batch as far as it goes without care; returns what it is, and its report."""
    count = vertex_count_after(engine, batch)
    puts, deletes = batch.put_indices.size, batch.delete_indices.size
    need = identify_bytes(engine, batch, way) + _bytes_for_lists(engine, puts, deletes, count)
    with engine.arena.scratch(need) as scratch:
        pieces = Pieces(scratch)
        mapped = identify(engine, batch, way, create_vertices=create_vertices, scratch=pieces)
        halves = halves_of(engine, mapped, pieces)
        plans = make_plans(engine, halves, scratch, engine.updates.long_rows, batch.put_reset)
        report_at = engine.updates.report.address
        with engine.committing():
            if plans.plans:
                served = serve_demand(engine.arena, plans.need, plans.most, count, scratch)
                if mapped.enters:
                    enter_lists(engine, mapped)
                rewrite(engine, plans.plans, batch, served, count, report_at)
            else:
                finish(engine, 0, report_at)
            report = _read(engine)
        if report[BatchField.STATUS] == BatchStatus.NEEDS_HOST:
            # What `commit` needs of the plan was cleared with the rest.
            for name in (BatchField.LONG_ROWS, BatchField.LONG_TILES, BatchField.SCRATCH_BYTES):
                engine.arena.header[name] = report[name]
            engine.arena.push_header()
            report = _commit_by_host(engine, mapped, plans, scratch)
        return mapped, report


def _attempt_with_care(engine: CudaEngine, mapped: Identified, queue_room: int) -> list[int]:
    """Apply a batch that was identified with care, as far as it goes; returns its report."""
    arena = engine.arena
    if mapped.deleted.size:
        # Who mentions the deleted vertices was counted on the way, so these have their own memory.
        halves = halves_of(engine, mapped)
        sizes = [Size(direction, half.max_rows, half.entries) for direction, half in halves]
        need = _bytes_for(engine, sizes)
    else:
        puts, deletes = mapped.put_columns.size, mapped.delete_columns.size
        halves = None
        need = _bytes_for_lists(engine, puts, deletes, mapped.vertex_count)
    with arena.scratch(need) as scratch:
        if halves is None:
            halves = halves_of(engine, mapped, Pieces(scratch))
        reset = mapped.batch.put_reset
        plans = make_plans(engine, halves, scratch, engine.updates.long_rows, reset)
        return _commit_by_host(engine, mapped, plans, scratch, queue_room)


def _bytes_for_lists(engine: CudaEngine, puts: int, deletes: int, vertex_count: int) -> int:
    """Scratch for the halves of so many edges, and all that follows; no vertex is deleted."""
    entries = (puts + deletes) * (1 if engine.directed else 2)
    rows = min(entries, vertex_count)
    sizes = [Size(direction, rows, entries) for direction in engine.arena.directions()]
    return halves_bytes(engine, puts, deletes) + _bytes_for(engine, sizes)


def _bytes_for(engine: CudaEngine, sizes: list[Size]) -> int:
    """Scratch for all that follows the halves."""
    rows = sum([size.rows for size in sizes])
    return plan_bytes(engine, sizes, engine.updates.long_rows) + serve_bytes(rows)


def _commit_by_host(
    engine: CudaEngine,
    mapped: Identified,
    plans: Plans,
    scratch: DeviceScratch,
    queue_room: int = 0,
) -> list[int]:
    """Serve a planned batch with the host's help, tables and vertices included, and write it."""
    arena = engine.arena
    arena.pull_header()
    if arena[BatchField.STATUS] != BatchStatus.OK:
        came_to: list[int] = arena.header.tolist()
        arena.header[BatchField.STATUS :] = 0
        arena.push_header()
        return came_to
    created, gone = mapped.created.size, mapped.gone.size
    runs = np.zeros(CLASSES, np.int64)
    if plans.plans:
        runs += engine.device.to_host(scratch.array_at(plans.need, CLASSES, np.int64))
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
        enter = enter_lists if mapped.enters else create_vertices
        enter(engine, mapped)
        if plans.plans:
            rewrite(engine, plans.plans, mapped.batch, taken.served, mapped.vertex_count)
        remove_vertices(engine, mapped.gone)
        finish(engine, created - gone, engine.updates.report.address)
        arena.header[BatchField.STATUS :] = 0
        return _read(engine)


def _read(engine: CudaEngine) -> list[int]:
    """Wait for the report and read it; the header's mirror is up to date then."""
    engine.device.synchronize()
    return engine.arena.follow(engine.updates.report.words)


def _outcome(engine: CudaEngine, mapped: Identified, report: list[int]) -> Outcome:
    """Counts of the report."""
    return outcome_of(
        Tally(*report[BatchField.ADDED : BatchField.REPLACED + 1]),
        1 if engine.directed else 2,
        deletes=mapped.batch.delete_indices.size,
        row_puts=mapped.row_puts,
        row_puts_found=mapped.row_puts_found,
        row_deletes=mapped.row_deletes,
        row_deletes_found=mapped.row_deletes_found,
        created=mapped.created.size + report[BatchField.CREATED],
        removed=mapped.gone.size,
    )
