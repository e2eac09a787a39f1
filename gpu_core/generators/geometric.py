"""Random geometric graph: points of the unit square, joined where they are near one another.

A point is a hash of its number: two whole numbers below 2**31. Whether two are near is a comparison
of whole numbers, too, so the graph is the same wherever it is made. Vertices are numbered by square
cells, line by line, and within a cell as the points are: neighbors have near numbers.

Cells are as wide as the radius at least, so that all neighbors of a point are in its cell and the
eight around. Edges do not follow from a few points; a process makes the list once
and keeps it (`geometric_edges`), and each process makes the same.

Source: Gilbert, "Random Plane Networks", Journal of SIAM 9, 1961.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import SettingsError
from .counter_random import lower_half, random_words, upper_half
from .uniform import MAX_VERTICES

Int64s = npt.NDArray[np.int64]

_STREAM = 0x67656F6D  # "geom"

#: Coordinates are below 2**31, so that squares of distances fit 63 bits.
_BITS = 31

#: The own cell, and half of those around: each pair of cells is met once. Right, down.
_CELLS = ((0, 0), (1, 0), (-1, 1), (0, 1), (1, 1))

#: Mean degree of benchmarks (`flows/bench/measuring/workloads.py`), and of logs.
DEGREE = 13.0


def geometric_edges(
    numbers: npt.NDArray[np.uint64], num_vertices: int, degree: float = DEGREE, *, seed: int = 0
) -> tuple[Int64s, Int64s]:
    """Pick the edges with these numbers.

    Parameters
    ----------
    numbers : uint64[m]
        Which edges of the list; after all `geometric_size` it begins again.
    num_vertices, degree, seed
        As of `geometric_graph`.

    Returns
    -------
    src, dst : int64[m]

    Raises
    ------
    SettingsError
        A number is out of its range, or there is no edge at all.
    """
    src, dst = _kept(num_vertices, degree, seed)
    if src.size == 0:
        msg = f"no two of {num_vertices} points are that near; raise degree={degree:g}"
        raise SettingsError(msg)
    at = numbers % np.uint64(src.size)
    return src[at], dst[at]


def geometric_size(num_vertices: int, degree: float = DEGREE, *, seed: int = 0) -> int:
    """Edges of the graph; parameters as of `geometric_graph`."""
    return int(_kept(num_vertices, degree, seed)[0].size)


@lru_cache(maxsize=1)
def _kept(num_vertices: int, degree: float, seed: int) -> tuple[Int64s, Int64s]:
    return geometric_graph(np, num_vertices, degree, seed=seed)


def geometric_graph(
    xp: Any, num_vertices: int, degree: float = DEGREE, *, seed: int = 0
) -> tuple[Any, Any]:
    """Make all edges.

    Parameters
    ----------
    xp
        Where: NumPy, or CuPy.
    num_vertices
        Vertices are ``0 … num_vertices - 1``; from 2 to 2**31.
    degree
        Mean degree of points away from the border: above 0, at most ``num_vertices - 1``. It gives
        the radius, ``sqrt(degree / (pi num_vertices))``.
    seed
        Another seed is another graph.

    Returns
    -------
    src, dst : int64[m] of ``xp``
        Edges of an undirected graph by source, then target; ``src < dst``.

    Raises
    ------
    SettingsError
        A number is out of its range.
    """
    if not 2 <= num_vertices <= MAX_VERTICES:
        msg = f"num_vertices={num_vertices} make no pairs; it must be from 2 to {MAX_VERTICES}"
        raise SettingsError(msg)
    if not 0 < degree <= num_vertices - 1:
        msg = f"degree={degree} is not above 0 and at most {num_vertices - 1}, of all vertices"
        raise SettingsError(msg)
    # Square of the radius, and cells of a line: no narrower than it, and no more than points.
    near = int(degree / (math.pi * num_vertices) * 4.0**_BITS)
    width = max(1, min((1 << _BITS) // (math.isqrt(near) + 1), math.isqrt(num_vertices)))
    numbers = xp.arange(num_vertices, dtype=xp.uint64)
    words = random_words(seed, _STREAM, numbers)
    x, y = ((half(words) >> np.uint64(1)).astype(xp.int64) for half in (upper_half, lower_half))
    cell = (y * width >> _BITS) * width + (x * width >> _BITS)
    order = xp.sort(cell << 32 | numbers.astype(xp.int64)) & 0xFFFFFFFF
    x, y, cell = x[order], y[order], cell[order]
    first = xp.searchsorted(cell, xp.arange(width * width + 1))
    keys = [_near_pairs(xp, x, y, cell, first, width, near, at) for at in _CELLS]
    key = xp.sort(xp.concatenate(keys))
    return key >> 32, key & 0xFFFFFFFF


def _near_pairs(
    xp: Any, x: Any, y: Any, cell: Any, first: Any, width: int, near: int, at: tuple[int, int]
) -> Any:
    """int64: pairs ``src << 32 | dst`` of points and those of the cell so far from theirs."""
    right, below = at
    column, line = cell % width + right, cell // width + below
    points = xp.flatnonzero((column >= 0) & (column < width) & (line < width))
    if points.size == 0:
        return points.astype(xp.int64)
    other_cell = line[points] * width + column[points]
    sizes = first[other_cell + 1] - first[other_cell]
    ends = xp.cumsum(sizes)
    # Candidates, those of a point after those of the one before: which point, and which other.
    candidates = xp.arange(int(ends[-1]))
    of = xp.searchsorted(ends, candidates, side="right")
    src, dst = points[of], first[other_cell[of]] + candidates - (ends - sizes)[of]
    right, down = x[src] - x[dst], y[src] - y[dst]
    # A pair of one cell is met from both ends.
    found = (right * right + down * down <= near) & (src < dst)
    return (src[found] << 32 | dst[found]).astype(xp.int64)
