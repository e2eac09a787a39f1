"""The host engine: applies batches to the arena image in host memory, with Numba kernels.

One batch goes through five files, in this order::

    identify   users' ids -> vertex indices; which vertices are created          (reads)
    halves     the batch's entries by row, for each stored direction             (reads)
    plan       what happens to each touched row, exactly; the report's counts     (reads)
    arena      demand bounded; buddies merged, image compacted or grown, or refused
    commit     segments and records written; pages and indices given back        (cannot fail)

All before *commit* leaves the graph as it is, so a batch is applied whole or not at all. If commit
is cut off all the same (Ctrl-C in a notebook), the engine says so and refuses to go on.

The engine knows vertex indices; users' ids are met only in `identify` and in the tables of the
dictionary. The face of it all is `graph.DynamicGraph`.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..batch import UpdateBatch
from ..errors import EngineError
from ..image import (
    CLASSES,
    NONE,
    PRESENT_BIT,
    STATE_WORD,
    Field,
    Shape,
    Table,
)
from ..layouts import LAYOUTS
from ..memory import MemoryReport
from ..records import Record
from . import dictionary, pagerank, triangles
from .arena import Arena, Demand, Scratch, Taken
from .commit import NO_CLASS, cut_chain, place_chain, place_runs, rewrite_rows
from .halves import DELETE, MENTION, PUT, Entries, Half, expand_rows, in_order, sorted_half
from .identify import Identified, identify
from .parallel import for_ranges
from .plan import list_unsettled, plan_rows
from .settled import merge_settled
from .vertices import copy_neighbours, count_mentions, degrees_of, list_mentions, present_flags

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Outcome:
    """Counts of an applied batch; fields as in `report.BatchReport`."""

    missing: int
    inserted: int
    updated: int
    deleted: int
    edges_added: int
    edges_removed: int
    vertices_created: int
    vertices_removed: int


@dataclass
class Tally:
    """Entries of one half by what became of them, as `plan_rows` counts them."""

    added: int = 0
    found_puts: int = 0
    found_deletes: int = 0
    removed: int = 0
    replaced: int = 0

    def add(self, sums: Iterable[tuple[int, int, int, int, int]]) -> None:
        """Add what the ranges of a kernel returned."""
        for added, found_puts, found_deletes, removed, replaced in sums:
            self.added += added
            self.found_puts += found_puts
            self.found_deletes += found_deletes
            self.removed += removed
            self.replaced += replaced


@dataclass
class Plan:
    """A half, and what will happen to those of its rows that are not settled."""

    direction: str
    half: Half
    #: Whether the half has puts, and deletes or mentions.
    puts: bool
    deletes: bool
    #: Numbers of the rows that are not settled; the last four arrays have one item for each.
    which: Int64s
    #: Of the entries of those rows: position in the old adjacency, and whether it was there.
    position: UInt32s
    found: npt.NDArray[np.bool_]
    degree_before: UInt32s
    degree_after: UInt32s
    room_before: UInt32s
    room_after: UInt32s
    tally: Tally


@dataclass(frozen=True)
class Algorithms:
    """Twins of the algorithms' inner loops, by the name of the algorithm."""

    pagerank = pagerank
    triangles = triangles


class HostEngine:
    """Dynamic graph in host memory, by vertex index.

    Parameters are those of `Arena`; every method that changes or reads the image holds the
    engine's lock, so one graph may be used from several threads.
    """

    name = "host"
    algorithms = Algorithms()

    def __init__(
        self,
        *,
        record: Record,
        directed: bool,
        reverse: bool,
        soa: bool,
        layout: str,
        dense_ids: bool,
        page_bytes: int | None = None,
        arena_bytes: int | None = None,
        limit_bytes: int | None = None,
    ) -> None:
        self.record = record
        self.directed = directed
        self.has_reverse = reverse or not directed
        self.arena = Arena(
            record=record,
            directed=directed,
            reverse=reverse and directed,
            soa=soa,
            layout=layout,
            dense_ids=dense_ids,
            page_bytes=page_bytes,
            arena_bytes=arena_bytes,
            limit_bytes=limit_bytes,
        )
        self.lock = threading.RLock()
        self._is_chain = LAYOUTS[layout].CODE == LAYOUTS["chain"].CODE
        self._torn = False

    # -- what algorithms and queries read ----------------------------------------------------

    @property
    def image(self) -> UInt32s:
        """The words of the image. Valid until the next batch."""
        return self.arena.image

    def shape(self, direction: str) -> Shape:
        """Numbers that walk the adjacencies ``out`` or ``in`` (undirected: the same)."""
        self._check_whole()
        return self.arena.shape(direction)

    @property
    def vertex_count(self) -> int:
        """Vertex records in use; some of them may be of absent vertices."""
        return self.arena[Field.VERTEX_COUNT]

    def present(self) -> npt.NDArray[np.bool_]:
        """bool[vertex_count]: is the vertex in the graph?"""
        out = np.empty(self.vertex_count, np.bool_)
        for_ranges(present_flags, out.size, self.image, self.shape("out"), out)
        return out

    def user_ids(self) -> Int64s:
        """int64[vertex_count]: users' ids; undefined where the vertex is absent."""
        if self.arena[Field.DENSE_IDS]:
            return np.arange(self.vertex_count, dtype=np.int64)
        return self.arena.table(Table.VERTEX_IDS).view(np.int64)[: self.vertex_count].copy()

    def sorted_order(self) -> Int64s:
        """int64[num_vertices]: indices of the vertices, in increasing order of users' ids."""
        indices = np.flatnonzero(self.present())
        if self.arena[Field.DENSE_IDS]:
            return indices
        ids = self.user_ids()[indices]
        return indices if np.all(ids[:-1] < ids[1:]) else indices[np.argsort(ids)]

    def degrees(self, indices: UInt32s, direction: str = "out") -> Int64s:
        """int64: degree of each vertex index; 0 for `NONE`."""
        out = np.empty(indices.size, np.int64)
        for_ranges(degrees_of, out.size, self.image, self.shape(direction), indices, out)
        return out

    def neighbours(self, indices: UInt32s, direction: str = "out") -> tuple[Int64s, UInt32s]:
        """Adjacencies of several vertices as CSR (indptr, columns), columns by index."""
        degrees = self.degrees(indices, direction)
        indptr = np.concatenate([[0], np.cumsum(degrees)])
        out = np.empty(indptr[-1], np.uint32)
        shape = self.shape(direction)
        for_ranges(copy_neighbours, indices.size, self.image, shape, indices, indptr, out)
        return indptr, out

    @property
    def num_vertices(self) -> int:
        """Vertices in the graph."""
        return self.arena[Field.NUM_VERTICES]

    @property
    def num_edges(self) -> int:
        """Edges in the graph; an undirected edge counts once."""
        return self.arena[Field.NUM_EDGES]

    def ids_of(self, indices: UInt32s) -> Int64s:
        """Users' id of each vertex index."""
        if self.arena[Field.DENSE_IDS]:
            return indices.astype(np.int64)
        return self.arena.table(Table.VERTEX_IDS).view(np.int64)[indices]

    def free_pages(self) -> tuple[int, int, int]:
        """Pages used, pages that can be handed out without growth, largest free run."""
        return self.arena.free_pages()

    def image_bytes(self) -> memoryview:
        """Bytes of the image without scratch. Valid until the next batch."""
        return self.image[: self.arena[Field.PAGE_END]].data

    def memory(self) -> MemoryReport:
        """Bytes by region."""
        return self.arena.memory()

    # -- applying a batch --------------------------------------------------------------------

    def apply(self, batch: UpdateBatch, *, create_vertices: bool) -> Outcome:
        """Apply a validated batch, whole or not at all.

        Raises
        ------
        BatchError
            An id cannot be a vertex of this graph, or an end point is missing.
        ArenaFullError
            The batch does not fit.
        """
        with self.lock:
            self._check_whole()
            mapped = identify(self.arena, batch, create_vertices=create_vertices)
            return self.apply_identified(mapped, batch)

    def apply_identified(
        self, mapped: Identified, batch: UpdateBatch, queue_room: int = 0
    ) -> Outcome:
        """Apply a batch by vertex index; ``queue_room`` more freed indices will be queued."""
        halves = self._halves(mapped, batch)
        with self.arena.scratch(_plan_bytes(halves)) as scratch:
            plans = [self._plan(direction, half, scratch) for direction, half in halves]
            recreated = _recreated(mapped)
            gone = np.setdiff1d(mapped.deleted, recreated, assume_unique=True)
            demand, tables = self._demand(mapped, plans, gone.size + queue_room)
            self.arena.prepare(demand)
            with self._commit():
                taken = self.arena.take(demand)
                for table, size_class in tables:
                    self.arena.move_table(table, int(taken.runs(size_class, 1)[0]), size_class)
                self._create_vertices(mapped)
                freed = [self._rewrite(plan, batch, taken) for plan in plans]
                for give_back in freed:
                    give_back()
                self._remove_vertices(gone)
                outcome = self._outcome(mapped, batch, plans[0].tally, recreated.size)
                header = self.arena.header
                header[Field.NUM_VERTICES] += mapped.created.size - gone.size
                header[Field.NUM_EDGES] += outcome.edges_added - outcome.edges_removed
                header[Field.BATCHES] += 1
        return outcome

    @contextmanager
    def _commit(self) -> Iterator[None]:
        self._torn = True
        yield
        self._torn = False

    def _check_whole(self) -> None:
        if self._torn:
            msg = (
                "the graph was left in the middle of a batch (interrupted or out of memory) and "
                "cannot be used; restore it from a checkpoint or build it anew"
            )
            raise EngineError(msg)

    def _halves(self, mapped: Identified, batch: UpdateBatch) -> list[tuple[str, Half]]:
        """The batch's entries for each stored direction."""
        has_properties = bool(self.record.properties)
        puts = mapped.put_columns.size
        deletes = mapped.delete_columns.size
        reverse = self.directed and self.has_reverse
        straight = (
            self.directed
            and mapped.ordered
            and mapped.deleted.size == 0
            and (puts == 0 or deletes == 0)
        )
        halves: list[tuple[str, Half]] = []
        if straight and puts:
            half = in_order(
                PUT, mapped.put_rows, batch.put_indptr, mapped.put_columns,
                with_source=has_properties,
            )  # fmt: skip
            halves.append(("out", half))
        elif straight:
            half = in_order(
                DELETE, mapped.delete_rows, mapped.delete_indptr, mapped.delete_columns,
                with_source=has_properties,
            )  # fmt: skip
            halves.append(("out", half))
        if straight and not reverse:
            return halves
        groups = [
            Entries(PUT, _expanded(mapped.put_rows, batch.put_indptr), mapped.put_columns),
            Entries(DELETE, _expanded(mapped.delete_rows, mapped.delete_indptr),
                    mapped.delete_columns),
        ]  # fmt: skip
        if not straight:
            mentions = self._mentions(mapped.deleted, "out")
            half = sorted_half(
                [mentions, *groups], mapped.deleted, mapped.vertex_count,
                mirrored=False, both=not self.directed, with_source=has_properties,
            )  # fmt: skip
            halves.append(("out", half))
        if reverse:
            mentions = self._mentions(mapped.deleted, "in")
            half = sorted_half(
                [mentions, *groups], mapped.deleted, mapped.vertex_count,
                mirrored=True, both=False, with_source=has_properties,
            )  # fmt: skip
            halves.append(("in", half))
        return halves

    def _mentions(self, deleted: UInt32s, direction: str) -> Entries:
        """Entries of one direction, in rows of vertices that stay, that name a deleted vertex."""
        empty = np.empty(0, np.uint32)
        if deleted.size == 0:
            return Entries(MENTION, empty, empty)
        flags = np.zeros(self.vertex_count, np.bool_)
        flags[deleted] = True
        if self.has_reverse:
            # Who names me stands in my adjacency of the other direction.
            opposite = "in" if direction == "out" else "out"
            indptr, rows = self.neighbours(deleted, opposite)
            columns = np.repeat(deleted, np.diff(indptr))
            stays = ~flags[rows]
            return Entries(MENTION, rows[stays], columns[stays])
        shape = self.shape("out")
        size = sum(for_ranges(count_mentions, flags.size, self.image, shape, flags))
        rows, columns = np.empty(size, np.uint32), np.empty(size, np.uint32)
        list_mentions(self.image, shape, flags, rows, columns)
        return Entries(MENTION, rows, columns)

    def _plan(self, direction: str, half: Half, scratch: Scratch) -> Plan:
        puts = bool((half.kinds == PUT).any())
        deletes = bool((half.kinds != PUT).any())
        shape = self.shape(direction)
        listed = scratch.take(half.rows.size, np.int64)
        parts = for_ranges(
            list_unsettled, half.rows.size, self.image, shape, half.rows, half.indptr, half.clear,
            puts, deletes, listed,
        )  # fmt: skip
        which = np.concatenate([listed[low : low + count] for low, count in parts] or [listed])
        position = scratch.take(half.columns.size, np.uint32)
        found = scratch.take(half.columns.size, np.bool_)
        rows = [scratch.take(which.size, np.uint32) for _ in range(4)]
        tally = Tally()
        tally.add(
            for_ranges(
                plan_rows,
                which.size,
                self.image,
                shape,
                which,
                half.rows,
                half.indptr,
                half.columns,
                half.kinds,
                half.clear,
                position,
                found,
                *rows,
            )  # fmt: skip
        )
        return Plan(direction, half, puts, deletes, which, position, found, *rows, tally)

    def _outcome(
        self, mapped: Identified, batch: UpdateBatch, tally: Tally, recreated: int
    ) -> Outcome:
        """Counts of the report, once the batch is written."""
        sides = 1 if self.directed else 2
        added = tally.added // sides
        edge_deletes = tally.found_deletes // sides
        # Against the graph as it stands once the deleted vertices are gone.
        put_found = ~np.isin(mapped.put_vertices, mapped.created)
        put_found &= ~np.isin(mapped.put_vertices, mapped.deleted)
        row_puts = int(batch.put_vertex_rows.sum())
        row_puts_found = int((batch.put_vertex_rows & put_found).sum())
        row_deletes = int(batch.delete_vertex_rows.sum())
        row_deletes_found = int((batch.delete_vertex_rows & mapped.delete_found).sum())
        deletes = batch.delete_indices.size
        return Outcome(
            missing=deletes - edge_deletes + row_deletes - row_deletes_found,
            inserted=added + row_puts - row_puts_found,
            updated=tally.found_puts // sides + row_puts_found,
            deleted=edge_deletes + row_deletes_found,
            edges_added=(tally.added - tally.replaced) // sides,
            edges_removed=(tally.removed - tally.replaced) // sides,
            vertices_created=mapped.created.size,
            vertices_removed=mapped.deleted.size - recreated,
        )

    def _demand(
        self, mapped: Identified, plans: list[Plan], gone: int
    ) -> tuple[Demand, list[tuple[Table, int]]]:
        """What the batch takes: runs by class, and the tables that move to a larger run."""
        arena = self.arena
        runs = np.zeros(CLASSES, np.int64)
        chain_pages = 0
        for plan in plans:
            grows = plan.room_after > plan.room_before
            if self._is_chain:
                more = plan.room_after[grows].astype(np.int64) - plan.room_before[grows]
                chain_pages += int(more.sum())
            else:
                runs += np.bincount(plan.room_after[grows] - 1, minlength=CLASSES)
        runs[0] += chain_pages
        words: dict[Table, int] = {}
        if not arena[Field.DENSE_IDS]:
            words[Table.VERTEX_IDS] = 2 * mapped.vertex_count
            used = arena[Field.DICTIONARY_USED] + mapped.created.size
            words[Table.DICTIONARY] = 2 * used
            if gone:
                queued = arena[Field.VERTEX_QUEUE_BACK] - arena[Field.VERTEX_QUEUE_FRONT]
                words[Table.VERTEX_QUEUE] = queued + gone
        if self._is_chain:
            # Every page that was handed out may come back.
            out_now = arena[Field.PAGE_BUMP] - arena[Field.PAGES_FREE]
            queued = arena[Field.PAGE_QUEUE_BACK] - arena[Field.PAGE_QUEUE_FRONT]
            words[Table.PAGE_QUEUE] = out_now + queued + chain_pages
        tables = []
        for table, need in words.items():
            size_class = arena.table_growth(table, need)
            if size_class is not None:
                runs[size_class] += 1
                tables.append((table, size_class))
        return Demand(mapped.vertex_count, runs, chain_pages), tables

    # -- commit: from here on nothing can fail -----------------------------------------------

    def _create_vertices(self, mapped: Identified) -> None:
        arena = self.arena
        before = arena[Field.VERTEX_COUNT]
        arena.header[Field.VERTEX_COUNT] = mapped.vertex_count
        records = arena.vertex_table()
        records[before:] = 0
        records[mapped.created, STATE_WORD] |= PRESENT_BIT
        if arena[Field.DENSE_IDS]:
            return
        slots = arena.table(Table.DICTIONARY)
        ids = arena.table(Table.VERTEX_IDS).view(np.int64)
        if mapped.created.size:
            arena.take_vertices(mapped.recycled)
            ids[mapped.created] = mapped.created_ids
        used = arena[Field.DICTIONARY_USED]
        if slots.size != self._slots:
            # A larger table: every vertex finds its slot anew.
            slots[:] = NONE
            dictionary.insert(slots, ids, np.flatnonzero(self._present_bits()).astype(np.uint32))
            self._slots = slots.size
        elif mapped.created.size:
            dictionary.insert(slots, ids, mapped.created)
        arena.header[Field.DICTIONARY_USED] = used + mapped.created.size

    #: Slots of the dictionary as last filled; another size means that it was just moved.
    _slots = 0

    def _present_bits(self) -> npt.NDArray[np.bool_]:
        return self.arena.vertex_table()[:, STATE_WORD] & PRESENT_BIT != 0

    def _rewrite(self, plan: Plan, batch: UpdateBatch, taken: Taken) -> Callable[[], None]:
        """Write one half; returns the call that gives the freed pages back."""
        half, which = plan.half, plan.which
        columns = self._property_words(batch)
        shape = self.arena.shape(plan.direction)
        # First, since it tells the settled rows by their records.
        plan.tally.add(
            for_ranges(
                merge_settled,
                half.rows.size,
                self.image,
                shape,
                half.rows,
                half.indptr,
                half.columns,
                half.kinds,
                half.clear,
                plan.puts,
                plan.deletes,
                half.source,
                *columns,
            )  # fmt: skip
        )
        size = which.size
        row_of = (self.image, shape, which, half.rows)
        destination = np.empty(size, np.uint32)
        if self._is_chain:
            change = plan.room_after.astype(np.int64) - plan.room_before
            taken_from = np.concatenate([[0], np.cumsum(np.maximum(change, 0))])
            freed_from = np.concatenate([[0], np.cumsum(np.maximum(-change, 0))])
            pages = taken.pages(int(taken_from[-1]))
            for_ranges(place_chain, size, *row_of, plan.room_before, taken_from, pages, destination)
        else:
            taken_first = _spread(taken, plan)
            freed_first = np.empty(size, np.uint32)
            freed_class = np.empty(size, np.uint8)
            for_ranges(
                place_runs, size, *row_of, plan.room_before, plan.room_after, taken_first,
                destination, freed_first, freed_class,
            )  # fmt: skip
        for_ranges(
            rewrite_rows, size, *row_of, half.indptr, half.columns, half.kinds, half.clear,
            plan.position, plan.found, half.source, plan.degree_after, plan.room_after,
            destination, *columns,
        )  # fmt: skip
        if self._is_chain:
            freed = np.empty(freed_from[-1], np.uint32)
            for_ranges(cut_chain, size, *row_of, plan.room_after, destination, freed_from, freed)
            return lambda: self.arena.give_back_pages(freed)
        left = freed_class != NO_CLASS
        return lambda: self.arena.give_back_runs(freed_first[left], freed_class[left])

    def _property_words(self, batch: UpdateBatch) -> tuple[npt.NDArray[np.generic], ...]:
        """Weight, type, first, last and reset of the puts, as words; empty where not kept."""
        none = np.empty(0, np.uint32)
        weight = kind = none
        first = last = np.empty(0, np.int64)
        reset = np.empty(0, np.bool_)
        if batch.put_weight is not None and self.record.has_weight:
            weight = batch.put_weight.view(np.uint32)
        if self.record.has_times and batch.put_first is not None:
            kind = batch.put_type.view(np.uint32)
            first, last, reset = batch.put_first, batch.put_last, batch.put_reset
        return weight, kind, first, last, reset

    def _remove_vertices(self, gone: UInt32s) -> None:
        if gone.size == 0:
            return
        arena = self.arena
        if not arena[Field.DENSE_IDS]:
            ids = arena.table(Table.VERTEX_IDS).view(np.int64)
            dictionary.remove(arena.table(Table.DICTIONARY), ids, gone)
            arena.header[Field.DICTIONARY_USED] -= gone.size
            arena.give_back_vertices(gone)
        arena.vertex_table()[gone] = 0


def _spread(taken: Taken, plan: Plan) -> UInt32s:
    """Run handed out for each planned row that outgrows its own, in order of the rows."""
    first = np.zeros(plan.which.size, np.uint32)
    grows = np.flatnonzero(plan.room_after > plan.room_before)
    classes = plan.room_after[grows] - 1
    for size_class in np.flatnonzero(np.bincount(classes)).tolist():
        takers = grows[classes == size_class]
        first[takers] = taken.runs(size_class, takers.size)
    return first


def _expanded(rows: UInt32s, indptr: Int64s) -> UInt32s:
    out = np.empty(int(indptr[-1]), np.uint32)
    for_ranges(expand_rows, rows.size, rows, indptr, out)
    return out


def _plan_bytes(halves: list[tuple[str, Half]]) -> int:
    """Scratch that `HostEngine._plan` takes at most."""
    return sum(5 * half.columns.size + 24 * half.rows.size + 64 for _, half in halves)


def _recreated(mapped: Identified) -> UInt32s:
    """Vertices that the batch deletes and puts again: they keep their index."""
    if mapped.deleted.size == 0:
        return mapped.deleted
    flags = np.zeros(mapped.vertex_count, np.bool_)
    flags[mapped.put_rows] = True
    flags[mapped.put_columns] = True
    flags[mapped.put_vertices] = True
    return mapped.deleted[flags[mapped.deleted]]
