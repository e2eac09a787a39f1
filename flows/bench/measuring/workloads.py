"""The graphs that benchmarks run on, made where the engine works: on the GPU, or in host memory.

========  ====================================================  ========  =========
name      what                                                  vertices  entries
========  ====================================================  ========  =========
``G1``    random geometric, ids in cell order                   2^20      13.6 M
``G1s``   ``G1``, ids shuffled                                  2^20      13.6 M
``G2``    square grid                                           2^22      16.8 M
``G3``    R-MAT, edge factor 16 (.57 .19 .19 .05), scrambled    2^20      31.4 M
``G3b``   the same                                              2^22      128 M
``G4``    Erdős-Rényi, mean degree 16                           2^20      16.8 M
``G5``    Erdős-Rényi, mean degree 16                           2^22      67 M
========  ====================================================  ========  =========

All are simple and undirected, stored both ways: an *entry* is one direction. An edge is one
*key*, ``source << 32 | target``, and a graph is its keys in increasing order.

Arrays are of the module ``xp``: NumPy, or CuPy, which has the same functions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ....gpu_core.generators.erdos_renyi import erdos_renyi_edges
from ....gpu_core.generators.geometric import geometric_graph
from ....gpu_core.generators.grid import grid_edges, grid_size

#: uint64[m] of ``xp``.
Keys = Any

_SHIFT = 32
_MASK = 0xFFFFFFFF

_EDGE_FACTOR = 16
#: Probabilities of R-MAT's upper left, upper right and lower left quadrant.
_RMAT = (0.57, 0.19, 0.19)


@dataclass(frozen=True)
class Workload:
    """A graph by name, and how its keys are made."""

    name: str
    what: str
    #: Binary logarithm of the number of vertices.
    scale: int
    make: Callable[[Any, int, int], Keys]

    def keys(self, xp: Any, *, smaller: int = 0, seed: int = 1) -> Keys:
        """Make the graph; ``smaller`` takes that many bits off the number of vertices."""
        return self.make(xp, self.scale - smaller, seed)


def pack(xp: Any, src: Any, dst: Any) -> Keys:
    """Keys of pairs of vertices, in the order given."""
    return (src.astype(xp.uint64) << xp.uint64(_SHIFT)) | dst.astype(xp.uint64)


def unpack(xp: Any, keys: Keys) -> tuple[Any, Any]:
    """int64 sources and targets of keys."""
    src = (keys >> xp.uint64(_SHIFT)).astype(xp.int64)
    return src, (keys & xp.uint64(_MASK)).astype(xp.int64)


def both_ways(xp: Any, src: Any, dst: Any) -> Keys:
    """Sorted distinct keys of the pairs and of the pairs turned round, self loops left out."""
    stays = src != dst
    src, dst = src[stays], dst[stays]
    return xp.unique(xp.concatenate([pack(xp, src, dst), pack(xp, dst, src)]))


def uniform_pairs(xp: Any, scale: int, count: int, random: Any) -> tuple[Any, Any]:
    """``count`` pairs of vertices, each drawn uniformly; ``random``: a generator or its seed."""
    draw = xp.random.default_rng(random)
    return tuple(draw.integers(0, 1 << scale, count, dtype=xp.int64) for _ in range(2))


def rmat_pairs(xp: Any, scale: int, count: int, random: Any) -> tuple[Any, Any]:
    """``count`` pairs of R-MAT, vertices permuted; repeats and self loops are left in."""
    draw = xp.random.default_rng(random)
    a, b, c = _RMAT
    src, dst = xp.zeros(count, xp.int64), xp.zeros(count, xp.int64)
    for _ in range(scale):
        level = draw.random(count, dtype=xp.float32)
        lower = level >= a + b
        right = ((level >= a) & ~lower) | (level >= a + b + c)
        src, dst = (src << 1) | lower, (dst << 1) | right
    order = _rmat_order(xp, scale)
    return order[src], order[dst]


@lru_cache(maxsize=1)
def _rmat_order(xp: Any, scale: int) -> Any:
    """One permutation of the vertices a scale, so that a batch has the hubs of its graph."""
    return xp.argsort(xp.random.default_rng(scale).random(1 << scale))


def _erdos_renyi(xp: Any, scale: int, seed: int) -> Keys:
    return both_ways(xp, *erdos_renyi_edges(_numbers(xp, 8 << scale), 1 << scale, seed=seed))


def _rmat(xp: Any, scale: int, seed: int) -> Keys:
    return both_ways(xp, *rmat_pairs(xp, scale, _EDGE_FACTOR << scale, seed))


def _grid(xp: Any, scale: int, seed: int) -> Keys:
    del seed  # there is one grid
    count, width = 1 << scale, 1 << (scale // 2)
    return both_ways(xp, *grid_edges(_numbers(xp, grid_size(count, width)), count, width))


def _geometric(xp: Any, scale: int, seed: int) -> Keys:
    return both_ways(xp, *geometric_graph(xp, 1 << scale, seed=seed))


def _numbers(xp: Any, count: int) -> Any:
    """Numbers of the first edges of a list."""
    return xp.arange(count, dtype=xp.uint64)


def _shuffled_geometric(xp: Any, scale: int, seed: int) -> Keys:
    src, dst = unpack(xp, _geometric(xp, scale, seed))
    order = xp.argsort(xp.random.default_rng(seed + 1).random(1 << scale))
    return xp.sort(pack(xp, order[src], order[dst]))


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("G1", "random geometric, ids in cell order", 20, _geometric),
        Workload("G1s", "random geometric, ids shuffled", 20, _shuffled_geometric),
        Workload("G2", "square grid", 22, _grid),
        Workload("G3", "R-MAT, edge factor 16", 20, _rmat),
        Workload("G3b", "R-MAT, edge factor 16", 22, _rmat),
        Workload("G4", "Erdős-Rényi, mean degree 16", 20, _erdos_renyi),
        Workload("G5", "Erdős-Rényi, mean degree 16", 22, _erdos_renyi),
    )
}
