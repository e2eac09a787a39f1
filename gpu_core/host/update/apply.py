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
from ...image.fields import CLASSES, Field, Table
from ..queries.host_graph import HostGraph
from .commit import rewrite
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
        recreated = _recreated(mapped)
        gone = np.setdiff1d(mapped.deleted, recreated, assume_unique=True)
        demand, tables = _demand(engine, mapped, plans, gone.size + queue_room)
        engine.arena.prepare(demand)
        with engine.committing():
            taken = engine.arena.take(demand)
            for table, size_class in tables:
                engine.arena.move_table(table, int(taken.runs(size_class, 1)[0]), size_class)
            create_vertices(engine, mapped)
            written = [] if expired is None else [take_out(engine, expired)]
            written += [rewrite(engine, plan, batch, taken) for plan in plans]
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


def _recreated(mapped: Mapped) -> UInt32s:
    """Vertices that the batch deletes and puts again: they keep their index."""
    if mapped.deleted.size == 0:
        return mapped.deleted
    flags = np.zeros(mapped.vertex_count, np.bool_)
    flags[mapped.put_rows] = True
    flags[mapped.put_columns] = True
    flags[mapped.put_vertices] = True
    return mapped.deleted[flags[mapped.deleted]]


def _outcome(
    engine: HostGraph,
    mapped: Mapped,
    batch: UpdateBatch,
    entries: Int64s,
    rows: Int64s,
    recreated: int,
) -> Outcome:
    """Counts of the report, once the batch is written; ``entries`` and ``rows`` of `Tally`."""
    # Against the graph as it stands once the deleted vertices are gone.
    put_found = ~np.isin(mapped.put_vertices, mapped.created)
    put_found &= ~np.isin(mapped.put_vertices, mapped.deleted)
    arena, entries_per_edge = engine.arena, engine.kind.entries_per_edge
    if isinstance(batch, ExpiringBatch):
        deletes = Tally(*entries).found_deletes // entries_per_edge
    else:
        # Keys of a numbered batch are not made for that.
        deletes = int(batch.delete_indptr[-1])
    vertices = VertexChanges(
        int(batch.put_vertex_rows.sum()), int((batch.put_vertex_rows & put_found).sum()),
        int(batch.delete_vertex_rows.sum()),
        int((batch.delete_vertex_rows & mapped.delete_found).sum()),
        mapped.created.size, mapped.deleted.size - recreated,
    )  # fmt: skip
    return Outcome(*numbers_of_batch(
        arena.header, arena.free_run_counts(), entries, rows, entries_per_edge, deletes, vertices,
    ))  # fmt: skip


def _demand(
    engine: HostGraph, mapped: Mapped, plans: list[Plan], gone: int
) -> tuple[Demand, list[tuple[Table, int]]]:
    """Demand of the batch: runs by class, and the tables that move to a larger run."""
    arena = engine.arena
    runs = np.zeros(CLASSES, np.int64)
    for plan in plans:
        runs += arena.layout.demand(plan.rows.room_before, plan.rows.room_after)
    pages = int(runs[0]) if arena.layout.is_paged else 0
    tables = arena.growing_tables(mapped.vertex_count, mapped.created.size, gone, pages)
    for _, size_class in tables:
        runs[size_class] += 1
    return Demand(mapped.vertex_count, runs, pages), tables
