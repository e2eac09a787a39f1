"""Streams of batches that age a graph of a constant size: as many entries leave as arrive.

==================  ===============================  ===========================================
stream              what leaves                      what arrives
==================  ===============================  ===========================================
``uniform``         entries drawn uniformly          pairs drawn uniformly
``sweep``           of the rows half a round behind  sources in one hundredth of the vertices,
                                                     the next hundredth in the next batch
``hub-biased``      entries drawn uniformly          pairs drawn as R-MAT
``sliding window``  the oldest entries               pairs drawn uniformly
==================  ===============================  ===========================================

So rows of a sweep grow by half, and shrink again, once in each round of a hundred batches; and of
the uniform graph that the hub-biased stream begins with, little is left after a thousand batches
of a hundredth.

The entries of a graph are an array of keys in no order; a new key overwrites one that leaves.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from .draws import DrawPairs, shuffled
from .workloads import Keys, rmat_pairs, uniform_pairs, unpack

#: Batches in which a sweep comes to every vertex once.
_ROUND = 100


class Step(NamedTuple):
    """Inputs of a stream for one batch."""

    xp: Any
    #: Binary logarithm of the number of vertices.
    scale: int
    #: Keys of the graph, in no order but that of age where the oldest leave.
    entries: Keys
    #: Batches before this one.
    number: int
    #: Entries that are to leave, and to arrive.
    leaving: int
    #: Generator of random numbers.
    random: Any


class Stream(NamedTuple):
    """Choice of the entries of a batch."""

    #: int64: distinct positions of the entries that leave; nearly ``leaving`` of them.
    positions: Callable[[Step], Any]
    pairs: Callable[[Step], DrawPairs]


def _any_positions(step: Step) -> Any:
    return step.xp.unique(step.random.integers(0, step.entries.size, step.leaving))


def _oldest_positions(step: Step) -> Any:
    return (step.number * step.leaving + step.xp.arange(step.leaving)) % step.entries.size


def _swept_positions(step: Step) -> Any:
    xp = step.xp
    low, high = _window(step.number + _ROUND // 2, step.scale)
    sources = unpack(xp, step.entries)[0]
    there = xp.flatnonzero((sources >= low) & (sources < high))
    return shuffled(xp, there, step.random)[: step.leaving]


def _uniform(step: Step) -> DrawPairs:
    return partial(uniform_pairs, step.xp, step.scale)


def _hub_biased(step: Step) -> DrawPairs:
    return partial(rmat_pairs, step.xp, step.scale)


def _swept(step: Step) -> DrawPairs:
    low, high = _window(step.number, step.scale)

    def pairs(count: int, random: Any) -> tuple[Any, Any]:
        src, dst = uniform_pairs(step.xp, step.scale, count, random)
        return low + src % (high - low), dst

    return pairs


def _window(number: int, scale: int) -> tuple[int, int]:
    """First source, and the one after the last, that a sweep is at."""
    low, high = ((number % _ROUND + more << scale) // _ROUND for more in (0, 1))
    return low, max(high, low + 1)


STREAMS = {
    "uniform": Stream(_any_positions, _uniform),
    "sweep": Stream(_swept_positions, _swept),
    "hub-biased": Stream(_any_positions, _hub_biased),
    "sliding window": Stream(_oldest_positions, _uniform),
}
