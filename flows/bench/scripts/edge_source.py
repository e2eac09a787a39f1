"""Uniform random edges of which none is there yet, for benchmarks that must know what they insert.

Uniform end points are the even case: rows of a batch are spread over all vertices (a batch of 1 M
among 2^20 vertices touches 63 % of them, with 1.6 edges each), so nearly every edge costs a cache
miss of its own. Edges that are there, self loops and repeats are drawn again. So the counts of a
batch are known beforehand, deleting what was inserted brings back the very set from before, and
``(u, v)`` never stands beside ``(v, u)``: one list serves directed and undirected graphs.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from graphtide.gpu_core.generators.uniform import uniform_edges

Int64s = npt.NDArray[np.int64]
Edges = tuple[Int64s, Int64s]
IsKnown = Callable[[Int64s, Int64s], npt.NDArray[np.bool_]]


def folded_keys(src: Int64s, dst: Int64s, vertices: int) -> Int64s:
    """One number for each edge, the same for both of its directions."""
    return np.minimum(src, dst) * vertices + np.maximum(src, dst)


class EdgeSource:
    """An endless list of edges, drawn once each.

    Parameters
    ----------
    vertices
        End points are ``0 … vertices - 1``.
    seed
        Another seed is another list.
    """

    def __init__(self, vertices: int, seed: int = 1) -> None:
        self.vertices = vertices
        self._seed = seed
        self._drawn = 0

    def take(self, count: int, is_known: IsKnown | None = None) -> Edges:
        """Draw ``count`` edges that differ from each other and are not known, in random order."""
        src, dst = np.empty(0, np.int64), np.empty(0, np.int64)
        while src.size < count:
            missing = count - src.size
            numbers = self._drawn + np.arange(missing + missing // 64 + 64, dtype=np.uint64)
            self._drawn += numbers.size
            more = uniform_edges(numbers, self.vertices, seed=self._seed)
            kept = more[0] != more[1]
            if is_known is not None:
                kept &= ~is_known(*more)
            src = np.concatenate([src, more[0][kept]])
            dst = np.concatenate([dst, more[1][kept]])
            _, first = np.unique(folded_keys(src, dst, self.vertices), return_index=True)
            first.sort()  # back into the order in which they were drawn, which is random
            src, dst = src[first[:count]], dst[first[:count]]
        return src, dst


def known_among(edges: Edges, vertices: int) -> IsKnown:
    """Whether edges, in either direction, are among these: by NumPy, without any graph."""
    known = np.sort(folded_keys(*edges, vertices))

    def is_known(src: Int64s, dst: Int64s) -> npt.NDArray[np.bool_]:
        keys = folded_keys(src, dst, vertices)
        index = np.minimum(np.searchsorted(known, keys), known.size - 1)
        return known[index] == keys if known.size else np.zeros(keys.size, np.bool_)

    return is_known
