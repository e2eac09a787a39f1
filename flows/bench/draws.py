"""The batches that benchmarks apply, drawn where the graph's keys lie, exact in what they meet."""

from typing import Any

from .workloads import Keys, pack, rmat_pairs, uniform_pairs, unpack


def is_key(xp: Any, keys: Keys, wanted: Keys) -> Any:
    """bool: whether each wanted key is among the sorted ``keys``."""
    if keys.size == 0:
        return xp.zeros(wanted.size, bool)
    at = xp.minimum(xp.searchsorted(keys, wanted), keys.size - 1)
    return keys[at] == wanted


def new_keys(xp: Any, keys: Keys, scale: int, count: int, seed: int, *, rmat: bool = False) -> Keys:
    """Sorted keys of ``count`` distinct entries that the graph has not; no self loops."""
    drawn = xp.empty(0, xp.uint64)
    pairs = rmat_pairs if rmat else uniform_pairs
    while drawn.size < count:
        seed += 1
        src, dst = pairs(xp, scale, (count - drawn.size) * 5 // 4 + 64, seed)
        fresh = pack(xp, src, dst)[src != dst]
        fresh = fresh[~is_key(xp, keys, fresh)]
        drawn = xp.unique(xp.concatenate([drawn, fresh]))
    return _some(xp, drawn, count, seed)


def old_keys(xp: Any, keys: Keys, count: int, seed: int) -> Keys:
    """Sorted keys of ``count`` distinct entries of the graph."""
    return _some(xp, keys, count, seed)


def hub_keys(xp: Any, keys: Keys, scale: int, hub: int, count: int, seed: int) -> Keys:
    """Sorted keys of ``count`` new entries of one source."""
    targets = xp.arange(1 << scale, dtype=xp.int64)
    fresh = pack(xp, xp.full(targets.size, hub, xp.int64), targets)[targets != hub]
    return _some(xp, fresh[~is_key(xp, keys, fresh)], count, seed)


def stress_pairs(xp: Any, keys: Keys, scale: int, count: int, seed: int) -> tuple[Any, Any]:
    """Pairs in random order: a tenth repeats of others among them, a tenth in the graph already."""
    tenth = count // 10
    fresh = new_keys(xp, keys, scale, count - 2 * tenth, seed)
    drawn = xp.concatenate([fresh, fresh[:tenth], old_keys(xp, keys, tenth, seed)])
    order = xp.argsort(xp.random.default_rng(seed).random(drawn.size))
    return unpack(xp, drawn[order])


def _some(xp: Any, keys: Keys, count: int, seed: int) -> Keys:
    """``count`` of the keys at random, in order."""
    order = xp.argsort(xp.random.default_rng(seed).random(keys.size))
    return xp.sort(keys[order[:count]])
