"""A square grid: vertices in lines, each joined with those right of it and below it.

Vertices are numbered line by line; the last line may be a shorter one. Edges come vertex by vertex:
of each the one to the right, then the one to the vertex below. Where an edge is in this order says
which one it is, so any slice of the list can be made on its own.

Arrays are NumPy's or CuPy's.
"""

from math import isqrt

import numpy as np
import numpy.typing as npt

from ..errors import SettingsError
from .uniform import MAX_VERTICES

Int64s = npt.NDArray[np.int64]


def width_of(num_vertices: int, width: int | None) -> int:
    """Vertices of a line, so many that the grid is a square where none are given.

    Raises
    ------
    SettingsError
        A number is out of its range.
    """
    if not 2 <= num_vertices <= MAX_VERTICES:
        msg = f"num_vertices={num_vertices} make no grid; it must be from 2 to {MAX_VERTICES}"
        raise SettingsError(msg)
    if width is None:
        return isqrt(num_vertices - 1) + 1
    if not 1 <= width <= num_vertices:
        msg = f"width={width} is not a line of a grid; it must be from 1 to {num_vertices}"
        raise SettingsError(msg)
    return width


def grid_size(num_vertices: int, width: int | None = None) -> int:
    """Edges of a grid; parameters as of `grid_edges`."""
    width = width_of(num_vertices, width)
    lines = -(-num_vertices // width)
    return (num_vertices - lines) + (num_vertices - width)


def grid_edges(
    numbers: npt.NDArray[np.uint64], num_vertices: int, width: int | None = None
) -> tuple[Int64s, Int64s]:
    """Make the edges with these numbers.

    Parameters
    ----------
    numbers : uint64[m]
        Which edges of the list; after all `grid_size` it begins again.
    num_vertices
        Vertices are ``0 … num_vertices - 1``, from 2 to 2**31.
    width
        Vertices of a line; none: the least whole number whose square has room for all.

    Returns
    -------
    src, dst : int64[m]
        Edges of an undirected graph; ``src < dst``.

    Raises
    ------
    SettingsError
        A number is out of its range.
    """
    width = width_of(num_vertices, width)
    number = (numbers % np.uint64(grid_size(num_vertices, width))).astype(np.int64)
    # Vertices that have one below, and edges of all of these.
    upper = num_vertices - width
    of_upper = 2 * upper - upper // width
    # Of these each has both edges, but the last one of a line, which has none to the right.
    within = number % (2 * width - 1)
    vertex = number // (2 * width - 1) * width + within // 2
    is_below = (within % 2 == 1) | (within == 2 * width - 2)
    # The others have an edge to the right, but the last one of a line.
    beyond = number - of_upper + upper - upper // width
    right_only = beyond // max(width - 1, 1) * width + beyond % max(width - 1, 1)
    is_upper = number < of_upper
    src = np.where(is_upper, vertex, right_only)
    return src, src + np.where(is_upper & is_below, width, 1)
