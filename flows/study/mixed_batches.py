"""Random batches that reach every part of the update path, for ``study stress``.

Inserts, half of them at one of `_HUBS` vertices that come to be neighbors of many others; deletes,
most of edges that were inserted lately; vertices that come and go, hubs among them, in the midst of
a batch; self loops; and rows about what another row of the batch is about. A batch has from one row
on to all, and some insert or delete alone. For sixty batches the graph grows, and for forty it
shrinks, so rows outgrow their pages and leave them again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]

_HUBS = 8
#: A cycle of growing and shrinking, and its part that grows; shares of inserts in either.
_CYCLE, _GROWING = 100, 60
_INSERTS = (0.75, 0.3)
#: Shares of the rows that are about vertices, that are self loops, that repeat another.
_VERTEX_ROWS, _LOOPS, _REPEATS = 0.002, 0.005, 0.05
#: Of inserts those with a hub as source, and as target; of deletes those of edges that were
#: inserted in the last `_LATELY` batches, the others being of pairs drawn uniformly.
_FROM_HUB, _TO_HUB = 0.35, 0.15
_KNOWN, _LATELY = 0.9, 16
#: One batch in so many deletes a hub, has no row about a vertex, has inserts alone, deletes alone.
_HUB_LEAVES, _PLAIN, _ONLY_INSERTS, _ONLY_DELETES = 20, 6, 7, 11
#: Batches have the rows that were asked for, over one of these.
_SMALLER = (1, 1, 1, 4, 64, 1 << 20)
#: Time from one batch to the next; the times of a batch spread over twice as much.
TIME_STEP = 1000


class RowColumns(NamedTuple):
    """Rows of a batch, as `UpdateBatch.from_rows` takes them."""

    op: npt.NDArray[np.int8]
    src: Int64s
    dst: Int64s
    dst_valid: npt.NDArray[np.bool_]
    #: Multiples of 1/64, which every kind of weight keeps as they are.
    weight: npt.NDArray[np.float64]
    type: npt.NDArray[np.int32]
    ts: Int64s


def mixed_batches(batches: int, rows: int, ids: Int64s, seed: int) -> Iterator[RowColumns]:
    """Draw batches of at most ``rows`` rows over the vertices with these ids."""
    random = np.random.default_rng(seed)
    lately: deque[tuple[Int64s, Int64s]] = deque(maxlen=_LATELY)
    for number in range(batches):
        count = max(rows // int(random.choice(_SMALLER)), 1)
        op = _operations(random, number, count)
        src, dst = (random.integers(0, ids.size, count) for _ in range(2))
        hubs = random.integers(0, _HUBS, count) * (ids.size // _HUBS)
        at_hub = random.random(count)
        src = np.where(at_hub < _FROM_HUB, hubs, src)
        dst = np.where(at_hub > 1 - _TO_HUB, hubs, dst)
        if lately:
            _draw_known(random, op, src, dst, lately)
        _repeat(random, src, dst)
        loops = random.random(count) < _LOOPS
        dst[loops] = src[loops]
        lately.append((src[op > 0], dst[op > 0]))
        is_vertex = random.random(count) < (_VERTEX_ROWS if number % _PLAIN else 0)
        if number % _HUB_LEAVES == _HUB_LEAVES - 1:
            op[count // 2], src[count // 2], is_vertex[count // 2] = -1, hubs[0], True
        yield RowColumns(
            op, ids[src], ids[dst], ~is_vertex,
            random.integers(1, 65, count) / 64, random.integers(0, 4, count, dtype=np.int32),
            number * TIME_STEP + random.integers(0, 2 * TIME_STEP, count),
        )  # fmt: skip


def _operations(random: np.random.Generator, number: int, count: int) -> npt.NDArray[np.int8]:
    inserts = _INSERTS[number % _CYCLE >= _GROWING]
    if number % _ONLY_INSERTS == _ONLY_INSERTS - 1:
        inserts = 1.0
    elif number % _ONLY_DELETES == _ONLY_DELETES - 1:
        inserts = 0.0
    return np.where(random.random(count) < inserts, 1, -1).astype(np.int8)


def _draw_known(
    random: np.random.Generator,
    op: npt.NDArray[np.int8],
    src: Int64s,
    dst: Int64s,
    lately: deque[tuple[Int64s, Int64s]],
) -> None:
    """Make most deletes such of edges that were inserted lately."""
    known_src, known_dst = (np.concatenate(side) for side in zip(*lately, strict=True))
    deletes = np.flatnonzero((op < 0) & (random.random(op.size) < _KNOWN))
    if known_src.size:
        drawn = random.integers(0, known_src.size, deletes.size)
        src[deletes], dst[deletes] = known_src[drawn], known_dst[drawn]


def _repeat(random: np.random.Generator, src: Int64s, dst: Int64s) -> None:
    """Have some rows be about the edge of another; half of them name its ends in turned order."""
    again = np.flatnonzero(random.random(src.size) < _REPEATS)
    other = random.integers(0, src.size, again.size)
    turned = random.random(again.size) < 0.5
    ends = src[other], dst[other]
    src[again], dst[again] = np.where(turned, ends[::-1], ends)
