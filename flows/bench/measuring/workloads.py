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

#: uint64[m] of ``xp``.
Keys = Any

_SHIFT = 32
_MASK = 0xFFFFFFFF

#: Entries a vertex of the geometric graph has on the mean.
_GEOMETRIC_DEGREE = 13.0
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
    return both_ways(xp, *uniform_pairs(xp, scale, 8 << scale, seed))


def _rmat(xp: Any, scale: int, seed: int) -> Keys:
    return both_ways(xp, *rmat_pairs(xp, scale, _EDGE_FACTOR << scale, seed))


def _grid(xp: Any, scale: int, seed: int) -> Keys:
    del seed  # there is one grid
    width = 1 << (scale // 2)
    vertices = xp.arange(1 << scale, dtype=xp.int64)
    right = vertices[vertices % width != width - 1]
    below = vertices[: vertices.size - width]
    src = xp.concatenate([right, below])
    return both_ways(xp, src, xp.concatenate([right + 1, below + width]))


def _geometric(xp: Any, scale: int, seed: int) -> Keys:
    """Points in the unit square, joined within a radius; ids by cell, so that neighbors are near.

    Cells are as wide as the radius, so a neighbor lies in one of nine cells; half of them, and the
    own cell, meet each pair once.
    """
    count = 1 << scale
    radius = (_GEOMETRIC_DEGREE / (3.141592653589793 * count)) ** 0.5
    width = int(1 / radius)
    draw = xp.random.default_rng(seed)
    x, y = draw.random(count), draw.random(count)
    column, row = (x * width).astype(xp.int64), (y * width).astype(xp.int64)
    order = xp.argsort(row * width + column)
    x, y, column, row = x[order], y[order], column[order], row[order]
    first = xp.searchsorted(row * width + column, xp.arange(width * width + 1))
    pieces = []
    for right, below in ((0, 0), (1, 0), (-1, 1), (0, 1), (1, 1)):
        there = (column + right >= 0) & (column + right < width) & (row + below < width)
        points = xp.flatnonzero(there)
        cell = (row[points] + below) * width + column[points] + right
        sizes = first[cell + 1] - first[cell]
        ends = xp.cumsum(sizes)
        # Candidate k of the point that it belongs to.
        near = _repeat(xp, points, ends)
        other = _repeat(xp, first[cell] - ends + sizes, ends) + xp.arange(near.size)
        close = (x[near] - x[other]) ** 2 + (y[near] - y[other]) ** 2 <= radius * radius
        pieces.append((near[close], other[close]))
    src, dst = (xp.concatenate(parts) for parts in zip(*pieces, strict=True))
    return both_ways(xp, src, dst)


def _repeat(xp: Any, values: Any, ends: Any) -> Any:
    """``repeat`` by the ends of the repeats: CuPy's own takes no array of counts."""
    return values[xp.searchsorted(ends, xp.arange(int(ends[-1])), side="right")]


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
