"""Barabási and Albert's model: new vertices join those that have many neighbors already.

Vertex ``v`` brings ``degree`` edges, numbered ``v * degree …``. The end of an edge is the vertex at
a position drawn from the list of all ends before it, where each vertex stands as often as it has
edges: ends at even positions are the vertices that brought an edge, and one at an odd position was
drawn likewise, so it is followed to where it came from. So any slice of the list can be made on its
own.

Self loops and repeats stay in the list; there are few of them after the first edges.

Sources: Barabási, Albert, "Emergence of Scaling in Random Networks", Science 286, 1999; Sanders,
Schulz, "Scalable Generation of Scale-Free Graphs", Information Processing Letters 116, 2016.
"""

import numpy as np
import numpy.typing as npt

from ..errors import SettingsError
from .counter_random import below, random_words, upper_half

Int64s = npt.NDArray[np.int64]

_STREAM = 0x62616C62  # "balb"

#: Positions are drawn from 32 bits, and an edge has two.
MAX_EDGES = 2**31


def barabasi_albert_edges(
    numbers: npt.NDArray[np.uint64], degree: int, *, seed: int = 0
) -> tuple[Int64s, Int64s]:
    """Draw the edges with these numbers.

    Parameters
    ----------
    numbers : uint64[m]
        Which edges of the list, below 2**31; the first ``n * degree`` are those of n vertices.
    degree
        Edges that a vertex brings; the mean degree is twice that.
    seed
        Another seed is another list.

    Returns
    -------
    src, dst : int64[m]
        Vertices are ``0, 1, …``; ``src`` brought the edge.
    """
    if degree < 1:
        msg = f"degree={degree} is less than 1; a vertex brings an edge at least"
        raise SettingsError(msg)
    if degree != int(degree):
        msg = f"degree={degree} is no whole number of edges"
        raise SettingsError(msg)
    if numbers.size and numbers.max() >= MAX_EDGES:
        msg = f"edge {numbers.max()} cannot be drawn; a list has {MAX_EDGES} edges"
        raise SettingsError(msg)
    edges = numbers.copy()
    open_rows = np.arange(numbers.size)
    while open_rows.size:
        followed = edges[open_rows]
        words = upper_half(random_words(seed, _STREAM, followed))
        # Of the ends before its own: two of each edge before, and the vertex that brought this one.
        drawn = below(words, 2 * followed + np.uint64(1))
        edges[open_rows] = drawn >> np.uint64(1)
        open_rows = open_rows[drawn & np.uint64(1) == 1]
    each = np.uint64(degree)
    return (numbers // each).astype(np.int64), (edges // each).astype(np.int64)
