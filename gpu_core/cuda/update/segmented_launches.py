"""Write the launches of a batch on pages: plans of its deltas, their commit, vertices that enter.

Part of   `segmented.py`, which decides what is launched and allocates between plan and commit
Kernels   ``segmented_plan.cu``, ``segmented_settled.cu``, ``segmented_commit.cu``; the method:
          ``segmented.cuh``
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ...image.fields import Field, Shape, Table
from ..device.launch_list import Launches
from ..device.packed_arguments import address, packer
from ..structs import BLOCK, DELTA
from .delta_launches import ENTRIES
from .facts import DELTA_WORDS
from .listed_room import TILE, TOTALS_BYTES, most_staged, room_within, row_tiles, sizes_of_plan

if TYPE_CHECKING:
    from ..memory.scratch import DeviceScratch
    from .batch import DeviceBatch
    from .context import LaunchContext
    from .state import UpdatableGraph

_PLAN_FILE: Final = "segmented_plan.cu"
_SETTLED_FILE: Final = "segmented_settled.cu"
_COMMIT_FILE: Final = "segmented_commit.cu"

#: Blocks a multiprocessor, of launches that go through all entries.
_ENTRY_BLOCKS: Final = 8

_ADDRESS: Final = packer("address")
_SHAPE: Final = packer("image", *Shape._fields)
_PLAN: Final = packer(
    "totals", "items", "entry_at", "staged_at", "pages", "marks", "sums", "tile_sums", "row_sums",
    "staging", "row_tiles", "tile_rows", "items_room", "entries_room", "old_room",
)  # fmt: skip
_ENDS: Final = packer("before", "after")
_NEED: Final = packer("need", "queued", "queue_words", "last")
PAGES: Final = packer("queue", "mask", "front", "queued", "allocation", "taken")
_QUEUE: Final = packer("queue", "mask", "back", "pops", "last")
_MAX_ROWS: Final = 1 + DELTA.at("max_rows")


class Delta(NamedTuple):
    """A delta as the writer has left it in `facts.DELTAS`."""

    direction: str
    #: ``Delta`` of the kernels but for its number, packed.
    argument: bytes
    max_rows: int
    entries: int


class DeltaPlan(NamedTuple):
    """A delta, and the scratch that its plan lies in."""

    delta: Delta
    #: ``Delta`` and ``ListedPlan`` of the kernels, packed.
    delta_argument: bytes
    plan_argument: bytes
    row_tiles: int


def deltas_of(context: LaunchContext) -> list[Delta]:
    """The deltas that the writer has left and that have rows."""
    found = []
    for words in context.record["deltas"]["each"][0, : context.call("deltas")]:
        direction, argument = ("out", "in")[int(words[0])], words[1 : 1 + DELTA_WORDS].tobytes()
        found.append(Delta(direction, argument, int(words[_MAX_ROWS]), int(words[ENTRIES])))
    return [delta for delta in found if delta.max_rows]


def place_plans(
    graph: UpdatableGraph, deltas: list[Delta], scratch: DeviceScratch
) -> list[DeltaPlan]:
    """Take the scratch of the plans of deltas."""
    totals = scratch.place(2 * TOTALS_BYTES)
    sizes = [sizes_of_plan(graph, delta.max_rows, delta.entries) for delta in deltas]
    staging = scratch.place(most_staged(sizes))
    plans = []
    for number, (delta, (*own, _)) in enumerate(zip(deltas, sizes, strict=True)):
        places = [*(scratch.place(size) for size in own), staging]
        tiles, tile_rows = row_tiles(delta.max_rows)
        room = room_within(graph, delta.max_rows, delta.entries)
        argument = _PLAN(totals, *places, tiles, tile_rows, *room)
        plans.append(DeltaPlan(delta, delta.argument + _ADDRESS(number), argument, tiles))
    return plans


def launch_plan(
    graph: UpdatableGraph,
    plans: list[DeltaPlan],
    properties: bytes,
    need: int,
    *,
    queued: int | None = None,
    ring_words: int | None = None,
) -> None:
    """Start the launches that plan the deltas; the demand comes to lie at ``need``."""
    launches = Launches(graph.device)
    if queued is None:
        queued, ring_words = graph.arena.pages_queued, queue_words(graph)
    reset = properties[-8:]
    for number, plan in enumerate(plans):
        common = _image(graph, plan.delta.direction, graph.vertex_count)
        common += plan.delta_argument + plan.plan_argument
        defines, tiles = _defines(graph, plan.delta.direction), plan.row_tiles
        demand = _NEED(need, queued, ring_words, number == len(plans) - 1)
        blocks = _entry_blocks(graph, plan.delta.entries)
        for kernel, grid, arguments in (
            ("count_listed", tiles, b""), ("list_rows", tiles, b""),
            ("search_entries", blocks, reset), ("plan_items", tiles, demand),
        ):  # fmt: skip
            launches.launch_packed(_PLAN_FILE, kernel, grid, BLOCK, common + arguments, defines)
    launches.start()


def launch_commit(
    graph: UpdatableGraph,
    plans: list[DeltaPlan],
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
        common = _image(graph, plan.delta.direction, vertex_count) + plan.delta_argument
        planned, defines = common + plan.plan_argument, _defines(graph, plan.delta.direction)
        queue = _QUEUE(*ring, number == len(plans) - 1)
        rows = -(-plan.delta.max_rows // BLOCK)
        old = graph.updates.segmented.room.old_entries
        for file, kernel, grid, arguments in (
            (_SETTLED_FILE, "commit_settled", rows, common + properties),
            (_COMMIT_FILE, "place_items", plan.row_tiles, planned + pages + queue),
            (_COMMIT_FILE, "stage_entries", _entry_blocks(graph, old), planned),
            (_COMMIT_FILE, "write_entries", _entry_blocks(graph, max(old, plan.delta.entries)),
             planned + properties + pages),
        ):  # fmt: skip
            launches.launch_packed(file, kernel, grid, BLOCK, arguments, defines)
    launches.start()


def enter_vertices(graph: UpdatableGraph, batch: DeviceBatch, after: int) -> None:
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


def _defines(graph: UpdatableGraph, direction: str) -> tuple[tuple[str, int], ...]:
    return (("ENTRY_WORDS", graph.arena.entry_words(direction)),)


def _image(graph: UpdatableGraph, direction: str, vertex_count: int) -> bytes:
    shape = graph.arena.shape(direction)._replace(vertex_count=vertex_count)
    return _SHAPE(address(graph.image), *shape)


def _entry_blocks(graph: UpdatableGraph, entries: int) -> int:
    return min(-(-entries // TILE), _ENTRY_BLOCKS * graph.device.multiprocessors)


def queue_words(graph: UpdatableGraph) -> int:
    """Pages that the page queue has room for."""
    return graph.arena.table_words(Table.PAGE_QUEUE)
