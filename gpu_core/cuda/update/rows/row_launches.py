"""Launches that plan, allocate and write the rows of a batch's deltas: compiled.

Part of   the apply path: map ids -> deltas -> **plan -> allocate -> commit**
Kernels   ``plan.cu``, ``long_rows_plan.cu``, ``long_rows_commit.cu``, ``free_runs.cu``,
          ``vertices.cu``, ``commit.cu``; of a batch of few rows ``few_rows.cu`` alone

The host knows all arguments before the first launch: scratch is reserved as addresses, and what a
step finds, the next one reads on the device.
"""

from typing import Final

import numpy as np

from ....image.fields import CLASSES, Field, Shape
from ....jit.compile import inlined
from ...device.launches import begin_launch, clear_words, end_launch, put_array, put_words
from ...memory.free_runs import RunTrees, allocation_words, write_allocation
from ...memory.scratch import aligned
from ...structs import (
    ALLOCATION_WORDS,
    BLOCK,
    DELTA,
    ENTRY_TILE,
    LEADS,
    LISTS,
    LONG_ROW,
    PROPERTIES,
    RUNS_BESIDE,
)
from ...structs import (
    PLAN as PLAN_STRUCT,
)
from ..deltas.delta_launches import ENTRIES
from ..facts import DELTA_WORDS, directed_kernel, plain_kernel
from ..steps import ALLOCATE, COMMIT, ENTER, PLAN

#: Kernels, by their numbers.
_PLAN_ROWS: Final = directed_kernel("plan_rows")
_COMMIT_ROWS: Final = directed_kernel("commit_rows")
_FIND_LONG: Final = directed_kernel("find_long")
_SEARCH_LONG: Final = directed_kernel("search_long")
_REOPEN_LONG: Final = directed_kernel("reopen_long")
_COMMIT_LONG: Final = directed_kernel("commit_long")
_FEW_ROWS: Final = directed_kernel("apply_few_rows")
_CLOSE_BATCH: Final = directed_kernel("close_batch")
_CLEAR_RECORDS: Final = plain_kernel("clear_records")
_ENTER_LISTS: Final = plain_kernel("enter_lists")

_BLOCK_SHIFT: Final = BLOCK.bit_length() - 1
#: Blocks that take tiles of long rows dynamically, a multiprocessor: all of them run at once, so
#: that the next launch may begin.
_TILE_BLOCKS: Final = 4
#: Rows of a block of ``commit_rows`` at least: as many as it has groups of lanes.
_LEAST_ROWS: Final = 32
#: Blocks of it that run on a multiprocessor at once.
_BLOCKS_AT_ONCE: Final = 4
#: Blocks a multiprocessor of kernels whose blocks loop over items.
_FILLING: Final = 8
#: The same of the one that enters vertices, beside which rows are written.
_ENTERING_BLOCKS: Final = 2

_CLASSES: Final = CLASSES
_NUM_EDGES: Final = int(Field.NUM_EDGES)
_VERTEX_COUNT: Final = 1 + Shape._fields.index("vertex_count")
_VERTEX_WORDS: Final = 1 + Shape._fields.index("vertex_words")

#: Of a delta, whose direction stands before its fields.
_MAX_ROWS: Final = 1 + DELTA.at("max_rows")
#: Words of a plan, the number of its delta before it; of these, its tiles and what long rows take.
PLAN_WORDS: Final = 1 + PLAN_STRUCT.words
_TILE_SHIFT: Final = 1 + PLAN_STRUCT.at("tile_shift")
_LISTED: Final = 1 + PLAN_STRUCT.at("long_rows")
_PUT_ROWS: Final = LISTS.at("put_row_count")
_PUTS: Final = LISTS.at("puts")
_VERTICES: Final = LISTS.at("vertices")
_RESET: Final = PROPERTIES.at("reset")
_LONG_ROW_BYTES: Final = LONG_ROW.nbytes

#: Steps that one launch does for a batch of few rows.
_WHOLE: Final = PLAN | ALLOCATE | COMMIT
#: Entries of a batch of few rows at most, for each row that there may be.
_FEW_ENTRIES: Final = 4


@inlined
def put_shape(launches, position, shape, vertex_count):
    """Append the image's address and a shape with ``vertex_count``."""
    end = put_array(launches, position, shape)
    launches[position + _VERTEX_COUNT] = vertex_count
    return end


@inlined
def write_clearing(launches, kernel, shape, before, after, multiprocessors):
    """Write the launch that clears the records that the vertex table gains; none where it does not.

    ``shape`` is int64[]: the image's address and its `Shape`.
    """
    if after <= before:
        return
    words = (after - before) * shape[_VERTEX_WORDS]
    blocks = min(-(-words // BLOCK), _FILLING * multiprocessors)
    position = begin_launch(launches, kernel, blocks, BLOCK)
    position = put_shape(launches, position, shape, before)
    end_launch(launches, put_words(launches, position, (before, after)))


@inlined
def write_entering(launches, facts):
    """Write the launches that enter all vertices that the lists put and that are not there."""
    call, image, kernels = facts.call, facts.image, facts.kernels.plain
    out, lists, multiprocessors = image.shapes[0], facts.batch.lists, image.multiprocessors
    write_clearing(launches, kernels[_CLEAR_RECORDS], out, call.before, call.after, multiprocessors)
    named = lists[_PUT_ROWS] + lists[_PUTS] + lists[_VERTICES]
    blocks = min(-(-named // BLOCK), _ENTERING_BLOCKS * multiprocessors)
    position = begin_launch(launches, kernels[_ENTER_LISTS], blocks, BLOCK)
    position = put_shape(launches, position, out, call.after)
    end_launch(launches, put_array(launches, position, lists))


@inlined
def reserve_allocation(facts, most, end):
    """Reserve the record of up to ``most`` allocated runs, from ``end`` on.

    Returns
    -------
    allocation, taken, end : int
        Addresses; where the scratch goes on.
    """
    taken = end + 8 * ALLOCATION_WORDS
    return end, taken, taken + 4 * allocation_words(max(most, 1), facts.call.few_runs)


@inlined
def write_allocating(launches, facts, most, allocation, taken):
    """Write the launch that allocates the runs of the batch's demand."""
    call, image = facts.call, facts.image
    runs = RunTrees(
        image.shapes[0, 0], image.tree, image.geometry, image.trees, image.tree_groups,
        image.block_numbers, image.multiprocessors, call.few_runs,
    )  # fmt: skip
    kernels, most = facts.kernels.plain, max(most, 1)
    write_allocation(launches, kernels, runs, allocation, taken, call.need, most, call.after)


@inlined
def provide_long_rows(facts, header):
    """Fill in what is provided for long rows: bounds, from the sizes of graph and batch."""
    call = facts.call
    call.long_rows = call.entry_tiles = call.old_tiles = 0
    if call.long_expected == 0:
        return
    stored = header[_NUM_EDGES] * facts.image.entries_per_edge
    for number in range(call.deltas):
        delta = facts.deltas.each[number]
        degree, count, old_tile = facts.kernels.thresholds[delta[0]]
        most = stored // (degree + 1) + delta[ENTRIES] // (count + 1)
        most = min(most, delta[_MAX_ROWS])
        call.long_rows += most
        call.entry_tiles += delta[ENTRIES] // ENTRY_TILE + most
        call.old_tiles += stored // old_tile + most


@inlined
def plans_of(call, deltas, plans, end):
    """Allocate the plans from ``end`` on, and fill ``Plan`` of each delta, its number before it.

    Returns
    -------
    most, end : int
        A bound of the runs to be taken; where the scratch goes on.
    """
    rows = 0
    for number in range(call.deltas):
        rows += deltas[number, _MAX_ROWS]
    # Tiles of a block of rows, or of twice as many and so on, of all deltas together.
    shift = _BLOCK_SHIFT
    while True:
        tiles = 0
        for number in range(call.deltas):
            tiles += -(-deltas[number, _MAX_ROWS] >> shift)
        if tiles <= call.most_tiles:
            break
        shift += 1
    # The classes lie a multiple of 16 bytes apart.
    stride = -(-tiles // 4) * 4
    call.need = need = end
    counts = need + 8 * _CLASSES
    end = aligned(counts + 4 * _CLASSES * stride)
    listed = np.zeros(5, np.int64)
    if call.long_rows > 0:
        sizes = (
            _LONG_ROW_BYTES * call.long_rows, 4 * call.entry_tiles, 4 * call.old_tiles,
            4 * call.entry_tiles, 4 * call.staging_words,
        )  # fmt: skip
        for piece in range(len(sizes)):
            listed[piece] = end
            end = aligned(end + sizes[piece])
    first_tile = 0
    for number in range(call.deltas):
        most, entries = deltas[number, _MAX_ROWS], deltas[number, ENTRIES]
        plan = plans[number]
        clear_words(plan)
        put_words(plan, 0, (number, end, counts, need, shift, first_tile, tiles, stride))
        first_tile += -(-most >> shift)
        end = aligned(end + 4 * most)
        if call.long_rows > 0:
            put_array(plan, _LISTED, listed[:4])
            sizes_of_delta = (4 * most, 4 * entries, 4 * entries, entries)
            for piece in range(len(sizes_of_delta)):
                plan[_LISTED + 4 + piece] = end
                end = aligned(end + sizes_of_delta[piece])
            plan[_LISTED + 8], plan[_LISTED + 9] = listed[4], call.staging_words
    return rows, end


@inlined
def _put_delta(launches, position, facts, plans, number, vertex_count):
    """Append what all kernels of a delta begin with: image, delta and plan."""
    delta = facts.deltas.each[number]
    position = put_shape(launches, position, facts.image.shapes[delta[0]], vertex_count)
    position = put_array(launches, position, delta[1 : 1 + DELTA_WORDS])
    return put_array(launches, position, plans[number])


@inlined
def write_planning(launches, facts, plans):
    """Write the launches that find out what becomes of each row."""
    call, kernels = facts.call, facts.kernels.directed
    deltas, before = facts.deltas.each, call.before
    if call.long_rows > 0:
        for number in range(call.deltas):
            blocks = -(-deltas[number, _MAX_ROWS] // BLOCK)
            position = begin_launch(launches, kernels[deltas[number, 0], _FIND_LONG], blocks, BLOCK)
            end_launch(launches, _put_delta(launches, position, facts, plans, number, before))
        blocks = min(call.entry_tiles + call.old_tiles, _TILE_BLOCKS * facts.image.multiprocessors)
        for number in range(call.deltas):
            direction = deltas[number, 0]
            position = begin_launch(launches, kernels[direction, _SEARCH_LONG], blocks, BLOCK)
            position = _put_delta(launches, position, facts, plans, number, before)
            reset = facts.batch.properties[_RESET] if direction == 0 else 0
            end_launch(launches, put_words(launches, position, (reset,)))
    for number in range(call.deltas):
        blocks = -(-deltas[number, _MAX_ROWS] >> plans[number, _TILE_SHIFT])
        position = begin_launch(launches, kernels[deltas[number, 0], _PLAN_ROWS], blocks, BLOCK)
        position = _put_delta(launches, position, facts, plans, number, before)
        end_launch(launches, put_words(launches, position, (int(number == call.deltas - 1),)))


@inlined
def write_closing(launches, facts, steps):
    """Write the launch that ends a batch, if a report is due."""
    if steps & COMMIT == 0 or facts.call.report == 0:
        return
    image = facts.image
    position = begin_launch(launches, facts.kernels.directed[0, _CLOSE_BATCH], 1, BLOCK)
    words = (image.shapes[0, 0], image.entries_per_edge, 0, facts.call.report)
    end_launch(launches, put_words(launches, position, words))


@inlined
def write_committing(launches, facts, plans, allocation, taken, steps):
    """Write the launches that write rows, records and freed runs.

    Rows are written beside the launch before, if that enters vertices, or writes long rows or those
    of the other direction. Where they were planned by another list, they may have been moved since.
    """
    call, image, kernels = facts.call, facts.image, facts.kernels.directed
    deltas, after = facts.deltas.each, call.after
    runs = (allocation, taken, image.tree, image.geometry)
    for number in range(call.deltas):
        direction, most = deltas[number, 0], deltas[number, _MAX_ROWS]
        beside = steps & ENTER != 0 and number == 0
        if call.long_rows > 0 and steps & PLAN == 0:
            blocks = -(-call.long_rows // BLOCK)
            position = begin_launch(launches, kernels[direction, _REOPEN_LONG], blocks, BLOCK)
            end_launch(launches, _put_delta(launches, position, facts, plans, number, after))
            beside = False
        if call.long_rows > 0:
            blocks = _TILE_BLOCKS * image.multiprocessors
            position = begin_launch(launches, kernels[direction, _COMMIT_LONG], blocks, BLOCK)
            position = _put_delta(launches, position, facts, plans, number, after)
            position = put_array(launches, position, facts.batch.properties)
            position = put_words(launches, position, runs)
            end_launch(launches, put_words(launches, position, (int(beside),)))
            beside = True
        block_rows = _LEAST_ROWS
        while block_rows < BLOCK and most > block_rows * _BLOCKS_AT_ONCE * image.multiprocessors:
            block_rows *= 2
        blocks = -(-most // block_rows)
        position = begin_launch(launches, kernels[direction, _COMMIT_ROWS], blocks, BLOCK)
        position = _put_delta(launches, position, facts, plans, number, after)
        position = put_array(launches, position, facts.batch.properties)
        position = put_words(launches, position, runs)
        order = RUNS_BESIDE if beside else 0
        if call.deltas == 2 and call.long_rows == 0:
            order = LEADS if number == 0 else RUNS_BESIDE
        end_launch(launches, put_words(launches, position, (block_rows, order)))


@inlined
def _is_few(facts, steps):
    """Whether one launch does the whole batch, since it has few rows and one delta."""
    call, delta = facts.call, facts.deltas.each[0]
    if steps & _WHOLE != _WHOLE or steps & ENTER or call.deltas != 1:
        return False
    few = call.long_rows == 0 and delta[_MAX_ROWS] <= min(BLOCK, call.few_rows)
    return (
        few
        and delta[ENTRIES] <= _FEW_ENTRIES * BLOCK
        and facts.kernels.directed[delta[0], _FEW_ROWS] != 0
    )


@inlined
def write_whole(launches, facts, plans, allocation, taken):
    """Write the launch that does a whole batch."""
    call, image, direction = facts.call, facts.image, facts.deltas.each[0, 0]
    position = begin_launch(launches, facts.kernels.directed[direction, _FEW_ROWS], 1, BLOCK)
    position = _put_delta(launches, position, facts, plans, 0, call.after)
    position = put_array(launches, position, facts.batch.properties)
    position = put_words(launches, position, (allocation, taken, image.tree, image.geometry))
    end_launch(
        launches, put_words(launches, position, (image.trees, image.entries_per_edge, call.report))
    )


@inlined
def write_rows(launches, facts, steps, end):
    """Write the launches from ``PLAN`` on, as far as they are among the steps.

    Returns
    -------
    int
        Where the scratch goes on that lies from ``end`` on: beyond ``scratch_end`` nothing may run.
    """
    call = facts.call
    if call.deltas == 0:
        call.need = 0
        write_closing(launches, facts, steps)
        return end
    plans = np.empty((2, PLAN_WORDS), np.int64)
    most, end = plans_of(call, facts.deltas.each, plans, end)
    allocation, taken = call.allocation, call.taken
    if steps & ALLOCATE:
        allocation, taken, end = reserve_allocation(facts, most, end)
    if end > call.scratch_end:
        return end
    if _is_few(facts, steps):
        write_whole(launches, facts, plans, allocation, taken)
        return end
    if steps & PLAN:
        write_planning(launches, facts, plans)
    if steps & ALLOCATE:
        write_allocating(launches, facts, most, allocation, taken)
    if steps & ENTER:
        write_entering(launches, facts)
    if steps & COMMIT:
        write_committing(launches, facts, plans, allocation, taken, steps)
    write_closing(launches, facts, steps)
    return end
