"""Apply one batch to the arena image on the device.

::

    identify   users' ids -> vertex indices                                       (reads)
    halves     the batch's entries by row, for each stored direction              (reads)
    plan       what happens to each row whose room may change, exactly            (reads)
    serve      runs handed out, from what `plan` left on the device
    commit     rows, records and free runs; the header is copied to a report
               -> the report is read back

Nobody waits before the end: each step is told by the one before, on the device. Where it cannot go
on, it sets the batch's status, all later ones do nothing, and the report says so:

``UNKNOWN_IDS``    the batch creates or deletes vertices: identified again, with care
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
import numpy.typing as npt

from ..host.apply import Outcome, growing_tables, outcome_of, vertex_table_words
from ..host.demand import Demand
from ..host.plan import Tally
from ..image import CLASSES, HEADER_FIELDS, WORD_BYTES, BatchField, BatchStatus
from .commit import finish, report_words, rewrite
from .free_runs import serve_bytes, serve_demand
from .halves import Half, halves_bytes, halves_of
from .identify import identify
from .plan import LongRows, Plans, Shapes, Size, make_plans, plan_bytes
from .vertices import create_vertices, remove_vertices

if TYPE_CHECKING:
    from .batch import DeviceBatch
    from .engine import CudaEngine
    from .identified import Identified
    from .scratch import DeviceScratch

Int64s = npt.NDArray[np.int64]

#: Batches without long rows after which none are expected any more.
_QUIET_BATCHES: Final = 64


@dataclass
class UpdateState:
    """What an engine remembers from batch to batch."""

    long_rows: LongRows = field(default_factory=LongRows)
    #: Batches since the last one with long rows.
    quiet: int = 0
    shapes: Shapes = field(default_factory=Shapes)

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


def apply_identified(
    engine: CudaEngine, mapped: Identified, batch: DeviceBatch, queue_room: int = 0
) -> Outcome:
    """Apply a batch by vertex index; ``queue_room`` more freed indices will be queued.

    Raises
    ------
    BatchError
        As `identify.identify`, if the batch has to be identified with care.
    ArenaFullError
        The batch does not fit. The graph is as before.
    """
    while True:
        report = _attempt(engine, mapped, queue_room)
        status = int(report[BatchField.STATUS])
        if status == BatchStatus.OK:
            engine.updates.see(int(report[BatchField.LONG_ROWS]))
            return _outcome(engine, mapped, report)
        if status == BatchStatus.UNKNOWN_IDS:
            create = mapped.create_vertices
            mapped = identify(engine, batch, create_vertices=create, careful=True)
        elif status == BatchStatus.NEEDS_SCRATCH:
            engine.updates.provide(int(report[BatchField.SCRATCH_BYTES]))
        else:
            msg = f"the kernels left status {status}"
            raise AssertionError(msg)


def _attempt(engine: CudaEngine, mapped: Identified, queue_room: int) -> Int64s:
    """Apply a batch as far as it goes; returns its report."""
    arena = engine.arena
    if mapped.deleted.size:
        # Who mentions the deleted vertices was counted on the way, so these have their own memory.
        halves = halves_of(engine, mapped)
        sizes = [Size(direction, half.max_rows, half.entries) for direction, half in halves]
        with arena.scratch(_bytes_for(engine, sizes)) as scratch:
            return _planned(engine, mapped, halves, scratch, queue_room)
    puts, deletes = mapped.put_columns.size, mapped.delete_columns.size
    entries = (puts + deletes) * (1 if engine.directed else 2)
    rows = min(entries, mapped.vertex_count)
    sizes = [Size(direction, rows, entries) for direction in arena.directions()]
    need = halves_bytes(engine, puts, deletes) + _bytes_for(engine, sizes)
    image = arena.image
    with arena.scratch(need) as scratch:
        if arena.image is not image and not mapped.careful:
            # Scratch has grown, and the status that `identify` left is lost with the old image.
            mapped = identify(engine, mapped.batch, create_vertices=mapped.create_vertices)
        halves = halves_of(engine, mapped, scratch)
        return _planned(engine, mapped, halves, scratch, queue_room)


def _bytes_for(engine: CudaEngine, sizes: list[Size]) -> int:
    """Scratch for all that follows the halves."""
    rows = sum(size.rows for size in sizes)
    report = report_words() * np.dtype(np.int64).itemsize
    return plan_bytes(engine, sizes, engine.updates.long_rows) + serve_bytes(rows) + report


def _planned(
    engine: CudaEngine,
    mapped: Identified,
    halves: list[tuple[str, Half]],
    scratch: DeviceScratch,
    queue_room: int,
) -> Int64s:
    plans = make_plans(engine, halves, scratch, engine.updates.long_rows, mapped.batch.put_reset)
    report = scratch.take(report_words(), np.int64)
    if mapped.careful:
        return _commit_by_host(engine, mapped, plans, report, queue_room)
    with engine.committing():
        if plans.plans:
            served = serve_demand(engine.arena, plans.need, plans.most, scratch)
            rewrite(engine, plans.plans, mapped.batch, served, report=report)
        else:
            finish(engine, 0, report)
        came_to = _read(engine, report)
    if came_to[BatchField.STATUS] != BatchStatus.NEEDS_HOST:
        return came_to
    # What `commit` needs of the plan was cleared with the rest.
    for name in (BatchField.LONG_ROWS, BatchField.LONG_TILES, BatchField.SCRATCH_BYTES):
        engine.arena.header[name] = came_to[name]
    engine.arena.push_header()
    return _commit_by_host(engine, mapped, plans, report, queue_room)


def _commit_by_host(
    engine: CudaEngine, mapped: Identified, plans: Plans, report: Int64s, queue_room: int
) -> Int64s:
    """Serve a planned batch with the host's help, tables and vertices included, and write it."""
    arena = engine.arena
    arena.pull_header()
    if arena[BatchField.STATUS] != BatchStatus.OK:
        came_to = arena.header.copy()
        arena.header[BatchField.STATUS :] = 0
        arena.push_header()
        return came_to
    created, gone = mapped.created.size, mapped.gone.size
    runs = np.zeros(CLASSES, np.int64)
    if plans.plans:
        runs += engine.device.to_host(plans.need)
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
        create_vertices(engine, mapped)
        if plans.plans:
            count = mapped.vertex_count
            rewrite(engine, plans.plans, mapped.batch, taken, vertex_count=count)
        remove_vertices(engine, mapped.gone)
        finish(engine, created - gone, report)
        return _read(engine, report)


def _read(engine: CudaEngine, report: Int64s) -> Int64s:
    """Read a report back, after all work before; the header's mirror is up to date then."""
    came_to: Int64s = engine.device.read_words(report)
    header = engine.arena.header
    header[:] = came_to[:HEADER_FIELDS]
    header[BatchField.STATUS :] = 0
    engine.arena.keep_counts(came_to[HEADER_FIELDS:])
    return came_to


def _outcome(engine: CudaEngine, mapped: Identified, report: Int64s) -> Outcome:
    """Counts of the report."""
    tally = Tally(
        added=int(report[BatchField.ADDED]),
        found_puts=int(report[BatchField.FOUND_PUTS]),
        found_deletes=int(report[BatchField.FOUND_DELETES]),
        removed=int(report[BatchField.REMOVED]),
        replaced=int(report[BatchField.REPLACED]),
    )
    return outcome_of(
        tally,
        1 if engine.directed else 2,
        deletes=mapped.batch.delete_indices.size,
        row_puts=mapped.row_puts,
        row_puts_found=mapped.row_puts_found,
        row_deletes=mapped.row_deletes,
        row_deletes_found=mapped.row_deletes_found,
        created=mapped.created.size,
        removed=mapped.gone.size,
    )
