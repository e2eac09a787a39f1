"""Apply a batch to rows on pages: the one update path for all layouts but ``runs``, on the device.

Part of   the apply path: map ids -> deltas -> **plan -> allocate_demand -> commit**
Launches  `segmented_launches.py`; scratch: `listed_room.py`; the method: ``segmented.cuh``
Twin      ``host/update/plan.py``, ``host/update/commit.py``: the same pages for the same batch

Ids are mapped and deltas made by the writer of all batches (`batch_launches.py`); what is launched
then is written by `segmented_launches.py`. A batch whose vertices are all there is launched from
end to end without a read-back: a launch leaves what it finds to the next one on the device. The
report says at the end whether it was applied (`BatchStatus`); where not, the graph is as before:

``NEEDS_SCRATCH``  more rows are listed than there was room for: applied again with more
``NEEDS_HOST``     pages do not suffice, or the page queue must grow: planned again, and the demand
                   is allocated by the arena (`DeviceArena.prepare`, `take`)
``UNKNOWN_IDS``    it names unknown ids: mapped by the host, and allocated likewise
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ...image.demand import Demand
from ...image.fields import CLASSES, HEADER_FIELDS, BatchField, BatchStatus, Field, Table
from ..device.packed_arguments import address
from ..memory import free_runs
from ..memory.scratch import DeviceScratch
from ..structs import PROPERTIES
from .batch_launches import MAP, SORT, write_launches
from .commit import finish
from .context import NEEDS_ASSISTANCE, SHORT_OF_SCRATCH, start_batch
from .listed_room import Room, bytes_of_plans, most_pages, most_rows
from .map_ids import check_fits, map_with_host
from .modes import Following, Mode, following
from .segmented_launches import (
    PAGES,
    DeltaPlan,
    deltas_of,
    enter_vertices,
    launch_commit,
    launch_plan,
    place_plans,
    queue_words,
)
from .vertices import create_vertices, remove_vertices

if TYPE_CHECKING:
    from .batch import DeviceBatch
    from .context import LaunchContext
    from .mapped import Mapped
    from .state import UpdatableGraph

#: Where `count_listed` says how much is listed, in the order of `Room`.
_LISTED: Final = BatchField.LONG_ROWS, BatchField.LONG_TILES, BatchField.SCRATCH_BYTES
_PROPERTY_BYTES: Final = 8 * PROPERTIES.words


def apply_segmented(graph: UpdatableGraph, batch: DeviceBatch) -> Mapped | None:
    """Apply a batch; the report says what it came to. ``graph.lock`` is held.

    Returns
    -------
    Mapped or None
        The batch, where the host has mapped it.

    Raises
    ------
    BatchError
        As `map_ids.map_with_host`.
    ArenaFullError
        The batch does not fit. The graph is as before.
    """
    state, report = graph.updates.segmented, graph.updates.report
    mapped, by_host = None, False
    while True:
        if mapped is None:
            mode, status = _attempt(graph, batch, by_host=by_host)
        else:
            mode, status = Mode.ASSISTED, _attempt_assisted(graph, mapped)
        starts = mode is not Mode.ASSISTED or mapped is not None
        step = following(mode, status) if starts else Following.ASSIST
        if step is Following.DONE:
            state.record_aging()
            return mapped
        if step is Following.AGAIN:
            state.provide(Room(*(report[field] for field in _LISTED)))
        elif step is Following.COMMIT and mode is Mode.COMMON and not by_host:
            by_host = True
        else:
            # Unknown ids, or vertices that are created with the host's help.
            check_fits(graph, batch)
            mapped = map_with_host(graph, batch)


def _attempt(graph: UpdatableGraph, batch: DeviceBatch, *, by_host: bool) -> tuple[Mode, int]:
    """Apply a batch whose vertices are all there, as it seems, or enter as they are met.

    Returns
    -------
    mode, status
        ``ASSISTED``: nothing was started.
    """
    arena = graph.arena
    entries = batch.data["put_indices"].size + batch.data["delete_indices"].size
    reserve = bytes_of_plans(graph, most_rows(graph, entries))
    context = graph.renewed_context()
    while True:
        graph.device.enter()
        scratch, scratch_end = arena.free_scratch()
        code, number = start_batch(
            context.address, batch.facts, scratch, scratch_end, MAP | SORT, reserve
        )
        if code != SHORT_OF_SCRATCH:
            break
        arena.provide_scratch(number)
        context = graph.renewed_context()
    if code == NEEDS_ASSISTANCE:
        return Mode.ASSISTED, 0
    if code:
        graph.device.refuse(context.lines, code, number)
    mode = Mode(context.call("mode"))
    return mode, _apply_deltas(
        graph, batch, None, context, by_host=by_host, enters=mode is Mode.ENTERING
    )


def _attempt_assisted(graph: UpdatableGraph, mapped: Mapped) -> int:
    """Apply a batch that the host has mapped; returns its status."""
    arena = graph.arena
    while True:
        context = graph.renewed_context()
        start_batch(context.address, mapped.batch.facts, *arena.free_scratch(), 0, 0)
        context.set_call(after=mapped.vertex_count)
        mapped.fill(context.record["mapped"])
        end = write_launches(context.lines, context.facts, arena.header, SORT)
        sizes = [(delta.max_rows, delta.entries) for delta in deltas_of(context)]
        end += bytes_of_plans(graph, sizes)
        if end <= context.call("scratch_end"):
            break
        arena.provide_scratch(end - context.call("scratch"))
    graph.device.start(context.lines)
    return _apply_deltas(graph, mapped.batch, mapped, context, by_host=True)


def _apply_deltas(
    graph: UpdatableGraph,
    batch: DeviceBatch,
    mapped: Mapped | None,
    context: LaunchContext,
    *,
    by_host: bool,
    enters: bool = False,
) -> int:
    """Plan, allocate and commit the deltas of a batch, which are being made; returns its status.

    ``enters``: its lists tell which vertices are new; else ``mapped`` does.
    """
    arena, deltas = graph.arena, deltas_of(context)
    base = address(arena.image)
    scratch = DeviceScratch(
        graph.device.xp, arena.image, context.call("deltas_end") - base,
        context.call("scratch_end") - base,
    )  # fmt: skip
    plans, need = place_plans(graph, deltas, scratch), scratch.place(8 * CLASSES)
    properties = batch.facts[-_PROPERTY_BYTES:]
    if by_host:
        return _commit_by_host(graph, mapped, plans, properties, scratch, need)
    report, count = graph.updates.report, context.call("after")
    with graph.committing():
        if plans:
            launch_plan(graph, plans, properties, need)
            most = sum(
                most_pages(graph, each.direction, each.max_rows, each.entries) for each in deltas
            )
            allocated = free_runs.allocate_demand(arena, need, most, count, scratch)
            if enters:
                enter_vertices(graph, batch, count)
            back, queued = arena[Field.PAGE_QUEUE_BACK], arena.pages_queued
            queue, slots = arena.table_address(Table.PAGE_QUEUE), queue_words(graph)
            pages = PAGES(
                queue, slots - 1, arena[Field.PAGE_QUEUE_FRONT], queued, allocated.allocation,
                allocated.taken,
            )  # fmt: skip
            ring = queue, slots - 1, back, 1
            launch_commit(graph, plans, properties, pages, ring, count)
        elif arena.growing_tables(graph.vertex_count, 0, 0, 0):
            return _commit_by_host(graph, mapped, plans, properties, scratch, need)
        finish(graph, 0, report.address)
        arena.follow(report)
    return report[BatchField.STATUS]


def _commit_by_host(
    graph: UpdatableGraph,
    mapped: Mapped | None,
    plans: list[DeltaPlan],
    properties: bytes,
    scratch: DeviceScratch,
    need: int,
) -> int:
    """Allocate the demand, tables and vertices, with the host's help; returns the status."""
    arena, report = graph.arena, graph.updates.report
    created, gone = (mapped.created.size, mapped.gone.size) if mapped else (0, 0)
    count = graph.updates.context.call("after")
    if plans:
        # The page queue grows here, if it must: the kernels need not ask.
        launch_plan(graph, plans, properties, need, queued=0, ring_words=1 << 62)
    arena.pull_header()
    listed, status = [arena[field] for field in _LISTED], arena[BatchField.STATUS]
    arena.header[BatchField.STATUS :] = 0
    arena.push_header()
    if status != BatchStatus.OK:
        report.words[BatchField.STATUS : HEADER_FIELDS] = 0
        report.words[BatchField.STATUS] = status
        for field, number in zip(_LISTED, listed, strict=True):
            report.words[field] = number
        return status
    pages = 0
    if plans:
        pages = int(graph.device.read_words(scratch.array_at(need, CLASSES, np.int64))[0])
    runs = np.zeros(CLASSES, np.int64)
    runs[0] = pages
    tables = arena.growing_tables(count, created, gone, pages)
    for _, size_class in tables:
        runs[size_class] += 1
    demand, image = Demand(count, runs, pages), arena.image
    arena.prepare(demand)
    if plans and arena.image is not image:
        # Rows have moved: what was found of their pages is found again. Nothing else has changed.
        launch_plan(graph, plans, properties, need, queued=0, ring_words=1 << 62)
    with graph.committing():
        taken = arena.take(demand)
        for table, size_class in tables:
            arena.move_table(table, int(taken.runs(size_class, 1)[0]), size_class)
        if mapped:
            create_vertices(graph, mapped)
        if plans:
            recycled = taken.queued
            handed = PAGES(
                address(recycled),
                -1,
                0,
                recycled.size,
                taken.allocated.allocation,
                taken.allocated.taken,
            )
            queue, slots = arena.table_address(Table.PAGE_QUEUE), queue_words(graph)
            ring = queue, slots - 1, arena[Field.PAGE_QUEUE_BACK], 0
            launch_commit(graph, plans, properties, handed, ring, count)
        if mapped:
            remove_vertices(graph, mapped.gone)
        finish(graph, created - gone, report.address)
        arena.header[BatchField.STATUS :] = 0
        arena.follow(report)
    return report[BatchField.STATUS]
