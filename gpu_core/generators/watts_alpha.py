"""Watts' alpha model: who has common neighbors becomes neighbors; a small world between two ends.

Vertices take turns, in a random order in each round. A vertex ``i`` whose turn it is chooses a new
neighbor ``j``, with probability proportional to its *propensity*

    1                            m >= k        m   neighbors that i and j have in common
    (m/k)**alpha (1 - p) + p     0 < m < k     k   mean degree
    p                            m = 0         0 where they are neighbors already

until there are ``k n / 2`` edges. With alpha 0 any common neighbor counts in full, which makes
caves that know nothing of each other; as alpha grows it becomes a random graph. In between,
distances are short while neighbors know each other. Every edge depends on those before it: so this
is no list of which any slice can be drawn, as the other generators are.

A propensity depends on ``m`` alone. So a choice draws ``m`` first, by how many vertices have each
``m`` in common with ``i`` and what their propensity is, and then one of them by its rank among
them. That is the same distribution, and needs whole numbers where sums over all vertices would
round: the graph is the same however it is computed.

``"two hops"``
    Vertices that have neighbors in common are two hops away: about ``k**2`` are looked at, of the
    others it matters how many there are. One core.
``"all pairs"``
    The step of the paper: the neighbors of all vertices are looked at, by all threads.

``p`` is ``1 / (n (n - 1))`` where it is not given: half of one over the number of pairs, as in the
paper on average, which draws it anew for each pair.

Sources: Watts, "Small Worlds", Princeton 1999; Leist, Hawick, "Graph Generation on GPUs using
Dynamic Memory Allocation", PDPTA 2011 (its equation 1 and algorithm 1).
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import SettingsError
from .counter_random import random_words, stream_start
from .uniform import MAX_VERTICES

Int64s = npt.NDArray[np.int64]

BY = ("two hops", "all pairs")

_STREAM = 0x616C7068  # "alph"
_CHOICE, _ORDER = _STREAM, _STREAM + 1

#: Turns of one call of compiled code: it listens to Ctrl-C in between.
_TURNS = 1 << 15
#: Room of a row that has its first neighbor.
_FIRST_ROOM = 4


def watts_alpha_edges(
    num_vertices: int,
    degree: float,
    alpha: float,
    *,
    p: float | None = None,
    seed: int = 0,
    by: str = "two hops",
) -> tuple[Int64s, Int64s]:
    """Grow a graph of the alpha model.

    Parameters
    ----------
    num_vertices
        Vertices are ``0 … num_vertices - 1``; at most 2**31.
    degree
        Mean degree, ``k``: above 0, at most ``num_vertices - 1``.
    alpha
        0 or more.
    p
        Propensity of two vertices that have no neighbor in common: above 0, at most 1.
    seed
        Another seed, another graph.
    by
        How it is computed, ``"two hops"`` or ``"all pairs"``; the graph is the same.

    Returns
    -------
    src, dst : int64[int(num_vertices * degree / 2)]
        Edges of an undirected graph without repeats and self loops, in the order in which they were
        made; ``src`` chose ``dst``.

    Raises
    ------
    SettingsError
        An argument is out of its range.
    """
    if not 1 <= num_vertices <= MAX_VERTICES:
        msg = f"num_vertices={num_vertices} cannot be drawn; it must be from 1 to {MAX_VERTICES}"
        raise SettingsError(msg)
    if not 0 < degree <= max(num_vertices - 1, 1):
        msg = f"degree={degree} is not above 0 and at most {num_vertices - 1}, of all vertices"
        raise SettingsError(msg)
    if not 0 <= alpha < math.inf:
        msg = f"alpha={alpha} is not a number from 0 on"
        raise SettingsError(msg)
    if p is None:
        p = 1 / max(num_vertices * (num_vertices - 1), 1)
    if not 0 < p <= 1:
        msg = f"p={p} is not above 0 and at most 1"
        raise SettingsError(msg)
    if by not in BY:
        msg = f"by={by!r} is unknown; use {' or '.join(map(repr, BY))}"
        raise SettingsError(msg)
    growing = _Growing(num_vertices, degree, propensities(degree, alpha, p), seed)
    while not growing.is_complete:
        growing.go_round(by)
    return growing.src.astype(np.int64), growing.dst.astype(np.int64)


def propensities(degree: float, alpha: float, p: float) -> npt.NDArray[np.float64]:
    """float64[ceil(degree) + 1]: propensity by common neighbors; the last one is of more, too."""
    common = np.arange(math.ceil(degree) + 1)
    with np.errstate(under="ignore"):
        found = (common / degree) ** alpha * (1 - p) + p
    found[0] = p
    found[common >= degree] = 1.0
    return found


class _Growing:
    """The graph so far: rows of neighbors that move where there is room when they grow."""

    def __init__(
        self, count: int, degree: float, propensity: npt.NDArray[np.float64], seed: int
    ) -> None:
        edges = min(int(count * degree / 2), count * (count - 1) // 2)
        self.src, self.dst = np.empty(edges, np.uint32), np.empty(edges, np.uint32)
        self._count, self._seed, self._propensity = count, seed, propensity
        self._begin = np.zeros(count, np.int64)
        self._degree, self._room = np.zeros(count, np.uint32), np.zeros(count, np.uint32)
        # A row of d neighbors has left behind less room than it has, which is less than 2 d + 4.
        self._columns = np.empty(8 * edges + 2 * _FIRST_ROOM * count, np.uint32)
        #: Edges that were made, and the end of the rows.
        self._made = np.zeros(2, np.int64)
        self._round = 0

    @property
    def is_complete(self) -> bool:
        return bool(self._made[0] == self.src.size)

    def go_round(self, by: str) -> None:
        """Have every vertex choose, or as many as there are edges to make."""
        first = np.uint64(self._round * self._count)
        numbers = first + np.arange(self._count, dtype=np.uint64)
        order = np.argsort(random_words(self._seed, _ORDER, numbers), kind="stable")
        self._round += 1
        if by == "two hops":
            self._choose_of_two_hops(order, first)
            return
        for turn, vertex in enumerate(order):
            if self.is_complete:
                return
            self._choose_of_all(vertex, first + np.uint64(turn))

    def _choose_of_two_hops(self, order: Int64s, first: np.uint64) -> None:
        from .watts_alpha_kernels import choose_of_two_hops  # which brings Numba

        looked = np.zeros(self._count, np.uint32)
        for turn in range(0, self._count, _TURNS):
            choose_of_two_hops(
                order[turn : turn + _TURNS], first + np.uint64(turn), looked, *self._told
            )

    def _choose_of_all(self, vertex: int, turn: np.uint64) -> None:
        from ..jit.parallel import for_ranges
        from .watts_alpha_kernels import count_common, take_of_class

        is_neighbor = np.zeros(self._count, np.uint8)
        classes = np.empty(self._count, np.uint32)
        begin, size = self._begin[vertex], self._degree[vertex]
        is_neighbor[self._columns[begin : begin + size]] = 1
        # What is neither 0, which may be chosen, nor 1, which is counted.
        is_neighbor[vertex] = 2
        sizes = for_ranges(
            count_common, self._count, self._begin, self._degree, self._columns, is_neighbor,
            classes, self._propensity.size - 1,
        )  # fmt: skip
        take_of_class(vertex, turn, np.sum(sizes, axis=0), classes, *self._told)

    @property
    def _told(self) -> tuple[Any, ...]:
        """What each compiled step is told."""
        start = stream_start(self._seed, _CHOICE)
        rows = self._begin, self._degree, self._room, self._columns
        return start, *rows, self.src, self.dst, self._made, self._propensity
