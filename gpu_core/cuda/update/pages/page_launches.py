"""Launches that plan, allocate and write the rows of a batch's deltas that lie on pages: compiled.

Part of   the apply path: map ids -> deltas -> **plan -> allocate -> commit**
Kernels   ``paged_plan.cu``, ``paged_settled.cu``, ``paged_commit.cu``; the method:
          ``paged_update.cuh``. To allocate, enter vertices and end the batch: `row_launches.py`
Twin      ``host/update/plan.py``, ``host/update/commit.py``: the same pages for the same batch

Pages come from the page queue, then from free runs of class 0. Where these launches allocate, they
look at the queue themselves; where the host does (`apply.py`), it passes on what it took from it.
"""

from typing import Final

import numpy as np

from ....image.fields import CLASSES, Field
from ....jit.compile import inlined
from ...device.launches import begin_launch, end_launch, put_array, put_words
from ...memory.scratch import aligned
from ...structs import (
    BLOCK,
    DELTA,
    LISTED_PLAN,
    LISTED_ROW,
    LISTED_TILE,
    LISTED_TOTALS,
    PROPERTIES,
)
from ..deltas.delta_launches import ENTRIES
from ..facts import DELTA_WORDS, directed_kernel
from ..rows.row_launches import (
    put_shape,
    reserve_allocation,
    write_allocating,
    write_closing,
    write_entering,
)
from ..steps import ALLOCATE, COMMIT, ENTER, PLAN

#: Kernels, by their numbers.
_COUNT_LISTED: Final = directed_kernel("count_listed")
_LIST_ROWS: Final = directed_kernel("list_rows")
_SEARCH_ENTRIES: Final = directed_kernel("search_entries")
_PLAN_LISTED: Final = directed_kernel("plan_listed")
_PLAN_FEW: Final = directed_kernel("plan_few_listed")
_PLACE_ROWS: Final = directed_kernel("place_rows")
_STAGE_ENTRIES: Final = directed_kernel("stage_entries")
_WRITE_ENTRIES: Final = directed_kernel("write_entries")
_WRITE_FEW: Final = directed_kernel("write_few_listed")
_COMMIT_SETTLED: Final = directed_kernel("commit_settled")

#: Tiles that the rows of a delta are cut into, at most.
_MOST_ROW_TILES: Final = 1024
#: Blocks a multiprocessor, of launches that go through all entries.
_ENTRY_BLOCKS: Final = 8
#: Words of a plan, the number of its delta before it.
PLAN_WORDS: Final = 1 + LISTED_PLAN.words
_ROW_TILES: Final = 1 + LISTED_PLAN.at("row_tiles")
_OLD_ROOM: Final = 1 + LISTED_PLAN.at("old_room")
_MAX_ROWS: Final = 1 + DELTA.at("max_rows")
_PUTS: Final = 1 + DELTA.at("puts")
_RESET: Final = PROPERTIES.at("reset")
_LISTED_ROW_BYTES: Final = LISTED_ROW.nbytes
_LISTED_TOTALS_BYTES: Final = LISTED_TOTALS.nbytes
#: More pages than any queue has: where the host allocates, it sees to the size of the queue.
_ENDLESS: Final = 1 << 62

_CLASSES: Final = CLASSES
_NUM_EDGES: Final = int(Field.NUM_EDGES)
_PAGE_BUMP: Final = int(Field.PAGE_BUMP)
_PAGES_FREE: Final = int(Field.PAGES_FREE)
_QUEUE_FRONT: Final = int(Field.PAGE_QUEUE_FRONT)
_QUEUE_BACK: Final = int(Field.PAGE_QUEUE_BACK)


@inlined
def queue_is_short(header, image):
    """Whether more pages may come back than the page queue has slots."""
    out_now = header[_PAGE_BUMP] - header[_PAGES_FREE]
    return out_now + header[_QUEUE_BACK] - header[_QUEUE_FRONT] > image.page_slots


@inlined
def plans_of(facts, header, plans, end):
    """Allocate the plans from ``end`` on, and fill ``ListedPlan`` of each delta, its number first.

    Returns
    -------
    most, end : int
        A bound of the pages to be taken; where the scratch goes on.
    """
    call, image, deltas = facts.call, facts.image, facts.deltas.each
    stored = header[_NUM_EDGES] * image.entries_per_edge
    old = min(call.listed_old_entries, stored)
    least = min(image.page_entries[0], image.page_entries[1])
    call.need, end = end, aligned(end + 8 * _CLASSES)
    totals, end = end, aligned(end + 2 * _LISTED_TOTALS_BYTES)
    # Deltas are written one after the other: one staging serves both.
    staging, end = end, aligned(end + 4 * image.entry_words * old)
    pages = 0
    for number in range(call.deltas):
        plan = plans[number]
        rows, entries = deltas[number, _MAX_ROWS], deltas[number, ENTRIES]
        listed, most = min(call.listed_rows, rows), min(call.listed_entries, entries)
        if deltas[number, _PUTS]:
            pages += most // image.page_entries[deltas[number, 0]] + listed
        tile_rows = BLOCK * max(-(-rows // (BLOCK * _MOST_ROW_TILES)), 1)
        tiles = -(-rows // tile_rows)
        plan[0], plan[1] = number, totals
        sizes = (
            BLOCK // 8 * -(-rows // BLOCK), _LISTED_ROW_BYTES * listed, 4 * (listed + 1),
            8 * (listed + 1), 4 * (old // least + listed + 1), 4 * most, 4 * most,
            8 * (most // LISTED_TILE + 1), 8 * 4 * tiles,
        )  # fmt: skip
        for piece in range(len(sizes)):
            plan[2 + piece] = end
            end = aligned(end + sizes[piece])
        put_words(plan, 2 + len(sizes), (staging, tiles, tile_rows, listed, most, old))
    return pages, end


@inlined
def _begin(launches, facts, plan, kernel, blocks, vertex_count):
    """Begin a launch with what all kernels of a delta take first: image, delta and plan."""
    number = plan[0]
    delta = facts.deltas.each[number]
    position = begin_launch(launches, facts.kernels.directed[delta[0], kernel], blocks, BLOCK)
    position = put_shape(launches, position, facts.image.shapes[delta[0]], vertex_count)
    position = put_array(launches, position, delta[1 : 1 + DELTA_WORDS])
    return put_array(launches, position, plan)


@inlined
def _entry_blocks(entries, multiprocessors):
    return min(-(-entries // LISTED_TILE), _ENTRY_BLOCKS * multiprocessors)


@inlined
def write_planning(launches, facts, plans, queued, queue_words):
    """Write the launches that find out what becomes of each row."""
    call, before, reset = facts.call, facts.call.before, facts.batch.properties[_RESET]
    for number in range(call.deltas):
        plan, entries = plans[number], facts.deltas.each[number, ENTRIES]
        tiles = plan[_ROW_TILES]
        to_take = (call.need, queued, queue_words, int(number == call.deltas - 1))
        if call.lists_few:
            position = _begin(launches, facts, plan, _PLAN_FEW, tiles, before)
            end_launch(launches, put_words(launches, position, (*to_take, reset)))
            continue
        for kernel in (_COUNT_LISTED, _LIST_ROWS):
            end_launch(launches, _begin(launches, facts, plan, kernel, tiles, before))
        blocks = _entry_blocks(entries, facts.image.multiprocessors)
        position = _begin(launches, facts, plan, _SEARCH_ENTRIES, blocks, before)
        end_launch(launches, put_words(launches, position, (reset,)))
        position = _begin(launches, facts, plan, _PLAN_LISTED, tiles, before)
        end_launch(launches, put_words(launches, position, to_take))


@inlined
def write_committing(launches, facts, plans, pages, ring):
    """Write the launches that write rows, records and links, and queue the pages that rows leave.

    Parameters
    ----------
    pages
        ``TakenPages`` of the kernels.
    ring
        ``PageQueue`` of the kernels, but for ``last``.
    """
    call, after, properties = facts.call, facts.call.after, facts.batch.properties
    for number in range(call.deltas):
        plan, entries = plans[number], facts.deltas.each[number, ENTRIES]
        old, last = plan[_OLD_ROOM], int(number == call.deltas - 1)
        if call.lists_few:
            position = _begin(launches, facts, plan, _WRITE_FEW, 1, after)
            position = put_words(launches, put_array(launches, position, properties), pages)
            end_launch(launches, put_words(launches, position, (*ring, last)))
        else:
            position = _begin(launches, facts, plan, _PLACE_ROWS, plan[_ROW_TILES], after)
            position = put_words(launches, position, pages)
            end_launch(launches, put_words(launches, position, (*ring, last)))
            blocks = _entry_blocks(old, facts.image.multiprocessors)
            end_launch(launches, _begin(launches, facts, plan, _STAGE_ENTRIES, blocks, after))
            blocks = _entry_blocks(max(old, entries), facts.image.multiprocessors)
            position = _begin(launches, facts, plan, _WRITE_ENTRIES, blocks, after)
            position = put_array(launches, position, properties)
            end_launch(launches, put_words(launches, position, pages))
        # Rows that are not listed lie elsewhere: they are written meanwhile.
        blocks = -(-facts.deltas.each[number, _MAX_ROWS] // BLOCK)
        position = _begin(launches, facts, plan, _COMMIT_SETTLED, blocks, after)
        end_launch(launches, put_array(launches, position, properties))


@inlined
def write_pages(launches, facts, header, steps, end):
    """Write the launches from ``PLAN`` on, as far as they are among the steps.

    ``PLAN`` without ``ALLOCATE``: the demand counts all pages, those that are queued too.

    Returns
    -------
    int
        As of `row_launches.write_rows`.
    """
    call, image = facts.call, facts.image
    call.need = 0
    plans = np.empty((2, PLAN_WORDS), np.int64)
    slots, queued = image.page_slots, header[_QUEUE_BACK] - header[_QUEUE_FRONT]
    ring = (image.page_queue, slots - 1, header[_QUEUE_BACK], 0)
    pages = (call.recycled, -1, 0, call.recycled_pages, call.allocation, call.taken)
    if call.deltas > 0:
        most, end = plans_of(facts, header, plans, end)
        allocation = taken = 0
        if steps & ALLOCATE:
            allocation, taken, end = reserve_allocation(facts, most, end)
            ring = (image.page_queue, slots - 1, header[_QUEUE_BACK], 1)
            pages = (
                image.page_queue, slots - 1, header[_QUEUE_FRONT], queued, allocation, taken
            )  # fmt: skip
        if end > call.scratch_end:
            return end
        if steps & PLAN:
            if steps & ALLOCATE:
                write_planning(launches, facts, plans, queued, slots)
                if most > 0:
                    write_allocating(launches, facts, most, allocation, taken)
            else:
                write_planning(launches, facts, plans, 0, _ENDLESS)
        if steps & ENTER:
            write_entering(launches, facts)
        if steps & COMMIT:
            write_committing(launches, facts, plans, pages, ring)
    write_closing(launches, facts, steps)
    return end
