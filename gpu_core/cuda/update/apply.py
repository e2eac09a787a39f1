"""Apply one batch to the arena image on the device.

::

    map ids    users' ids -> vertex indices                                       (reads)
    deltas     the batch's entries by row, for each stored direction              (reads)
    plan       what happens to each row whose room may change, exactly            (reads)
    allocate   runs for the demand that `plan` left on the device
    commit     vertices of dense ids that are new; rows, records and free runs; the header goes to a
               report, in memory of the host
               -> the host waits, and reads it

A batch whose vertices are all there, or have dense ids, is one list of launches, which compiled
code writes before the first of them runs (`batch_launches.py`). Each step learns on the device what
the one before has found; where it cannot go on, it sets the batch's status, and all later ones do
nothing. What follows each status: `modes.py`.

Other batches, and those that need more pages or larger tables, are allocated with the host's help.
Nothing is changed before *allocate*, and after it nothing is refused: a batch is applied whole or
not at all. Twin: ``host/update/apply.py``; both take the same runs for the same batch.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ...batch.update_batch import UpdateBatch
from ...image.accounts import Outcome, VertexChanges, numbers_of_batch
from ...image.demand import Demand
from ...image.fields import CLASSES, HEADER_FIELDS, BatchField, BatchStatus, Field, ImageTable
from ..device.device import Array
from ..device.packed_arguments import address, packer
from ..memory.scratch import DeviceScratch
from ..structs import BLOCK
from .assisted.map_ids import check_fits, map_with_host
from .assisted.mapped import Mapped
from .assisted.vertices import create_vertices, remove_vertices
from .batch import DeviceBatch, upload
from .batch_launches import write_launches
from .kernels import defines_of
from .launched_batch import (
    NEEDS_ASSISTANCE,
    SHORT_OF_SCRATCH,
    finish_batch,
    start_batch,
)
from .modes import Mode, NextStep, next_step
from .state import UpdatableGraph
from .steps import ALL_STEPS, COMMIT, ENTER, PLAN, SORT

_CLOSING: Final = packer("image", "entries_per_edge", "more_vertices", "report")


def apply_batch(graph: UpdatableGraph, batch: UpdateBatch | DeviceBatch) -> Outcome:
    """Apply a batch of users' ids.

    Raises
    ------
    BatchError
        As `map_ids.map_with_host`.
    ArenaFullError
        The batch does not fit. The graph is as before.
    """
    if isinstance(batch, UpdateBatch):
        with graph.lock:
            batch = upload(graph.staging, batch, dense=graph.kind.dense_ids)
    while True:
        mode, status, outcome = _launch(graph, batch)
        if outcome is not None:
            return outcome
        step = NextStep.ASSIST if mode is Mode.ASSISTED else next_step(mode, status)
        with graph.lock:
            if step is NextStep.ASSIST:
                return _apply_assisted(graph, batch)
            if step is NextStep.COMMIT:
                return _commit_planned(graph, batch, enters=mode is Mode.ENTERING)
            graph.updates.provide()


def _launch(graph: UpdatableGraph, batch: DeviceBatch) -> tuple[Mode, int, Outcome | None]:
    """Apply a batch as far as kernels alone can.

    Returns
    -------
    mode, status
        ``ASSISTED``: nothing was started; else the report is valid, and has the status.
    outcome : Outcome or None
        What the batch came to, where the status is ``OK``.

    Raises
    ------
    ArenaFullError
        There is not so much scratch, and the arena cannot grow.
    EngineError
        CUDA failed.
    """
    arena, updates = graph.arena, graph.updates
    in_buckets = updates.skew.permits_buckets()
    while True:
        context = graph.renewed_context()
        graph.device.enter()
        graph.torn = True
        scratch, scratch_end = arena.free_scratch()
        code, number = start_batch(
            context.address, batch.facts, scratch, scratch_end, ALL_STEPS, in_buckets
        )
        if code in (NEEDS_ASSISTANCE, SHORT_OF_SCRATCH):
            graph.torn = False
            if code == NEEDS_ASSISTANCE:
                return Mode.ASSISTED, 0, None
            with graph.lock:
                arena.provide_scratch(number)
            continue
        if code == 0:
            arena.kept_counts = updates.report.counts
            code, status, numbers = finish_batch(context.address)
        if code:
            graph.device.refuse(context.launches, code, number)
        graph.torn = False
        if status != BatchStatus.OK:
            return Mode(context.call("mode")), status, None
        updates.expected.record(updates.report)
        # Straight: what a `NamedTuple` is made by takes each field as an argument.
        return Mode.COMMON, status, tuple.__new__(Outcome, numbers)


def _commit_planned(graph: UpdatableGraph, batch: DeviceBatch, *, enters: bool) -> Outcome:
    """Commit a batch with the host's help that kernels alone could plan, but not allocate."""
    # Its scratch is where it was: nothing else has been taken since.
    _restore_plan(graph)
    if graph.layout.is_paged:
        _plan_again(graph)
    _commit_by_host(graph, graph.arena.image, None, enters=enters)
    return _outcome(graph, batch, None)


def _restore_plan(graph: UpdatableGraph) -> None:
    """Write back what `commit` needs of the plan, which was cleared with the batch's fields."""
    arena, report = graph.arena, graph.updates.report
    for name in (BatchField.LONG_ROWS, BatchField.LONG_TILES, BatchField.SCRATCH_BYTES):
        arena.header[name] = report[name]
    arena.push_header()


def _plan_again(graph: UpdatableGraph) -> None:
    """Plan a batch on pages again, where the host allocates: its rows may have been moved.

    The demand counts all pages then, those that are queued too.
    """
    context = graph.renewed_context()
    write_launches(context.launches, context.facts, graph.arena.header, PLAN)
    graph.device.run(context.launches)


def _apply_assisted(graph: UpdatableGraph, batch: DeviceBatch) -> Outcome:
    """Apply a batch with the host's help: it learns how many vertices are new or go."""
    check_fits(graph, batch)
    return apply_mapped(graph, map_with_host(graph, batch))


def apply_mapped(graph: UpdatableGraph, mapped: Mapped) -> Outcome:
    """Apply a batch by vertex index, with the host's help; the graph's lock is held.

    Raises
    ------
    ArenaFullError
        The batch does not fit. The graph is as before, once the batch is forgotten
        (`forget_batch`).
    """
    updates = graph.updates
    while True:
        status = _plan_and_commit(graph, mapped)
        if status is None:
            continue
        if next_step(Mode.ASSISTED, status) is NextStep.DONE:
            updates.expected.record(updates.report)
            return _outcome(graph, mapped.batch, mapped)
        updates.provide()


def forget_batch(graph: UpdatableGraph) -> None:
    """Discard the demand and report of a batch that was not applied; the graph's lock is held."""
    graph.updates.expected.forget()
    if not graph.is_broken:
        graph.arena.pull_header()
        graph.arena.header[BatchField.STATUS :] = 0
        graph.arena.push_header()


def _plan_and_commit(graph: UpdatableGraph, mapped: Mapped) -> int | None:
    """Plan a mapped batch and commit it with the host's help.

    Returns
    -------
    int or None
        Its status; `None`: there was too little scratch, and now there is enough.
    """
    context, arena = graph.renewed_context(), graph.arena
    in_buckets = graph.updates.skew.permits_buckets()
    start_batch(context.address, mapped.batch.facts, *arena.free_scratch(), 0, in_buckets)
    context.set_call(after=mapped.vertex_count, report=0)
    mapped.fill(context.record["mapped"])
    memory = arena.image
    end = write_launches(context.launches, context.facts, arena.header, SORT | PLAN)
    if end > context.call("scratch_end"):
        arena.provide_scratch(end - context.call("scratch"))
        return None
    graph.device.run(context.launches)
    return _commit_by_host(graph, memory, mapped)


def _commit_by_host(
    graph: UpdatableGraph, memory: Array, mapped: Mapped | None, *, enters: bool = False
) -> int:
    """Allocate a planned batch with the host's help, tables and vertices included, and write it.

    Parameters
    ----------
    memory
        What the scratch of the plan is part of.
    mapped
        The batch, where the host has mapped it.
    enters
        Its lists tell which vertices are new.
    """
    arena, context, report = graph.arena, graph.updates.context, graph.updates.report
    arena.pull_header()
    if arena[BatchField.STATUS] != BatchStatus.OK:
        report.words[:HEADER_FIELDS] = arena.header
        arena.header[BatchField.STATUS :] = 0
        arena.push_header()
        return report[BatchField.STATUS]
    demand, tables = _demand(graph, memory, mapped)
    image = arena.image
    arena.prepare(demand)
    if graph.layout.is_paged and arena.image is not image:
        # What was found of the pages of rows is found again. Nothing else has changed.
        _plan_again(graph)
    with graph.committing():
        taken = arena.take(demand)
        for table, size_class in tables:
            arena.move_table(table, int(taken.runs(size_class, 1)[0]), size_class)
        if mapped:
            create_vertices(graph, mapped)
        graph.renewed_context()
        allocated = taken.allocated
        context.set_call(
            report=0, allocation=allocated.allocation, taken=allocated.taken,
            recycled=address(taken.queued), recycled_pages=taken.queued.size,
        )  # fmt: skip
        steps = COMMIT | ENTER if enters else COMMIT
        write_launches(context.launches, context.facts, arena.header, steps)
        graph.device.run(context.launches)
        more_vertices = 0
        if mapped:
            remove_vertices(graph, mapped.gone)
            more_vertices = mapped.created.size - mapped.gone.size
        _close(graph, more_vertices, report.address)
        arena.header[BatchField.STATUS :] = 0
        arena.update_mirror(report)
    return report[BatchField.STATUS]


def _demand(
    graph: UpdatableGraph, memory: Array, mapped: Mapped | None
) -> tuple[Demand, list[tuple[ImageTable, int]]]:
    """Demand of a planned batch: runs by class, and the tables that move to a larger run."""
    arena, context = graph.arena, graph.updates.context
    runs = np.zeros(CLASSES, np.int64)
    if context.call("deltas"):
        scratch = DeviceScratch(graph.device.xp, memory)
        need = scratch.array_at(context.call("need"), CLASSES, np.int64)
        runs += graph.device.to_host(need)
    count, pages = context.call("after"), int(runs[0]) if graph.layout.is_paged else 0
    created, queued = 0, 0
    if mapped:
        created, queued = mapped.created.size, mapped.gone.size + mapped.queue_room
    tables = arena.growing_tables(count, created, queued, pages)
    for _, size_class in tables:
        runs[size_class] += 1
    return Demand(count, runs, pages), tables


def _close(graph: UpdatableGraph, more_vertices: int, report: int) -> None:
    """End a batch: count it in the header, write its report, and clear its fields; wait for that.

    Where the host has nothing to add, the batch's list of launches ends with the same kernel.

    Parameters
    ----------
    more_vertices
        Vertices that the host created for the batch, less those that the batch deleted.
    report
        Address of a `memory.batch_report.DeviceReport`.
    """
    graph.device.launch_packed(
        "commit.cu", "close_batch", 1, BLOCK,
        _CLOSING(address(graph.image), graph.kind.entries_per_edge, more_vertices, report),
        defines_of(graph.arena[Field.ENTRY_WORDS]),
    )  # fmt: skip
    graph.device.synchronize()


def _outcome(graph: UpdatableGraph, batch: DeviceBatch, mapped: Mapped | None) -> Outcome:
    """Numbers of the batch from its report; ``mapped`` as of `_commit_by_host`."""
    report = graph.updates.report
    row_puts, created = batch.put_vertex_row_count, report[BatchField.CREATED]
    vertices = VertexChanges(row_puts, row_puts, batch.delete_vertex_row_count, 0, created, 0)
    if mapped is not None:
        vertices = vertices._replace(
            row_puts_found=mapped.row_puts_found, row_deletes_found=mapped.row_deletes_found,
            created=created + mapped.created.size, removed=mapped.gone.size,
        )  # fmt: skip
    return Outcome(*numbers_of_batch(
        report.header, report.counts, report.tally, report.rows, graph.kind.entries_per_edge,
        batch.delete_indices.size, vertices,
    ))  # fmt: skip
