"""Where the steps of PageRank on an undirected graph start: near the ranks, by degrees alone.

If the neighbors of every vertex were a fair draw of the ends of all edges, the ranks would be ::

    x(v) = r + alpha h d(v) / E         r = (1 - alpha) / (n - alpha k),  h = 1 - k r

where ``n`` vertices have ``E`` entries together, and ``k`` of them have none. Those are dangling,
and have rank ``r`` in any graph. The residual of this *mean field* is some 4 % of that of ``1/n``
in random and skewed graphs. Two things would make good for that:

Masses
    The rank of a component, without which nothing else of it can be right, is ``h`` in proportion
    to its vertices, and what of it is wrong fades by no more than ``alpha`` a step. Most small
    components are *pairs* of vertices: these get their own rank ``r / (1 - alpha)``, and are left
    out of ``h`` and ``E``. Of random and skewed graphs what is left is nearly all one component.
Likeness
    In graphs whose neighbors are alike, as near vertices are in space, it is the mass of each
    region that fades slowly, and ``1/n`` has it right. So the mean field is used where
    ``c / (c + d(v))``, ``c`` the mean degree, of vertices outside pairs and of their middle
    neighbors correlates by up to `MOST_ALIKE`. Random and skewed graphs have -0.7 to 0.16, spatial
    ones, and friends of friends, 0.55 and more.

Measured to L1 1e-6, steps from ``1/n`` and from here: R-MAT 14 and 12, Erdős-Rényi 10 and 7, a road
network 22 and 18, votes, answers and trust 25 to 27 and 21 to 24. Where neighbors are alike
the mean field would take 2 more, geometric 26 for 24, grid 18 for 16.

Earlier ranks
    Steps may start at ranks of the graph as it was, of ``n'`` vertices and degrees ``d'``. A vertex
    that was there begins at ``x'(v) n' / n``, by which every component keeps its part, and a new
    one at ``r`` as if it had had no edge; both with ``alpha h / E`` more for each edge that they
    have more, and with less for each that they have less. Isolated vertices and pairs begin at
    their rank, and what is missing from 1 or too much is spread over the others by degree. Where
    ``n'`` exceeds ``2 n``, which would make large ranks of a few, all vertices are as new ones.
    Where a mean field is of no use, or degrees then are not known, a start is the earlier ranks,
    and ``1/n`` for new vertices. In a stream that fills an R-MAT graph by 64 batches, degrees save
    a fifth of the steps. Of a grid, whose degrees are alike because they hardly differ, changes of
    degrees count beside earlier ranks (`MOST_EVEN`): 11 to 12 steps for 12 to 16 where 1e-4 of the
    edges come or go, 18 or 19 for 21 to 24 with 1 %. Pushes do without: what a vertex has more is
    taken from all others there, where ranks change near by, so residuals would lie all over the
    graph.

Sources: Fortunato, Boguñá, Flammini, Menczer, "Approximating PageRank from In-Degree", WAW 2006
(the mean field); Newman, "Assortative Mixing in Networks", 2002 (likeness).
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ....algorithms.shared.twin_constants import (
    LEAST_COVARIANCE,
    MOST_ALIKE,
    MOST_EARLIER,
    MOST_EVEN,
)
from ....jit.compile import compiled
from ....jit.parallel import for_ranges
from ....rows import Rows

UInt32s = npt.NDArray[np.uint32]
UInt8s = npt.NDArray[np.uint8]
Vector = npt.NDArray[np.float64]

#: Kinds of vertices: linked ones have edges, and are not of a pair.
_LINKED: Final = 0
_PAIRED: Final = 1
_ISOLATED: Final = 2
_ABSENT: Final = 3
_KINDS: Final = 4

#: Rows that are summed up one after the other.
_BLOCK_ROWS: Final = 4096


def start_of(
    out: Rows, alpha: float, earlier: Vector | None = None, earlier_degrees: UInt32s | None = None
) -> Vector:
    """A start for a graph that has a vertex, with damping ``alpha`` below 1.

    Parameters
    ----------
    out
        Rows; of an undirected graph, unless there are earlier ranks without degrees.
    alpha
        Damping.
    earlier
        float64[any]: ranks of the graph as it was, by vertex index; negative: there was none.
    earlier_degrees
        uint32[any], of the undirected graph that they are of, as it is now; 0 of vertices that it
        does not reach. None: degrees do not count.

    Returns
    -------
    start : float64[vertex_count]
        Sum 1, 0 for absent vertices.
    """
    by_degrees = earlier is None or earlier_degrees is not None
    if earlier is None:
        earlier = np.empty(0)
    if earlier_degrees is None:
        earlier_degrees = np.empty(0, np.uint32)
    vertices_then = np.count_nonzero(earlier >= 0)
    ranks = _reaching(out.count, earlier, missing=-1.0)
    if by_degrees:
        kinds = np.empty(out.count, np.uint8)
        field = _mean_field(out, alpha, kinds, is_first=vertices_then == 0)
        if field is not None:
            kept = vertices_then / out.num_vertices
            if kept > MOST_EARLIER:
                ranks.fill(-1.0)
            degrees = _reaching(out.count, earlier_degrees, missing=0)
            return _by_degrees(out, kinds, field, ranks, degrees, kept)
    even: Vector = out.present / out.num_vertices
    if vertices_then == 0:
        return even
    start: Vector = np.where(ranks >= 0, ranks * out.present, even)
    total = start.sum()
    # All the rank may have been on vertices that are gone.
    return start / total if total > 0 else even


def _reaching(count: int, values: npt.NDArray[Any], missing: float) -> npt.NDArray[Any]:
    """Copy values to ``count`` vertices; ``missing`` where there are none."""
    vector = np.full(count, missing, values.dtype)
    vector[: values.size] = values[:count]
    return vector


class _MeanField(NamedTuple):
    """Ranks by degree; the formulas are above."""

    #: Of an isolated vertex, and of one of a pair.
    isolated: float
    paired: float
    #: Of others, for each edge, beside what an isolated one has; and the entries of all of them.
    edge: float
    entries: int


def _mean_field(out: Rows, alpha: float, kinds: UInt8s, *, is_first: bool) -> _MeanField | None:
    """Find the kind of each vertex, and ranks by degree; None where degrees say nothing of ranks.

    ``is_first``: there are no earlier ranks, beside which changes of degrees may say something.
    """
    vertices, entries = out.num_vertices, out.num_entries
    blocks = -(-out.count // _BLOCK_ROWS)
    sums = np.empty((blocks, 5))
    for_ranges(
        survey, blocks, out.walked, out.present, entries / vertices, kinds, sums,
        serial_items=2,
    )  # fmt: skip
    linked, paired, isolated, _ = np.bincount(kinds, minlength=_KINDS).tolist()
    if _is_alike(linked, *sums.sum(axis=0).tolist(), is_first=is_first):
        return None
    parts = vertices - alpha * isolated
    edge = alpha / parts * (linked / (entries - paired)) if linked else 0.0
    return _MeanField((1.0 - alpha) / parts, 1.0 / parts, edge, entries - paired)


def _by_degrees(
    out: Rows, kinds: UInt8s, field: _MeanField, ranks: Vector, degrees: UInt32s, kept: float
) -> Vector:  # fmt: skip
    """Make a start by ranks and degrees before, of ``kept`` vertices for each of now."""
    start = np.empty(out.count)
    blocks = -(-out.count // _BLOCK_ROWS)
    sums = np.empty(blocks)
    for_ranges(
        set_out, blocks, kinds, out.degree, ranks, degrees, kept, field, start, sums,
        serial_items=2,
    )  # fmt: skip
    if field.entries:
        missing = (1.0 - float(sums.sum())) / field.entries
        for_ranges(spread, out.count, kinds, out.degree, missing, start)
    return start


def _is_alike(
    count: int,
    own: float,
    neighbor: float,
    squares: float,
    neighbor_squares: float,
    products: float,
    *,
    is_first: bool,
) -> bool:
    """Whether two numbers of ``count`` vertices correlate by more than `MOST_ALIKE`.

    Beside earlier ranks, also whether they vary together by more than `MOST_EVEN`.
    """
    square = (count * squares - own * own) * (count * neighbor_squares - neighbor * neighbor)
    least = MOST_ALIKE * math.sqrt(max(square, 0.0))
    even = LEAST_COVARIANCE if is_first else MOST_EVEN
    return count * products - own * neighbor > max(least, even * count * count)


@compiled
def survey(low, high, walked, present, mean, kinds, sums):
    """Write the kind of each vertex, and what `_is_alike` goes by, block by block."""
    begin, degree, columns, step = walked
    for block in range(low, high):
        own_sum, neighbor_sum = 0.0, 0.0
        squares, neighbor_squares, products = 0.0, 0.0, 0.0
        for vertex in range(block * _BLOCK_ROWS, min((block + 1) * _BLOCK_ROWS, degree.size)):
            edges = np.int64(degree[vertex])
            if edges == 0:
                kinds[vertex] = _ISOLATED if present[vertex] else _ABSENT
                continue
            edges_near = np.int64(degree[columns[begin[vertex] + edges // 2 * step]])
            if edges == 1 and edges_near == 1:
                kinds[vertex] = _PAIRED
                continue
            kinds[vertex] = _LINKED
            own = mean / (mean + edges) - 0.5
            neighbor = mean / (mean + edges_near) - 0.5
            own_sum += own
            neighbor_sum += neighbor
            squares += own * own
            neighbor_squares += neighbor * neighbor
            products += own * neighbor
        sums[block, 0], sums[block, 1] = own_sum, neighbor_sum
        sums[block, 2], sums[block, 3], sums[block, 4] = squares, neighbor_squares, products


@compiled
def set_out(low, high, kinds, degree, ranks, degrees, kept, field, start, sums):
    """Write the start of each vertex, whose sum is not 1 yet, and the sum of each block."""
    isolated, paired, edge, _ = field
    for block in range(low, high):
        total = 0.0
        for vertex in range(block * _BLOCK_ROWS, min((block + 1) * _BLOCK_ROWS, degree.size)):
            kind = kinds[vertex]
            rank = 0.0
            if kind == _ISOLATED:
                rank = isolated
            elif kind == _PAIRED:
                rank = paired
            elif kind == _LINKED:
                edges = np.float64(degree[vertex])
                if ranks[vertex] >= 0.0:
                    more = edges - np.float64(degrees[vertex])
                    rank = max(ranks[vertex] * kept + edge * more, 0.0)
                else:
                    rank = isolated + edge * edges
            start[vertex] = rank
            total += rank
        sums[block] = total


@compiled
def spread(low, high, kinds, degree, missing, start):
    """Add to vertices whose rank is not known, for each edge, what is missing from a sum of 1."""
    for vertex in range(low, high):
        if kinds[vertex] == _LINKED:
            start[vertex] += missing * np.float64(degree[vertex])
