"""PageRank as networkx defines it: definition, arguments, start, and when to stop.

::

    x = alpha (P^T x + m w) + (1 - alpha) p

``P`` holds each edge's share of its source (one over the out-degree, or the weight over the sum of
the out-weights), ``m`` is the rank on *dangling* vertices (no out-edges, or out-weights that sum
to 0), ``w`` says where that rank goes and ``p`` where a random jump lands. An undirected edge
counts in both directions, a self loop once.

The equation is iterated until ``r = |x' - x|_1`` is at most ``tol``; then ``x'`` is at most
``alpha r / (1 - alpha)`` away from the solution (L1). networkx compares with ``n * tol`` instead,
so its default ``tol=1e-6`` means something else on every graph; ``networkx_tol=True`` does so too.

What an engine offers: ``algorithms.pagerank`` with ``out_strengths`` and ``PowerIteration``, whose
vectors are by vertex index, 0 for absent vertices. Nothing else here depends on the engine.

Not here: a step of the iteration (`host/pagerank.py`).

Sources: Page, Brin, Motwani, Winograd, "The PageRank Citation Ranking", 1999; networkx
``pagerank``, for dangling vertices and personalization.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ConvergenceError, SettingsError, VertexNotFoundError
from ..records import WEIGHT_WORD

Int64s = npt.NDArray[np.int64]
Vector = npt.NDArray[np.float64]

#: Values of some vertices: a mapping, or a pair of arrays (vertices, values).
VertexValues = Mapping[int, float] | tuple[npt.ArrayLike, npt.ArrayLike]


@dataclass(frozen=True, eq=False)
class PageRankResult:
    """Ranks of all vertices."""

    #: int64[n], users' ids in increasing order.
    vertices: Int64s
    #: float64[n], sum 1.
    pagerank: Vector
    #: Steps made.
    iterations: int
    #: L1 difference between the last two vectors.
    residual: float


def pagerank(
    engine: Any,
    *,
    alpha: float = 0.85,
    personalization: VertexValues | None = None,
    max_iter: int = 500,
    tol: float = 1e-6,
    nstart: VertexValues | PageRankResult | None = None,
    weight: str | None = None,
    dangling: VertexValues | None = None,
    networkx_tol: bool = False,
) -> PageRankResult:
    """PageRank of every vertex.

    Parameters
    ----------
    engine
        Of the graph.
    alpha
        Damping, from 0 to 1.
    personalization
        Where random jumps land; vertices left out get 0, `None`: uniform. Need not sum to 1.
    max_iter
        Steps at most.
    tol
        Stop when the L1 norm of a step's change is at most this.
    nstart
        Start of the iteration; vertices left out get 0. A result of an earlier call is a *warm
        start*: vertices of both graphs keep their rank, new ones begin at ``1/n``, and the sum is
        made 1 again. The answer is the same within the tolerance, in fewer steps.
    weight
        ``"weight"``: an edge's share is by its weight, which must be ``>= 0``. `None`: all alike.
    dangling
        Where the rank of dangling vertices goes; as ``personalization`` where not given.
    networkx_tol
        Stop at ``n * tol``, as networkx does.

    Returns
    -------
    PageRankResult
        Empty for a graph without vertices.

    Raises
    ------
    ConvergenceError
        ``max_iter`` steps were not enough.
    VertexNotFoundError
        ``personalization``, ``nstart`` or ``dangling`` names a vertex that is not in the graph.
    SettingsError
        An argument is out of range, values are negative or sum to 0, or a weight is negative.
    """
    _check_settings(alpha, max_iter, tol)
    weighted = _is_weighted(engine, weight)
    order = engine.sorted_order()
    vertices = engine.user_ids()[order]
    if order.size == 0:
        return PageRankResult(vertices, np.empty(0), 0, 0.0)

    positions = _Positions(engine.vertex_count, order, vertices)
    teleport = positions.uniform()
    if personalization is not None:
        teleport = positions.distribution(personalization, "personalization")
    dangling_shares = teleport
    if dangling is not None:
        dangling_shares = positions.distribution(dangling, "dangling")
    if nstart is None:
        start = positions.uniform()
    elif isinstance(nstart, PageRankResult):
        start = positions.warm_start(nstart)
    else:
        start = positions.distribution(nstart, "nstart")

    twin = engine.algorithms.pagerank
    strengths = twin.out_strengths(engine, weighted=weighted)
    _check_strengths(strengths[order], vertices)
    iteration = twin.PowerIteration(
        engine, strengths, start, teleport, dangling_shares, alpha=alpha, weighted=weighted
    )
    threshold = order.size * tol if networkx_tol else tol
    residual = math.inf
    for iterations in range(1, max_iter + 1):
        residual = iteration.step()
        if residual <= threshold:
            return PageRankResult(vertices, iteration.x[order], iterations, residual)
    msg = (
        f"PageRank did not converge: after {max_iter} iterations the residual is {residual:.3g}, "
        f"above {threshold:.3g}; raise max_iter or tol, or lower alpha={alpha}"
    )
    raise ConvergenceError(msg)


def _check_settings(alpha: float, max_iter: int, tol: float) -> None:
    if not 0 <= alpha <= 1:
        msg = f"alpha={alpha} is no damping factor; it must be from 0 to 1"
        raise SettingsError(msg)
    if not max_iter >= 1:
        msg = f"max_iter={max_iter} allows no iteration; it must be at least 1"
        raise SettingsError(msg)
    if not 0 <= tol < math.inf:
        msg = f"tol={tol} is no tolerance; it must be >= 0"
        raise SettingsError(msg)


def _is_weighted(engine: Any, weight: str | None) -> bool:
    if weight is None:
        return False
    if weight != "weight":
        msg = f"weight={weight!r} is unknown; use 'weight' or None"
        raise SettingsError(msg)
    if engine.shape("out").entry_words <= WEIGHT_WORD:
        msg = (
            "weight='weight' asks for weights, but the graph's records are simple; use weight=None"
        )
        raise SettingsError(msg)
    return True


def _check_strengths(strengths: Vector, vertices: Int64s) -> None:
    wrong = np.flatnonzero(np.isnan(strengths))
    if wrong.size:
        msg = (
            f"PageRank needs weights >= 0, but an edge from vertex {vertices[wrong[0]]} has a "
            f"negative one ({wrong.size} such vertices); change the weights or use weight=None"
        )
        raise SettingsError(msg)


class _Positions:
    """Turns values of users' ids into vectors by vertex index."""

    def __init__(self, vertex_count: int, order: Int64s, vertices: Int64s) -> None:
        self._vertex_count = vertex_count
        #: Vertex indices of the present vertices and their ids, in increasing order of ids.
        self._order, self._vertices = order, vertices

    def uniform(self) -> Vector:
        vector = np.zeros(self._vertex_count)
        vector[self._order] = 1.0 / self._order.size
        return vector

    def distribution(self, values: VertexValues, name: str) -> Vector:
        """Values divided by their sum; 0 for vertices that are not named."""
        vertices, amounts = _pair(values, name)
        found = self._find(vertices)
        if (found < 0).any():
            unknown = vertices[found < 0]
            more = f" ({unknown.size - 1} more are not either)" if unknown.size > 1 else ""
            msg = f"{name} names vertex {unknown[0]}, which is not in the graph{more}"
            raise VertexNotFoundError(msg)
        repeated = np.flatnonzero(np.bincount(found, minlength=1) > 1)
        if repeated.size:
            msg = f"{name} names vertex {self._vertices[repeated[0]]} more than once; name it once"
            raise SettingsError(msg)
        wrong = np.flatnonzero(~((amounts >= 0) & np.isfinite(amounts)))
        if wrong.size:
            msg = (
                f"{name} gives vertex {vertices[wrong[0]]} the value {amounts[wrong[0]]}; "
                f"values must be finite and >= 0"
            )
            raise SettingsError(msg)
        vector = np.zeros(self._vertex_count)
        vector[self._order[found]] = amounts
        return _normalised(vector, name)

    def warm_start(self, earlier: PageRankResult) -> Vector:
        """Ranks of the vertices that are still there, ``1/n`` for new ones, sum 1."""
        found = self._find(earlier.vertices)
        vector = self.uniform()
        vector[self._order[found[found >= 0]]] = earlier.pagerank[found >= 0]
        # All the rank may have been on vertices that are gone.
        return _normalised(vector, "nstart") if vector.any() else self.uniform()

    def _find(self, vertices: Int64s) -> Int64s:
        """Position of each id among the present vertices, -1 for unknown ones."""
        found = np.searchsorted(self._vertices, vertices)
        inside = np.minimum(found, self._vertices.size - 1)
        return np.where(self._vertices[inside] == vertices, inside, -1)


def _normalised(vector: Vector, name: str) -> Vector:
    with np.errstate(over="ignore"):
        total = float(vector.sum())
    if not 0 < total < math.inf:
        msg = f"the values of {name} sum to {total}; at least one must be > 0, and the sum finite"
        raise SettingsError(msg)
    return vector / total


def _pair(values: VertexValues, name: str) -> tuple[Int64s, Vector]:
    """Vertices and values as arrays of one length."""
    try:
        keys, amounts = (
            (list(values.keys()), list(values.values())) if isinstance(values, Mapping) else values
        )
        vertices, numbers = np.asarray(keys), np.asarray(amounts, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{name} is neither a mapping of vertices to values nor a pair of arrays: {error}"
        raise SettingsError(msg) from None
    if vertices.size == 0:
        vertices = vertices.astype(np.int64)
    is_int64 = vertices.dtype.kind == "i" or (
        vertices.dtype.kind == "u" and vertices.max() <= np.iinfo(np.int64).max
    )
    if not is_int64 or vertices.ndim != 1 or vertices.shape != numbers.shape:
        msg = (
            f"{name} must map vertices (int64) to values, or be a pair of arrays of one length "
            f"(vertices, values); got {vertices.dtype}{list(vertices.shape)} "
            f"and {numbers.dtype}{list(numbers.shape)}"
        )
        raise SettingsError(msg)
    return vertices.astype(np.int64), numbers
