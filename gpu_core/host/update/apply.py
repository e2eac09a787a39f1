"""Apply one batch to the arena image: the apply path of the host engine.

::

    map_ids    users' ids -> vertex indices; which vertices are created          (reads)
    deltas     the batch's entries by row, for each stored direction             (reads)
    plan       what happens to each row whose room may change, exactly           (reads)
    arena      prepare: buddies merged, image compacted or grown, or the batch refused
               take: runs and pages allocated, tables moved to larger runs
    commit     settled rows (`rows/settled.py`), then planned rows; or, where edges expire, the rows
               that have some (`expiry.py`); pages and indices given back

All before *take* leaves the graph as it is, and from there on nothing is refused, so a batch is
applied whole or not at all. What can still cut it off then is Ctrl-C or a machine out of memory;
the engine notices, and refuses to go on (`ImageGraph.committing`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...batch.update_batch import UpdateBatch
from ...image.accounts import Outcome, VertexChanges, numbers_of_batch
from ...image.demand import Demand
from ...image.fields import CLASSES, Field, ImageTable
from ..queries.host_graph import HostGraph
from .commit import properties_of, rewrite
from .deltas import Delta
from .expiring_batch import ExpiringBatch
from .expiry import take_out
from .map_ids import Mapped
from .plan import Plan, make_plan, plan_bytes
from .tally import Tally
from .vertices import create_vertices, remove_vertices

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]


def apply_mapped(
    engine: HostGraph,
    mapped: Mapped,
    deltas: list[tuple[str, Delta]],
    batch: UpdateBatch,
    queue_room: int = 0,
) -> Outcome:
    """Apply a batch by vertex index; ``queue_room`` more freed indices will be queued."""
    with engine.arena.scratch(plan_bytes(deltas)) as scratch:
        plans = [make_plan(engine, direction, delta, scratch) for direction, delta in deltas]
        expired = batch.expired if isinstance(batch, ExpiringBatch) else None
        properties = properties_of(batch)
        recreated, gone = _deleted(mapped)
        demand, tables = _demand(engine, mapped, plans, gone.size + queue_room)
        engine.arena.prepare(demand)
        with engine.committing():
            taken = engine.arena.take(demand)
            for table, size_class in tables:
                engine.arena.move_table(table, int(taken.runs(size_class, 1)[0]), size_class)
            create_vertices(engine, mapped)
            written = [] if expired is None else [take_out(engine, expired)]
            written += [rewrite(engine, plan, properties, taken) for plan in plans]
            for each in written:
                each.give_back()
            remove_vertices(engine, gone)
            # Entries are counted once, in the forward delta.
            tally, header = written[0].tally, engine.arena.header
            header[Field.NUM_VERTICES] += mapped.created.size - gone.size
            # An entry that is lost and put again counts in both.
            header[Field.NUM_EDGES] += (tally.added - tally.removed) // engine.kind.entries_per_edge
            header[Field.BATCHES] += 1
    rows = Tally.sum(each.tally for each in written).rows
    return _outcome(engine, mapped, batch, tally.entries, rows, recreated.size)


def _deleted(mapped: Mapped) -> tuple[UInt32s, UInt32s]:
    """Deleted vertices: those that the batch puts again, which keep their index, and the others."""
    deleted = mapped.deleted
    if deleted.size == 0:
        return deleted, deleted
    flags = np.zeros(mapped.vertex_count, np.bool_)
    flags[mapped.put_rows] = True
    flags[mapped.put_columns] = True
    flags[mapped.put_vertices] = True
    recreated = flags[deleted]
    return deleted[recreated], deleted[~recreated]


def _outcome(
    engine: HostGraph,
    mapped: Mapped,
    batch: UpdateBatch,
    entries: Int64s,
    rows: Int64s,
    recreated: int,
) -> Outcome:
    """Counts of the report, once the batch is written; ``entries`` and ``rows`` of `Tally`."""
    arena, entries_per_edge = engine.arena, engine.kind.entries_per_edge
    if isinstance(batch, ExpiringBatch):
        deletes = Tally(*entries).found_deletes // entries_per_edge
    else:
        # Keys of a numbered batch are not made for that.
        deletes = int(batch.delete_indptr[-1])
    vertices = _vertex_changes(mapped, batch, recreated)
    return Outcome(*numbers_of_batch(
        arena.header, arena.free_run_counts(), entries, rows, entries_per_edge, deletes, vertices,
    ))  # fmt: skip


def _vertex_changes(mapped: Mapped, batch: UpdateBatch, recreated: int) -> VertexChanges:
    puts, deletes, created = batch.put_vertex_rows, batch.delete_vertex_rows, mapped.created.size
    if puts.size == 0 and deletes.size == 0:
        return VertexChanges(0, 0, 0, 0, created, 0)
    # Against the graph as it stands once the deleted vertices are gone.
    put_found = ~np.isin(mapped.put_vertices, mapped.created)
    put_found &= ~np.isin(mapped.put_vertices, mapped.deleted)
    return VertexChanges(
        int(puts.sum()), int((puts & put_found).sum()),
        int(deletes.sum()), int((deletes & mapped.delete_found).sum()),
        created, mapped.deleted.size - recreated,
    )  # fmt: skip


def _demand(
    engine: HostGraph, mapped: Mapped, plans: list[Plan], gone: int
) -> tuple[Demand, list[tuple[ImageTable, int]]]:
    """Demand of the batch: runs by class, and the tables that move to a larger run."""
    arena = engine.arena
    runs = np.zeros(CLASSES, np.int64)
    for plan in plans:
        if plan.rows is not None:
            runs += arena.layout.demand(plan.rows.room_before, plan.rows.room_after)
    pages = int(runs[0]) if arena.layout.is_paged else 0
    tables = arena.growing_tables(mapped.vertex_count, mapped.created.size, gone, pages)
    for _, size_class in tables:
        runs[size_class] += 1
    return Demand(mapped.vertex_count, runs, pages), tables
