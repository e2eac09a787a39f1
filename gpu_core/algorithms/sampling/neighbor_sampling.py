"""Neighbor sampling: for some vertices a few neighbors, for those a few of theirs, and so on.

Hop ``h`` samples, for each vertex that the hop before has found, up to ``fanouts[h]`` entries of
its row:

===============  ==========================================================================
without weights  every subset of that size alike (Floyd's algorithm); with replacement every
                 draw by itself
by weight        entry after entry, each by the weights of those that are left, which are the
                 ones with the least ``exponential / weight`` (Efraimidis and Spirakis); with
                 replacement every draw by itself. Weights of 0 are never drawn
``before``       the same of the edges whose time is before that alone
===============  ==========================================================================

A vertex with no more such edges than that keeps all of them, in the order of its row.

What is found is numbered in the order in which it is found, the vertices that were given first. A
vertex found again is not expanded again. With ``disjoint`` each given vertex has a tree of its own:
vertices of different trees are different ones, and each tree may have a time of its own.

Draws are words by number (`generators/counter_random.py`): a stream a hop, an owner an expanded
vertex, by its position in the hop. So threads and engines make no difference.

What an engine offers: ``algorithms.neighbor_sampling`` with ``sample``, of rows alone: it reads the
rows that are asked for, of which those without weights and times at random places only. Numbering:
`gpu_core/vertex_numbers.py`, in host memory.

Sources: Hamilton, Ying, Leskovec, "Inductive Representation Learning on Large Graphs", NIPS 2017;
Bentley, Floyd, "A Sample of Brilliance", CACM 1987; Efraimidis, Spirakis, "Weighted random sampling
with a reservoir", IPL 2006. The form is that of PyTorch Geometric's samplers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ...generators.counter_random import stream_start
from ...rows import EntryTimes, Rows
from ..centrality.pagerank import check_weights

if TYPE_CHECKING:
    from ...engine import Reader

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]

#: Stream of the words of the first hop: far from those that make graphs.
_STREAM: Final = 0x73616D70

#: A fanout: all neighbors.
ALL: Final = -1
#: What a twin says of a row with a negative weight, in place of a number of entries.
NEGATIVE: Final = -1


class SeenBefore(NamedTuple):
    """Which entries count: those of edges whose time is before one of each expanded vertex."""

    times: EntryTimes
    #: int64[f]: by expanded vertex.
    bounds: Int64s
    #: Rows of out-neighbors, where those that are read are of in-neighbors, which have no times.
    out: Rows | None


class Hop(NamedTuple):
    """What a twin samples."""

    #: uint32[f]: vertices that are expanded.
    frontier: UInt32s
    #: Entries of each at most; `ALL`.
    fanout: int
    #: int64[f + 1]: where what is sampled of each goes.
    slots: Int64s
    #: Where the stream of this hop begins.
    first_word: np.uint64
    replace: bool
    weighted: bool
    seen: SeenBefore | None


class Sampled(NamedTuple):
    """Vertices by index, and edges between their positions."""

    indices: UInt32s
    #: int64[n]: tree of each vertex; None: not disjoint.
    batch: Int64s | None
    #: int64[2, e]: source and destination.
    edge_index: Int64s
    vertices_per_hop: list[int]
    edges_per_hop: list[int]


def sample_neighbors(
    reader: Reader,
    given: UInt32s,
    fanouts: list[int],
    *,
    replace: bool,
    weighted: bool,
    direction: str,
    disjoint: bool,
    before: Int64s | None,
    time: str,
    seed: int,
) -> Sampled:
    """Sample around some vertices; the reader's lock is held.

    Parameters
    ----------
    given
        uint32[v]: indices of vertices that are in the graph; different ones unless ``disjoint``.
    fanouts
        Entries of each vertex at most, hop by hop; `ALL`.
    weighted
        By the weights, which the graph must have.
    direction
        Of the rows, ``in`` or ``out``; these must be stored.
    before
        int64[v], or [1] for all: only edges whose ``time``, ``first`` or ``last``, is before that.

    Raises
    ------
    SettingsError
        A weight that is looked at is negative.
    """
    # Here: who asks the registry what analytics there are need not wait for Numba.
    from ...vertex_numbers import VertexNumbers

    is_turned = reader.kind.directed and direction == "in"
    rows = reader.rows(direction, weighted=weighted)
    times = None if before is None else reader.entry_times(time)
    out = reader.rows("out") if times is not None and is_turned else None
    trees = np.arange(given.size) if disjoint else None
    numbers = VertexNumbers(given, trees)
    first, edges = 0, []
    for hop, fanout in enumerate(fanouts):
        frontier = numbers.indices[first:]
        of_trees = None if trees is None else numbers.trees[first:]
        seen = None
        if times is not None and before is not None:
            bounds = before[of_trees] if before.size > 1 else np.full(frontier.size, before[0])
            seen = SeenBefore(times, bounds, out)
        task = Hop(
            frontier, fanout, _slots(reader.degrees(frontier, direction), fanout, replace=replace),
            stream_start(seed, _STREAM + hop), replace, weighted, seen,
        )  # fmt: skip
        found, counts = reader.algorithms.neighbor_sampling.sample(reader.workspace, rows, task)
        if weighted:
            check_weights(reader.ids_of(frontier[counts == NEGATIVE]), "a sample by weight")
        expanded = np.repeat(np.arange(first, first + frontier.size), counts)
        first = numbers.count
        edges.append(np.stack([numbers.of(found, _repeated(of_trees, counts)), expanded]))
    edge_index = np.concatenate([np.empty((2, 0), np.int64), *edges], axis=1)
    if direction == "out" and reader.kind.directed:
        edge_index = np.ascontiguousarray(edge_index[::-1])
    return Sampled(
        numbers.indices, numbers.trees if disjoint else None, edge_index, numbers.per_hop,
        [each.shape[1] for each in edges],
    )  # fmt: skip


def _slots(degrees: Int64s, fanout: int, *, replace: bool) -> Int64s:
    """Room for what is sampled of each vertex."""
    room = degrees
    if fanout != ALL:
        room = np.where(degrees > 0, fanout, 0) if replace else np.minimum(degrees, fanout)
    slots = np.zeros(room.size + 1, np.int64)
    np.cumsum(room, out=slots[1:])
    return slots


def _repeated(trees: Int64s | None, counts: Int64s) -> Int64s | None:
    return None if trees is None else np.repeat(trees, counts)


def packed(sampled: Any, slots: Int64s, counts: Int64s) -> UInt32s:
    """What was sampled without the slots that were not needed.

    Parameters
    ----------
    sampled
        uint32[slots[-1]], in host memory.
    slots
        As of `Hop`.
    counts
        int64[f]: how many slots of each are filled; `NEGATIVE` of none.
    """
    filled = np.maximum(counts, 0)
    if (filled == np.diff(slots)).all():
        found: UInt32s = sampled
        return found
    ends = np.cumsum(filled)
    places = np.arange(int(ends[-1])) + np.repeat(slots[:-1] - (ends - filled), filled)
    kept: UInt32s = sampled[places]
    return kept
