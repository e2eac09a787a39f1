"""Rows of an update log over a list of edges: inserts, repeats, deletes of edges and vertices.

Row ``i`` is, by chance,

* a *fresh* insert, of edge ``i`` of the list,
* a *repeat*: an insert of the edge that an earlier row was about,
* a *delete* of the edge that an earlier row was about,
* a *vertex delete* of the source of the edge that an earlier row was about.

The earlier row is drawn uniformly from those before, and followed to the fresh row where its edge
came from; that takes a few steps on average and row 0 is always fresh. So deletes mostly hit
something that is there, at times something that was deleted already (a missing row), and edges that
repeat often repeat more. Nothing is kept between rows: any slice can be made on its own.

In a *sliding window* of ``w`` edges, the first ``w`` rows are fresh inserts; after them rows are
by turns a fresh insert and the delete of the oldest edge that is there. In a *sweep* the sources of
fresh inserts go through the vertices in order, part by part (`swept`).

With times, row ``i`` happens at ``first_time + i * time_step``.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import SettingsError
from .counter_random import Words, below, lower_half, random_words, unit_floats, upper_half

Int64s = npt.NDArray[np.int64]

#: Draws the edges with these numbers: ``uniform_edges`` or ``rmat_edges``, its settings bound.
EdgeList = Callable[[npt.NDArray[np.uint64]], tuple[Int64s, Int64s]]

_STREAM = 0x75706474  # "updt"
_KIND, _EARLIER, _WEIGHT, _TYPE = _STREAM, _STREAM + 1, _STREAM + 2, _STREAM + 3

#: Rows of a stream: earlier rows are drawn from 32 bits.
MAX_ROWS = 2**32


#: Parts of the vertices that a sweep goes through, as those of ``graphtide bench ageing``.
SWEEP_PARTS = 100

#: Edge types are numbers below it.
_TYPES = 4


@dataclass(frozen=True)
class UpdateMix:
    """Shares of the rows that are not fresh inserts, together less than 1; or a sliding window."""

    repeats: float = 0.0
    deletes: float = 0.0
    vertex_deletes: float = 0.0
    #: Edges of the sliding window, which has no shares.
    window: int | None = None

    def __post_init__(self) -> None:
        shares = (self.repeats, self.deletes, self.vertex_deletes)
        if self.window is not None and self.window < 1:
            msg = f"window={self.window} holds no edge; it must be 1 or more"
            raise SettingsError(msg)
        if self.window is not None and any(shares):
            msg = "a sliding window deletes its oldest edges; leave shares of repeats and deletes 0"
            raise SettingsError(msg)
        # So said, no share that is no number passes.
        if not (min(shares) >= 0 and sum(shares) < 1):
            msg = (
                f"repeats={self.repeats}, deletes={self.deletes}, "
                f"vertex_deletes={self.vertex_deletes} leave no fresh inserts; each must be >= 0 "
                f"and their sum below 1"
            )
            raise SettingsError(msg)


@dataclass(frozen=True)
class UpdateRows:
    """Rows of an update log; ``dst`` counts where ``dst_valid``, else the row is about ``src``."""

    op: npt.NDArray[np.int8]
    src: Int64s
    dst: Int64s
    dst_valid: npt.NDArray[np.bool_]
    weight: npt.NDArray[np.float32]
    type: npt.NDArray[np.int32]
    ts: Int64s


def swept(
    edges: EdgeList, num_vertices: int, length: int, numbers: npt.NDArray[np.uint64]
) -> tuple[Int64s, Int64s]:
    """Draw edges whose sources go through the vertices in order: an `EdgeList` of a sweep.

    The first hundredth of the ``length`` edges has sources in the first hundredth of the vertices,
    and so on; after ``length`` the sweep begins again. Destinations are those of ``edges``, whose
    sources are moved into their part.
    """
    src, dst = edges(numbers)
    part = numbers.astype(np.int64) % length * SWEEP_PARTS // length
    low, high = (num_vertices * (part + more) // SWEEP_PARTS for more in (0, 1))
    return low + src % np.maximum(high - low, 1), dst


def update_rows(
    edges: EdgeList,
    first: int,
    count: int,
    mix: UpdateMix,
    *,
    seed: int = 0,
    first_time: int = 0,
    time_step: int = 1,
) -> UpdateRows:
    """Draw rows ``first … first + count - 1`` of the stream.

    Parameters
    ----------
    edges
        The list of edges that fresh rows take from.
    first, count
        The slice; a stream has at most 2**32 rows.
    mix
        Shares of repeats and deletes, or a sliding window.
    seed
        Another seed is another stream over the same list.
    first_time, time_step
        Row ``i`` has ``ts = first_time + i * time_step``.

    Returns
    -------
    rows : UpdateRows
        Weights are multiples of 1/64 from 1/64 to 1, exact in float32. Types are 0 to 3; an edge
        has the same one in all of its rows.
    """
    if first < 0 or count < 0 or first + count > MAX_ROWS:
        msg = f"rows {first} … {first + count - 1} are outside the stream of {MAX_ROWS} rows"
        raise SettingsError(msg)
    numbers = np.arange(first, first + count, dtype=np.uint64)
    if mix.window is None:
        kind, edge_numbers = _kinds(numbers, mix, seed), _edge_numbers(numbers, mix, seed)
    else:
        kind, edge_numbers = _sliding(numbers, mix.window)
    src, dst = edges(edge_numbers)
    dst_valid = kind < _VERTEX_DELETE
    return UpdateRows(
        op=np.where(kind < _DELETE, 1, -1).astype(np.int8),
        src=src,
        dst=dst,
        dst_valid=dst_valid,
        weight=(
            (lower_half(random_words(seed, _WEIGHT, numbers)) % np.uint64(64) + np.uint64(1)) / 64
        ).astype(np.float32),
        type=below(upper_half(random_words(seed, _TYPE, edge_numbers)), _TYPES).astype(np.int32),
        ts=numbers.astype(np.int64) * time_step + first_time,
    )


_FRESH, _REPEAT, _DELETE, _VERTEX_DELETE = range(4)


def _kinds(numbers: Words, mix: UpdateMix, seed: int) -> npt.NDArray[np.int64]:
    """Kind of each row, in the order of the constants above."""
    draw = unit_floats(random_words(seed, _KIND, numbers))
    # From the top: vertex deletes, deletes, repeats; what is left below is fresh.
    bounds = 1.0 - np.cumsum([mix.vertex_deletes, mix.deletes, mix.repeats])[::-1]
    kind = np.searchsorted(bounds, draw, side="right")
    kind[numbers == 0] = _FRESH
    return kind.astype(np.int64)


def _sliding(numbers: Words, window: int) -> tuple[npt.NDArray[np.int64], Words]:
    """Kind of each row of a sliding window, and the number of its edge."""
    beyond = np.maximum(numbers, np.uint64(window)) - np.uint64(window)
    is_delete = (numbers >= window) & (beyond % np.uint64(2) == 1)
    inserted = np.minimum(numbers, np.uint64(window)) + beyond // np.uint64(2)
    edge_numbers = np.where(is_delete, beyond // np.uint64(2), inserted)
    return np.where(is_delete, _DELETE, _FRESH).astype(np.int64), edge_numbers


def _edge_numbers(numbers: Words, mix: UpdateMix, seed: int) -> Words:
    """The fresh row that each row's edge comes from."""
    origin = numbers.copy()
    open_rows = np.flatnonzero(_kinds(numbers, mix, seed) != _FRESH)
    while len(open_rows):
        rows = origin[open_rows]
        earlier = below(upper_half(random_words(seed, _EARLIER, rows)), rows)
        origin[open_rows] = earlier
        open_rows = open_rows[_kinds(earlier, mix, seed) != _FRESH]
    return origin
