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

A vertex with no more such edges than that keeps all of them: in the order of its row, but by weight
or time, with a fanout, in the order in which they are drawn.

What is found is numbered in the order in which it is found, the vertices that were given first. A
vertex found again is not expanded again. With ``disjoint`` each given vertex has a tree of its own:
vertices of different trees are different ones, and each tree may have a time of its own.

Draws are words by number (`generators/counter_random.py`): a stream a hop, an owner an expanded
vertex, by its position in the hop. So threads and engines make no difference.

What an engine offers: ``algorithms.neighbor_sampling`` with ``Sampler``, of rows alone: it expands
hops and numbers what is found, in the memory of the engine. It reads the rows that are asked for,
of which those without weights and times at random positions only.

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
#: What a twin notes of a row in place of a number of entries, where a weight is negative, or those
#: that count cannot be drawn by.
REFUSED: Final = -1


class SeenBefore(NamedTuple):
    """Which entries count: those of edges whose time is not after a bound."""

    times: EntryTimes
    #: int64[1], of all, or int64[v], by tree; in host memory.
    bounds: Int64s
    #: Rows of out-neighbors, where those that are read are of in-neighbors, which have no times.
    out: Rows | None


class SamplingMode(NamedTuple):
    """How all hops of a sample are drawn."""

    replace: bool
    weighted: bool
    #: Whether each given vertex has a tree of its own.
    disjoint: bool
    #: Which entries count; None: all.
    seen: SeenBefore | None = None


class Sampled(NamedTuple):
    """Vertices, and edges between their positions; arrays in the memory of the engine."""

    #: int64[n]: what the engine calls the vertices.
    keys: Any
    #: int64[n]: tree of each vertex; None: not disjoint.
    batch: Any
    #: int64[2, e]: position of each neighbor, and of the vertex that was expanded.
    edge_index: Any
    vertices_per_hop: list[int]
    edges_per_hop: list[int]


def sample_neighbors(
    reader: Reader,
    given: UInt32s,
    fanouts: list[int],
    mode: SamplingMode,
    *,
    direction: str,
    upto: Int64s | None,
    time: str,
    seed: int,
) -> Sampled:
    """Sample around some vertices; the reader's lock is held.

    Parameters
    ----------
    given
        uint32[v]: indices of vertices that are in the graph; different ones, unless
        ``mode.disjoint``.
    fanouts
        Entries of each vertex at most, hop by hop; `ALL`.
    mode
        How all hops are drawn; to draw by weights, the graph must have some. ``seen`` is set here.
    direction
        Of the rows, ``in`` or ``out``; these must be stored.
    upto
        int64[v], or [1] for all: only edges whose ``time``, ``first`` or ``last``, is not after it.

    Raises
    ------
    SettingsError
        A weight that is looked at is negative, or those of a vertex cannot be drawn by.
    """
    is_transposed = reader.kind.directed and direction == "in"
    rows = reader.rows(direction, weighted=mode.weighted)
    if upto is not None:
        out = reader.rows("out") if is_transposed else None
        mode = mode._replace(seen=SeenBefore(reader.entry_times(time), upto, out))
    sampler = reader.algorithms.neighbor_sampling.Sampler(reader.workspace, rows, given, mode)
    for hop, fanout in enumerate(fanouts):
        refused = sampler.expand(fanout, stream_start(seed, _STREAM + hop))
        if mode.weighted:
            check_weights(reader.ids_of(refused), "a sample by weight")
    sampled: Sampled = sampler.sampled(reader.id_table())
    if direction == "out":
        return sampled._replace(edge_index=sampled.edge_index[::-1].copy())
    return sampled
