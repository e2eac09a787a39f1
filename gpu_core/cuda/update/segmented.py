"""Apply a batch to rows on pages: the one update path for all layouts but ``runs``, on the device.

Part of   the apply path: map ids -> deltas -> **plan -> allocate_demand -> commit**
Kernels   ``segmented_plan.cu``, ``segmented_commit.cu``; ``segmented.cuh`` tells the method
Twin      ``host/update/plan.py``, ``host/update/commit.py``: the same pages for the same batch

Ids are mapped and deltas made by the writer of all batches (`batch_launches.py`); what is launched
then is written here. A batch whose vertices are all there is launched from end to end without a
read-back: what a launch finds is told to the next one on the device, and the report says at the end
whether it was applied (`BatchStatus`). Where it was not, the graph is as before:

``NEEDS_SCRATCH``  more rows are listed than there was room for: applied again with more
``NEEDS_HOST``     pages do not suffice, or the page queue must grow: planned again, and the demand
                   is allocated by the arena (`DeviceArena.prepare`, `take`)
``UNKNOWN_IDS``    it names unknown ids: mapped by the host, and allocated likewise
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ...image.demand import Demand
from ...image.fields import CLASSES, HEADER_FIELDS, BatchField, BatchStatus, Field, Shape, Table
from ..device.launch_list import Launches
from ..device.packed_arguments import address, packer
from ..memory import free_runs
from ..memory.scratch import ALIGNMENT, DeviceScratch
from ..structs import BLOCK, DELTA, PROPERTIES
from .batch_launches import MAP, SORT, write_launches
from .commit import finish
from .context import NEEDS_ASSISTANCE, SHORT_OF_SCRATCH, start_batch
from .delta_launches import ENTRIES
from .facts import DELTA_WORDS
from .listed_room import Room
from .map_ids import check_fits, map_with_host
from .modes import Following, Mode, following
from .vertices import create_vertices, remove_vertices

if TYPE_CHECKING:
    from .batch import DeviceBatch
    from .context import LaunchContext
    from .mapped import Mapped
    from .state import UpdatableGraph

_PLAN_FILE: Final = "segmented_plan.cu"
_COMMIT_FILE: Final = "segmented_commit.cu"

#: As in ``segmented.cuh``: entries of a tile.
_TILE: Final = 8 * BLOCK
#: Tiles that the rows of a delta are cut into, at most.
_MOST_ROW_TILES: Final = 1024
#: Blocks a multiprocessor, of launches that go through all entries.
_ENTRY_BLOCKS: Final = 8
#: Bytes of ``Item`` and ``Totals``.
_ITEM_BYTES: Final = 48
_TOTALS_BYTES: Final = 128

_ADDRESS: Final = packer("address")
_SHAPE: Final = packer("image", *Shape._fields)
_PLAN: Final = packer(
    "totals", "items", "entry_at", "staged_at", "pages", "marks", "sums", "tile_sums", "row_sums",
    "staging", "row_tiles", "tile_rows", "items_room", "entries_room", "old_room",
)  # fmt: skip
_PROPERTY_BYTES: Final = 8 * PROPERTIES.words
_ENDS: Final = packer("before", "after")
_NEED: Final = packer("need", "queued", "queue_words", "last")
_PAGES: Final = packer("queue", "mask", "front", "queued", "allocation", "taken")
_QUEUE: Final = packer("queue", "mask", "back", "pops", "last")


class _Delta(NamedTuple):
    """A delta as the writer has left it in `facts.DELTAS`."""

    direction: str
    #: ``Delta`` of the kernels but for its number, packed.
    argument: bytes
    max_rows: int
    entries: int


class _DeltaPlan(NamedTuple):
    """A delta, and the scratch that its plan lies in."""

    direction: str
    delta: _Delta
    #: ``Delta`` and ``ListedPlan`` of the kernels, packed.
    delta_argument: bytes
    plan_argument: bytes
    row_tiles: int


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
    reserve = _plan_bytes(graph, _most_rows(graph, entries))
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
        sizes = [(delta.max_rows, delta.entries) for delta in _deltas_of(context)]
        end += _plan_bytes(graph, sizes)
        if end <= context.call("scratch_end"):
            break
        arena.provide_scratch(end - context.call("scratch"))
    graph.device.start(context.lines)
    return _apply_deltas(graph, mapped.batch, mapped, context, by_host=True)


_MAX_ROWS: Final = 1 + DELTA.at("max_rows")


def _deltas_of(context: LaunchContext) -> list[_Delta]:
    """The deltas that the writer has left and that have rows."""
    found = []
    for words in context.record["deltas"]["each"][0, : context.call("deltas")]:
        direction, argument = ("out", "in")[int(words[0])], words[1 : 1 + DELTA_WORDS].tobytes()
        found.append(_Delta(direction, argument, int(words[_MAX_ROWS]), int(words[ENTRIES])))
    return [delta for delta in found if delta.max_rows]


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
    arena, deltas = graph.arena, _deltas_of(context)
    base = address(arena.image)
    scratch = DeviceScratch(
        graph.device.xp, arena.image, context.call("deltas_end") - base,
        context.call("scratch_end") - base,
    )  # fmt: skip
    totals, need = scratch.place(2 * _TOTALS_BYTES), scratch.place(8 * CLASSES)
    room = graph.updates.segmented.room
    sizes = [_pieces(graph, delta.max_rows, delta.entries, room) for delta in deltas]
    staging = scratch.place(max((each[-1] for each in sizes), default=0))
    plans = [
        _take(graph, number, delta, room, totals, staging, scratch)
        for number, delta in enumerate(deltas)
    ]
    properties = batch.facts[-_PROPERTY_BYTES:]
    if by_host:
        return _commit_by_host(graph, mapped, plans, properties, scratch, need)
    report, count = graph.updates.report, context.call("after")
    with graph.committing():
        if plans:
            _write_plan(graph, plans, properties, need)
            most = sum(_most_pages(graph, plan) for plan in plans)
            allocated = free_runs.allocate_demand(arena, need, most, count, scratch)
            if enters:
                _enter_vertices(graph, batch, count)
            back, queued = arena[Field.PAGE_QUEUE_BACK], arena.pages_queued
            queue, slots = arena.table_address(Table.PAGE_QUEUE), _queue_words(graph)
            pages = _PAGES(
                queue, slots - 1, arena[Field.PAGE_QUEUE_FRONT], queued, allocated.allocation,
                allocated.taken,
            )  # fmt: skip
            ring = queue, slots - 1, back, 1
            _write_commit(graph, plans, properties, pages, ring, count)
        elif arena.growing_tables(graph.vertex_count, 0, 0, 0):
            return _commit_by_host(graph, mapped, plans, properties, scratch, need)
        finish(graph, 0, report.address)
        arena.follow(report)
    return report[BatchField.STATUS]


def _enter_vertices(graph: UpdatableGraph, batch: DeviceBatch, after: int) -> None:
    """Start the launches that enter all vertices that the lists put and that are not there."""
    device, launches, before = graph.device, Launches(graph.device), graph.vertex_count
    words = (after - before) * graph.arena[Field.VERTEX_WORDS]
    blocks = min(-(-words // BLOCK), _ENTRY_BLOCKS * device.multiprocessors)
    launches.launch_packed(
        "vertices.cu", "clear_records", blocks, BLOCK,
        _image(graph, "out", before) + _ENDS(before, after),
    )  # fmt: skip
    lists = "put_rows", "put_indices", "put_vertices"
    named = sum(batch.data[name].size for name in lists)
    blocks = min(-(-named // BLOCK), _ENTRY_BLOCKS * device.multiprocessors)
    launches.launch_packed(
        "vertices.cu", "enter_lists", blocks, BLOCK, _image(graph, "out", after) + batch.lists
    )
    launches.start()


def _commit_by_host(
    graph: UpdatableGraph,
    mapped: Mapped | None,
    plans: list[_DeltaPlan],
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
        _write_plan(graph, plans, properties, need, queued=0, queue_words=1 << 62)
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
        _write_plan(graph, plans, properties, need, queued=0, queue_words=1 << 62)
    with graph.committing():
        taken = arena.take(demand)
        for table, size_class in tables:
            arena.move_table(table, int(taken.runs(size_class, 1)[0]), size_class)
        if mapped:
            create_vertices(graph, mapped)
        if plans:
            recycled = taken.queued
            handed = _PAGES(
                address(recycled),
                -1,
                0,
                recycled.size,
                taken.allocated.allocation,
                taken.allocated.taken,
            )
            queue, slots = arena.table_address(Table.PAGE_QUEUE), _queue_words(graph)
            ring = queue, slots - 1, arena[Field.PAGE_QUEUE_BACK], 0
            _write_commit(graph, plans, properties, handed, ring, count)
        if mapped:
            remove_vertices(graph, mapped.gone)
        finish(graph, created - gone, report.address)
        arena.header[BatchField.STATUS :] = 0
        arena.follow(report)
    return report[BatchField.STATUS]


#: Where `count_listed` says how much is listed, in the order of `Room`.
_LISTED: Final = BatchField.LONG_ROWS, BatchField.LONG_TILES, BatchField.SCRATCH_BYTES


def _queue_words(graph: UpdatableGraph) -> int:
    return graph.arena.table_words(Table.PAGE_QUEUE)


def _stored(graph: UpdatableGraph) -> int:
    """Entries of the graph in one direction."""
    return graph.arena[Field.NUM_EDGES] * (1 if graph.directed else 2)


def _page_entries(graph: UpdatableGraph, direction: str) -> int:
    arena = graph.arena
    words = arena[Field.PAGE_WORDS] - arena.layout.link_words
    return words // arena.entry_words(direction)


def _most_pages(graph: UpdatableGraph, plan: _DeltaPlan) -> int:
    """Pages that a delta can take."""
    delta = plan.delta
    return delta.entries // _page_entries(graph, plan.direction) + min(
        delta.max_rows, delta.entries
    )


def _most_rows(graph: UpdatableGraph, entries: int) -> list[tuple[int, int]]:
    """Bounds of the rows and entries of the deltas of so many edges; no vertex is deleted."""
    sides = [2 * entries] if not graph.directed else [entries] * (1 + graph.has_reverse)
    return [(each, each) for each in sides]


def _pieces(graph: UpdatableGraph, rows: int, entries: int, room: Room) -> tuple[int, ...]:
    """Bytes of the arrays of ``ListedPlan`` for a delta, in their order; the last is shared."""
    items, most, old = room.within(rows, entries, _stored(graph))
    words = max(graph.arena.entry_words(direction) for direction in graph.arena.directions())
    least = min(_page_entries(graph, direction) for direction in graph.arena.directions())
    return (
        _ITEM_BYTES * items, 4 * (items + 1), 8 * (items + 1), 4 * (old // least + items + 1),
        4 * most, 4 * most, 8 * (most // _TILE + 1), 8 * 4 * _row_tiles(rows)[0], 4 * words * old,
    )  # fmt: skip


def _row_tiles(rows: int) -> tuple[int, int]:
    """Tiles that so many rows are cut into, and rows of a tile."""
    tile_rows = BLOCK * max(-(-rows // (BLOCK * _MOST_ROW_TILES)), 1)
    return -(-rows // tile_rows), tile_rows


def _plan_bytes(graph: UpdatableGraph, deltas: list[tuple[int, int]]) -> int:
    """Scratch that the plans of deltas of so many rows and entries take, and what serves them."""
    room = graph.updates.segmented.room
    need = 2 * _TOTALS_BYTES + 8 * CLASSES + 64 * ALIGNMENT
    need += free_runs.allocate_bytes(sum(rows + entries for rows, entries in deltas))
    pieces = [_pieces(graph, *delta, room) for delta in deltas]
    # Deltas are written one after the other, so one staging does for both.
    staging = max((sizes[-1] for sizes in pieces), default=0)
    return need + staging + sum(sum(sizes[:-1]) for sizes in pieces)


def _take(
    graph: UpdatableGraph,
    number: int,
    delta: _Delta,
    room: Room,
    totals: int,
    staging: int,
    scratch: DeviceScratch,
) -> _DeltaPlan:
    """Take the scratch of a delta's plan; old entries are staged from address ``staging`` on."""
    *sizes, _ = _pieces(graph, delta.max_rows, delta.entries, room)
    places = [*(scratch.place(size) for size in sizes), staging]
    row_tiles, tile_rows = _row_tiles(delta.max_rows)
    room = room.within(delta.max_rows, delta.entries, _stored(graph))
    plan = _PLAN(totals, *places, row_tiles, tile_rows, *room)
    return _DeltaPlan(delta.direction, delta, delta.argument + _ADDRESS(number), plan, row_tiles)


def _defines(graph: UpdatableGraph, direction: str) -> tuple[tuple[str, int], ...]:
    return (("ENTRY_WORDS", graph.arena.entry_words(direction)),)


def _image(graph: UpdatableGraph, direction: str, vertex_count: int) -> bytes:
    shape = graph.arena.shape(direction)._replace(vertex_count=vertex_count)
    return _SHAPE(address(graph.image), *shape)


def _entry_blocks(graph: UpdatableGraph, entries: int) -> int:
    return min(-(-entries // _TILE), _ENTRY_BLOCKS * graph.device.multiprocessors)


def _write_plan(
    graph: UpdatableGraph,
    plans: list[_DeltaPlan],
    properties: bytes,
    need: int,
    *,
    queued: int | None = None,
    queue_words: int | None = None,
) -> None:
    """Start the launches that plan the deltas; the demand comes to lie at ``need``."""
    launches = Launches(graph.device)
    if queued is None:
        queued, queue_words = graph.arena.pages_queued, _queue_words(graph)
    reset = properties[-8:]
    for number, plan in enumerate(plans):
        common = _image(graph, plan.direction, graph.vertex_count)
        common += plan.delta_argument + plan.plan_argument
        defines, tiles = _defines(graph, plan.direction), plan.row_tiles
        demand = _NEED(need, queued, queue_words, number == len(plans) - 1)
        blocks = _entry_blocks(graph, plan.delta.entries)
        for kernel, grid, arguments in (
            ("count_listed", tiles, b""), ("list_rows", tiles, b""),
            ("search_entries", blocks, reset), ("plan_items", tiles, demand),
        ):  # fmt: skip
            launches.launch_packed(_PLAN_FILE, kernel, grid, BLOCK, common + arguments, defines)
    launches.start()


def _write_commit(
    graph: UpdatableGraph,
    plans: list[_DeltaPlan],
    properties: bytes,
    pages: bytes,
    ring: tuple[int, ...],
    vertex_count: int,
) -> None:
    """Start the launches that write the deltas.

    Parameters
    ----------
    pages
        ``Pages`` of the kernels, packed.
    ring
        The page queue: its address, mask and back, and whether the pages handed out are still to be
        taken off its front.
    vertex_count
        Vertex records after the batch.
    """
    launches = Launches(graph.device)
    for number, plan in enumerate(plans):
        common = _image(graph, plan.direction, vertex_count) + plan.delta_argument
        planned, defines = common + plan.plan_argument, _defines(graph, plan.direction)
        queue = _QUEUE(*ring, number == len(plans) - 1)
        rows = -(-plan.delta.max_rows // BLOCK)
        old = graph.updates.segmented.room.old_entries
        for kernel, grid, arguments in (
            ("commit_settled", rows, common + properties),
            ("place_items", plan.row_tiles, planned + pages + queue),
            ("stage_entries", _entry_blocks(graph, old), planned),
            ("write_entries", _entry_blocks(graph, max(old, plan.delta.entries)),
             planned + properties + pages),
        ):  # fmt: skip
            launches.launch_packed(_COMMIT_FILE, kernel, grid, BLOCK, arguments, defines)
    launches.start()
