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
    others it matters how many there are. One core, or one block of a GPU.
``"all pairs"``
    The step of the paper: the neighbors of all vertices are looked at, by all threads.

On a GPU the graph grows in its memory (`cuda/generators/watts_alpha.py`).

``p`` is ``1 / (n (n - 1))`` where it is not given: half of one over the number of pairs, as in the
paper on average, which redraws it for each pair.

Sources: Watts, "Small Worlds", Princeton 1999; Leist, Hawick, "Graph Generation on GPUs using
Dynamic Memory Allocation", PDPTA 2011 (its equation 1 and algorithm 1).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..engines import grow_on_gpu, resolve_engine
from ..errors import SettingsError
from .alpha_model import AlphaModel, alpha_model

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]

BY = ("two hops", "all pairs")
#: Who allocates the memory of rows that grow on a GPU.
MEMORY = ("device", "host")

#: Choices of one call of compiled code: it listens to Ctrl-C in between.
_CHOICES = 1 << 15
#: Fewest vertices that a thread looks at, by all pairs: for fewer it takes longer to begin.
_VERTICES_A_THREAD = 1 << 13
#: Least room of a row that has its first neighbor.
_FIRST_ROOM = 4


def watts_alpha_edges(
    num_vertices: int,
    degree: float,
    alpha: float,
    *,
    p: float | None = None,
    seed: int = 0,
    by: str = "two hops",
    engine: str = "host",
    memory: str = "device",
    first_room: int = _FIRST_ROOM,
) -> tuple[Int64s, Int64s]:
    """Grow a graph of the alpha model.

    Parameters
    ----------
    num_vertices
        Vertices are ``0 … num_vertices - 1``, from 1 to 2**31.
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
    engine
        Where: ``"host"``, ``"cuda"`` or ``"auto"``; the graph is the same.
    memory
        On a GPU: who allocates memory of rows that grow, ``"device"`` (kernels) or ``"host"``; the
        graph is the same.
    first_room
        Neighbors that a row has room for at first, each time it grows twice as many: a power of two
        from 4 on.

    Returns
    -------
    src, dst : int64[int(num_vertices * degree / 2)]
        Edges of an undirected graph without repeats and self loops, in the order in which they were
        made; ``src`` chose ``dst``.

    Raises
    ------
    SettingsError
        An argument is out of its range.
    EngineError
        The engine cannot be had here.
    ArenaFullError
        The GPU has not so much memory.
    """
    if by not in BY:
        msg = f"by={by!r} is unknown; use {' or '.join(map(repr, BY))}"
        raise SettingsError(msg)
    if memory not in MEMORY:
        msg = f"memory={memory!r} is unknown; use {' or '.join(map(repr, MEMORY))}"
        raise SettingsError(msg)
    if first_room < _FIRST_ROOM or first_room & (first_room - 1):
        msg = f"first_room={first_room} is not a power of two from {_FIRST_ROOM} on"
        raise SettingsError(msg)
    model = alpha_model(num_vertices, degree, alpha, p, seed)
    if resolve_engine(engine) == "cuda":
        grown = grow_on_gpu(model, by, memory=memory, first_room=first_room)
        return grown.src.astype(np.int64), grown.dst.astype(np.int64)
    growing = Growing(model, first_room)
    while not growing.is_complete:
        growing.choose(_CHOICES, by)
    return growing.src.astype(np.int64), growing.dst.astype(np.int64)


class GrowingGraph(NamedTuple):
    """The arrays of a graph that grows, as a kernel argument."""

    #: By vertex: where its neighbors begin in ``columns``, how many they are, and their room.
    begin: Int64s
    degree: UInt32s
    room: UInt32s
    columns: UInt32s
    #: Room of a row that has its first neighbor.
    first_room: int
    #: uint32[num_edges]: ``src`` chose ``dst``, in the order in which edges were made.
    src: UInt32s
    dst: UInt32s
    #: int64[2]: edges that were made, and the end of the rows.
    made: Int64s


class Growing:
    """The graph so far: rows of neighbors that move where there is room when they grow.

    In the memory of the host.
    """

    def __init__(self, model: AlphaModel, first_room: int = _FIRST_ROOM) -> None:
        count, edges = model.num_vertices, model.num_edges
        self.src, self.dst = np.empty(edges, np.uint32), np.empty(edges, np.uint32)
        self._model, self._count = model, count
        self._looked = np.zeros(count, np.uint32)
        #: Start of the stream of choices, and what choices are weighted by.
        self._draw = model.choices, model.propensity
        degrees, room = np.zeros(count, np.uint32), np.zeros(count, np.uint32)
        # A row of d neighbors has left behind less room than it has, which is less than 2 d or the
        # first one.
        columns = np.empty(8 * edges + 2 * first_room * count, np.uint32)
        self._graph = GrowingGraph(
            np.zeros(count, np.int64), degrees, room, columns, first_room, self.src, self.dst,
            np.zeros(2, np.int64),
        )  # fmt: skip
        self._choice = 0
        self._order = np.empty(0, np.int64)

    @property
    def is_complete(self) -> bool:
        """Whether all edges were made."""
        return bool(self._graph.made[0] == self.src.size)

    def choose(self, most: int, by: str, *, one_core: bool = False) -> int:
        """Have the next vertices choose, one after the other; returns how many it were.

        ``most`` at most, of this round, or as many as there are edges to make.
        """
        within = self._choice % self._count
        if within == 0:
            self._order = self._model.order(self._choice // self._count)
        vertices, first = self._order[within : within + most], np.uint64(self._choice)
        if by == "two hops":
            self._choose_of_two_hops(vertices, first)
        else:
            for choice, vertex in enumerate(vertices):
                if not self.is_complete:
                    self._choose_of_all(vertex, first + np.uint64(choice), one_core)
        self._choice += vertices.size
        return int(vertices.size)

    def _choose_of_two_hops(self, vertices: Int64s, first: np.uint64) -> None:
        from .watts_alpha_kernels import choose_of_two_hops  # which brings Numba

        choose_of_two_hops(vertices, first, self._looked, self._draw, self._graph)

    def _choose_of_all(self, vertex: int, choice: np.uint64, one_core: bool) -> None:
        from ..jit.parallel import SERIAL_ITEMS, for_ranges
        from .watts_alpha_kernels import count_common, take_of_class

        is_neighbor = np.zeros(self._count, np.uint8)
        classes = np.empty(self._count, np.uint32)
        begin, degree, columns = self._graph.begin, self._graph.degree, self._graph.columns
        is_neighbor[columns[begin[vertex] : begin[vertex] + degree[vertex]]] = 1
        # What is neither 0, which may be chosen, nor 1, which is counted.
        is_neighbor[vertex] = 2
        sizes = for_ranges(
            count_common, self._count, begin, degree, columns, is_neighbor, classes,
            self._draw[1].size - 1, block=_VERTICES_A_THREAD,
            serial_items=self._count + 1 if one_core else SERIAL_ITEMS,
        )  # fmt: skip
        take_of_class(vertex, choice, np.sum(sizes, axis=0), classes, self._draw, self._graph)
