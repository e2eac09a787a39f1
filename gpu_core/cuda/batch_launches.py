"""Which kernels a batch takes once its halves are known, with which arguments: compiled.

Part of   the apply path: halves -> **plan -> serve_demand -> commit**
Kernels   ``plan.cu``, ``long_rows.cu``, ``free_runs.cu``, ``vertices.cu``, ``commit.cu``; of a
          batch of few rows ``few_rows.cu`` alone

All that decides is known to the host before the first launch: what is scratch is addresses, and
each step is told by the one before, on the device. So all launches are written at once, out of one
record of facts (`FACTS`), and go to the driver as a list (`launches.py`).

What the facts are: `batch_facts.py`. What is done in each step: `apply.py`.
"""

from typing import Final

import numpy as np

from ..host.compile import compiled, inlined
from ..image import CLASSES, Shape
from .batch_facts import (
    CLEAR_RECORDS,
    CLUSTER_OF_ROWS,
    COMMIT_LONG,
    COMMIT_ROWS,
    ENTER_LISTS,
    FACTS,
    FEW_ROWS,
    FIND_LONG,
    HALF_WORDS,
    PLAN_ROWS,
    REOPEN_LONG,
    SEARCH_LONG,
    SERVE_DEMAND,
    SERVE_GROUPS,
)
from .launches import begin_launch, end_launch, put_words

#: Steps that a list may have, in this order.
PLAN: Final = 1
SERVE: Final = 2
#: Vertices that the lists put are entered, whichever are not there.
ENTER: Final = 4
COMMIT: Final = 8

#: As in ``rows.cuh``: threads of a block, and entries of a tile of a long row.
BLOCK: Final = 256
_BLOCK_SHIFT: Final = 8
ENTRY_TILE: Final = BLOCK
#: Pieces of scratch begin at multiples of so many bytes: a warp reads whole lines.
ALIGNMENT: Final = 128
#: Bytes of a ``LongRow`` (``rows.cuh``).
LONG_ROW_BYTES: Final = 64
#: As in ``ledger.cuh``: int64 words of a service, and cuts in it.
SERVICE_WORDS: Final = 2048
_MOST_CUTS: Final = 640

#: Blocks that take tiles of long rows by turns, a multiprocessor: all of them run at once, so that
#: the next launch may begin.
_TILE_BLOCKS: Final = 4
#: Rows of a block of ``commit_rows`` at least: as many as it has groups of lanes.
_LEAST_ROWS: Final = 32
#: Blocks of it that run on a multiprocessor at once.
_BLOCKS_AT_ONCE: Final = 4
#: Blocks a multiprocessor of kernels whose items take turns.
_FILLING: Final = 8
#: The same of the one that enters vertices, beside which rows are written.
_ENTERING_BLOCKS: Final = 2
#: The same of the one that takes groups of free runs, at most.
GROUP_BLOCKS: Final = 4

_CLASSES: Final = CLASSES
_VERTEX_COUNT: Final = 1 + Shape._fields.index("vertex_count")
_VERTEX_WORDS: Final = 1 + Shape._fields.index("vertex_words")

#: Where the rows of a ``Half`` (``rows.cuh``) are.
_MAX_ROWS: Final = 7
#: Words of ``Plan``, the half's number before it; of these, its tiles and its places for long rows.
PLAN_WORDS: Final = 18
_TILE_SHIFT: Final = 4
_LISTED: Final = 8
#: Of ``Lists`` (``tiles.cuh``): rows and entries of the puts, vertices.
_PUT_ROWS, _PUTS, _VERTICES = 2, 4, 11
#: Of ``Properties`` (``rows.cuh``): where the resets of first times are.
_RESET: Final = 4

#: Steps that one launch does for a batch of few rows.
_WHOLE: Final = PLAN | SERVE | COMMIT
#: As in ``few_rows.cu``: blocks of a cluster.
_CLUSTER_BLOCKS: Final = 8
#: Entries of a batch of few rows at most, for each row that there may be.
_FEW_ENTRIES: Final = 4


@inlined
def _aligned(place):
    return place + (-place) % ALIGNMENT


@compiled
def taken_words_of(most):
    """Words of ``taken``: runs for commit, then runs that are cut.

    A cut run gives two pieces, but for the last one of each cut.
    """
    return most + min(most, most // 2 + _MOST_CUTS)


@compiled
def serving_words(most, few_runs):
    """Words of ``taken``, and of the two lists of few runs behind it."""
    return taken_words_of(most) + (2 * most if most <= few_runs else 0)


@inlined
def _copy(lines, place, words):
    """Append words to a line; returns the place behind them."""
    for number in range(words.size):
        lines[place + number] = words[number]
    return place + words.size


@inlined
def _put_shape(lines, place, shape, vertex_count):
    """Append the image's address and a shape with so many vertices."""
    end = _copy(lines, place, shape)
    lines[place + _VERTEX_COUNT] = vertex_count
    return end


@compiled
def write_serving(
    lines, kernels, trees, tree_groups, turns, multiprocessors, few_runs, image, tree, geometry,
    service, taken, need, most, vertex_count,
):  # fmt: skip
    """Write the launch that takes runs out of the arena; arguments as of `free_runs.cu`.

    ``kernels`` are handles of `PLAIN_KERNELS`.
    """
    common = image, tree, geometry, service, taken
    demand = need, most, vertex_count
    if most <= few_runs:
        place = begin_launch(lines, kernels[SERVE_DEMAND], trees, BLOCK)
        lists = taken + 4 * taken_words_of(most)
        end_launch(lines, put_words(lines, place, (*common, lists, *demand)))
    else:
        blocks = min(tree_groups, GROUP_BLOCKS * multiprocessors)
        place = begin_launch(lines, kernels[SERVE_GROUPS], blocks, BLOCK)
        end_launch(lines, put_words(lines, place, (*common, *demand, turns)))


@compiled
def write_clearing(lines, kernel, shape, before, after, multiprocessors):
    """Write the launch that clears the records that the vertex table gains; none where it does not.

    ``shape`` is int64[]: the image's address and its `Shape`.
    """
    if after <= before:
        return
    words = (after - before) * shape[_VERTEX_WORDS]
    blocks = min(-(-words // BLOCK), _FILLING * multiprocessors)
    place = begin_launch(lines, kernel, blocks, BLOCK)
    place = _put_shape(lines, place, shape, before)
    end_launch(lines, put_words(lines, place, (before, after)))


@inlined
def _write_entering(lines, kernel, shape, lists, after, multiprocessors):
    """Write the launch that enters all vertices that the lists put and that are not there."""
    named = lists[_PUT_ROWS] + lists[_PUTS] + lists[_VERTICES]
    blocks = min(-(-named // BLOCK), _ENTERING_BLOCKS * multiprocessors)
    place = begin_launch(lines, kernel, blocks, BLOCK)
    place = _put_shape(lines, place, shape, after)
    end_launch(lines, _copy(lines, place, lists))


@inlined
def _plans_of(call, halves, plans):
    """Hand out the scratch of the plans, and fill ``Plan`` of each half, its number before it.

    Returns
    -------
    need, most, end : int
        Address of int64[CLASSES], runs to be taken; a bound of the runs in all; where the scratch
        goes on.
    """
    rows = 0
    for number in range(call.halves):
        rows += halves[number, 1 + _MAX_ROWS]
    # Tiles of a block of rows, or of twice as many and so on, of all halves together.
    shift = _BLOCK_SHIFT
    while True:
        tiles = 0
        for number in range(call.halves):
            tiles += -(-halves[number, 1 + _MAX_ROWS] >> shift)
        if tiles <= call.most_tiles:
            break
        shift += 1
    # The classes lie a multiple of 16 bytes apart.
    stride = -(-tiles // 4) * 4
    need = _aligned(call.scratch)
    counts = need + 8 * _CLASSES
    end = _aligned(counts + 4 * _CLASSES * stride)
    listed = np.zeros(5, np.int64)
    if call.long_rows > 0:
        sizes = (
            LONG_ROW_BYTES * call.long_rows, 4 * call.entry_tiles, 4 * call.old_tiles,
            4 * call.entry_tiles, 4 * call.staging_words,
        )  # fmt: skip
        for piece in range(len(sizes)):
            listed[piece] = end
            end = _aligned(end + sizes[piece])
    first_tile = 0
    for number in range(call.halves):
        most, entries = halves[number, 1 + _MAX_ROWS], halves[number, 1 + HALF_WORDS]
        plan = plans[number]
        plan[:] = 0
        put_words(plan, 0, (number, end, counts, need, shift, first_tile, tiles, stride))
        first_tile += -(-most >> shift)
        end = _aligned(end + 4 * most)
        if call.long_rows > 0:
            _copy(plan, _LISTED, listed[:4])
            sizes_of_half = (4 * most, 4 * entries, 4 * entries, entries)
            for piece in range(len(sizes_of_half)):
                plan[_LISTED + 4 + piece] = end
                end = _aligned(end + sizes_of_half[piece])
            plan[_LISTED + 8], plan[_LISTED + 9] = listed[4], call.staging_words
    return need, rows, end


@inlined
def _put_half(lines, place, facts, plans, number, vertex_count):
    """Append what all kernels of a half begin with: image, half and plan."""
    half = facts.each.halves[number]
    place = _put_shape(lines, place, facts.image.shapes[half[0]], vertex_count)
    place = _copy(lines, place, half[1 : 1 + HALF_WORDS])
    return _copy(lines, place, plans[number])


@inlined
def _write_planning(lines, facts, plans):
    """Write the launches that find out what becomes of each row."""
    call, kernels = facts.call, facts.kernels.directed
    halves, before = facts.each.halves, call.before
    if call.long_rows > 0:
        for number in range(call.halves):
            blocks = -(-halves[number, 1 + _MAX_ROWS] // BLOCK)
            place = begin_launch(lines, kernels[halves[number, 0], FIND_LONG], blocks, BLOCK)
            end_launch(lines, _put_half(lines, place, facts, plans, number, before))
        blocks = min(call.entry_tiles + call.old_tiles, _TILE_BLOCKS * facts.image.multiprocessors)
        for number in range(call.halves):
            direction = halves[number, 0]
            place = begin_launch(lines, kernels[direction, SEARCH_LONG], blocks, BLOCK)
            place = _put_half(lines, place, facts, plans, number, before)
            reset = facts.batch.properties[_RESET] if direction == 0 else 0
            end_launch(lines, put_words(lines, place, (reset,)))
    for number in range(call.halves):
        blocks = -(-halves[number, 1 + _MAX_ROWS] >> plans[number, _TILE_SHIFT])
        place = begin_launch(lines, kernels[halves[number, 0], PLAN_ROWS], blocks, BLOCK)
        place = _put_half(lines, place, facts, plans, number, before)
        end_launch(lines, put_words(lines, place, (int(number == call.halves - 1),)))


@inlined
def _write_committing(lines, facts, plans, service, taken, steps):
    """Write the launches that write rows, records and freed runs, and a report where one is due.

    Rows are written beside the launch before, if that enters vertices or writes long rows. Where
    they were planned by another list, they may have been moved since.
    """
    call, image, kernels = facts.call, facts.image, facts.kernels.directed
    halves, after = facts.each.halves, call.after
    runs = (service, taken, image.tree, image.geometry)
    for number in range(call.halves):
        direction, most = halves[number, 0], halves[number, 1 + _MAX_ROWS]
        beside = steps & ENTER != 0 and number == 0
        if call.long_rows > 0 and steps & PLAN == 0:
            blocks = -(-call.long_rows // BLOCK)
            place = begin_launch(lines, kernels[direction, REOPEN_LONG], blocks, BLOCK)
            end_launch(lines, _put_half(lines, place, facts, plans, number, after))
            beside = False
        if call.long_rows > 0:
            blocks = _TILE_BLOCKS * image.multiprocessors
            place = begin_launch(lines, kernels[direction, COMMIT_LONG], blocks, BLOCK)
            place = _put_half(lines, place, facts, plans, number, after)
            place = _copy(lines, place, facts.batch.properties)
            place = put_words(lines, place, runs)
            end_launch(lines, put_words(lines, place, (int(beside),)))
            beside = True
        block_rows = _LEAST_ROWS
        while block_rows < BLOCK and most > block_rows * _BLOCKS_AT_ONCE * image.multiprocessors:
            block_rows *= 2
        report = call.report if number == call.halves - 1 else 0
        blocks = -(-most // block_rows)
        place = begin_launch(lines, kernels[direction, COMMIT_ROWS], blocks, BLOCK)
        place = _put_half(lines, place, facts, plans, number, after)
        place = _copy(lines, place, facts.batch.properties)
        place = put_words(lines, place, runs)
        # The batch's last launch alone sees to it that the one before has ended.
        beside = beside and report != 0
        end_launch(lines, put_words(lines, place, (block_rows, image.sides, report, int(beside))))


@inlined
def _blocks_of_few(facts, steps):
    """Blocks that do a whole batch in one launch; 0 where there are too many rows for that."""
    call, half = facts.call, facts.each.halves[0]
    if steps != _WHOLE or call.halves > 1 or call.long_rows > 0:
        return 0
    rows, entries, kernels = half[1 + _MAX_ROWS], half[1 + HALF_WORDS], facts.kernels.directed
    if rows > call.few_runs:
        return 0
    if rows <= BLOCK and entries <= _FEW_ENTRIES * BLOCK and kernels[half[0], FEW_ROWS]:
        return 1
    most = _CLUSTER_BLOCKS * BLOCK
    if rows <= most and entries <= _FEW_ENTRIES * most and kernels[half[0], CLUSTER_OF_ROWS]:
        return _CLUSTER_BLOCKS
    return 0


@inlined
def _write_whole(lines, facts, plans, blocks, service, taken):
    """Write the launch that does a whole batch."""
    call, image, direction = facts.call, facts.image, facts.each.halves[0, 0]
    kernel = facts.kernels.directed[direction, FEW_ROWS if blocks == 1 else CLUSTER_OF_ROWS]
    place = begin_launch(lines, kernel, blocks, BLOCK)
    place = _put_half(lines, place, facts, plans, 0, call.after)
    place = _copy(lines, place, facts.batch.properties)
    place = put_words(lines, place, (service, taken, image.tree, image.geometry))
    end_launch(lines, put_words(lines, place, (image.trees, image.sides, call.report)))


@compiled
def write_launches(lines, packed, steps):
    """Write the launches of some steps of a batch.

    Parameters
    ----------
    lines
        A list, which begins anew.
    packed
        `FACTS`: bytes, or int64[].
    steps
        Sum of `PLAN` … `COMMIT`.

    Returns
    -------
    int
        Address behind the scratch that was handed out: beyond ``scratch_end`` nothing may run.
    """
    lines[0] = 0
    facts = np.frombuffer(packed, FACTS)[0]
    call, image, batch, plain = facts.call, facts.image, facts.batch, facts.kernels.plain
    out = image.shapes[0]
    plans = np.empty((2, PLAN_WORDS), np.int64)
    need, most, end = _plans_of(call, facts.each.halves, plans)
    service, taken = call.service, call.taken
    if steps & SERVE:
        most = max(most, 1)
        service = end
        taken = service + 8 * SERVICE_WORDS
        end = taken + 4 * serving_words(most, call.few_runs)
    if end > call.scratch_end:
        return end
    blocks = _blocks_of_few(facts, steps)
    if blocks > 0:
        _write_whole(lines, facts, plans, blocks, service, taken)
        return end
    if steps & PLAN:
        _write_planning(lines, facts, plans)
    if steps & SERVE:
        write_serving(
            lines, plain, image.trees, image.tree_groups, image.turns, image.multiprocessors,
            call.few_runs, out[0], image.tree, image.geometry, service, taken, need, most,
            call.after,
        )  # fmt: skip
    if steps & ENTER:
        write_clearing(
            lines, plain[CLEAR_RECORDS], out, call.before, call.after, image.multiprocessors
        )
        _write_entering(
            lines, plain[ENTER_LISTS], out, batch.lists, call.after, image.multiprocessors
        )
    if steps & COMMIT:
        _write_committing(lines, facts, plans, service, taken, steps)
    return end
