"""The batches that benchmarks apply, drawn where the graph's keys lie, exact in what they meet."""

from collections.abc import Callable
from functools import partial
from typing import Any

from .workloads import Keys, pack, uniform_pairs, unpack

#: bool[m] for keys[m]: whether each is in the graph.
IsKnown = Callable[[Keys], Any]
#: So many pairs of vertices, int64 each, by a generator of random numbers.
DrawPairs = Callable[[int, Any], tuple[Any, Any]]


def is_key(xp: Any, keys: Keys, wanted: Keys) -> Any:
    """bool: whether each wanted key is among the sorted ``keys``."""
    if keys.size == 0:
        return xp.zeros(wanted.size, bool)
    at = xp.minimum(xp.searchsorted(keys, wanted), keys.size - 1)
    return keys[at] == wanted


def new_keys(xp: Any, is_known: IsKnown, draw: DrawPairs, count: int, random: Any) -> Keys:
    """Sorted keys of ``count`` distinct entries that are not known; no self loops.

    ``random`` is a generator of ``xp``, or a seed of one, here and below.
    """
    random = xp.random.default_rng(random)
    drawn = xp.empty(0, xp.uint64)
    while drawn.size < count:
        src, dst = draw((count - drawn.size) * 5 // 4 + 64, random)
        fresh = pack(xp, src, dst)[src != dst]
        fresh = fresh[~is_known(fresh)]
        drawn = xp.unique(xp.concatenate([drawn, fresh]))
    return some_keys(xp, drawn, count, random)


def hub_keys(xp: Any, keys: Keys, scale: int, count: int, random: Any) -> Keys:
    """Sorted keys of ``count`` new entries of vertex 0."""
    targets = xp.arange(1 << scale, dtype=xp.int64)
    fresh = pack(xp, xp.zeros(targets.size, xp.int64), targets)[targets != 0]
    return some_keys(xp, fresh[~is_key(xp, keys, fresh)], count, random)


def stress_pairs(xp: Any, keys: Keys, scale: int, count: int, random: Any) -> tuple[Any, Any]:
    """Pairs in random order: a tenth repeats of others among them, a tenth in the graph already."""
    random = xp.random.default_rng(random)
    tenth = count // 10
    is_known, draw = partial(is_key, xp, keys), partial(uniform_pairs, xp, scale)
    fresh = new_keys(xp, is_known, draw, count - 2 * tenth, random)
    drawn = xp.concatenate([fresh, fresh[:tenth], some_keys(xp, keys, tenth, random)])
    return unpack(xp, shuffled(xp, drawn, random))


def some_keys(xp: Any, keys: Keys, count: int, random: Any) -> Keys:
    """``count`` of the keys at random, in increasing order."""
    return xp.sort(shuffled(xp, keys, random)[:count])


def shuffled(xp: Any, keys: Any, random: Any) -> Any:
    """The keys in random order."""
    return keys[xp.argsort(xp.random.default_rng(random).random(keys.size))]
