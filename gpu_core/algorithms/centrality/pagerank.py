"""PageRank as networkx defines it: definition, arguments, start, and when to stop.

::

    x = alpha (P^T x + m w) + (1 - alpha) p

``P`` holds each edge's share of its source (one over the out-degree, or the weight over the sum of
the out-weights), ``m`` is the rank on *dangling* vertices (no out-edges, or out-weights that sum
to 0), ``w`` says where that rank goes and ``p`` where a random jump lands. An undirected edge
counts in both directions, a self loop once.

The right side, ``x'``, is what a *plain* step makes of ``x``, and steps are made until
``r = |x' - x|_1`` is at most ``tol``; then ``x'`` is the result, and at most
``alpha r / (1 - alpha)`` away from the solution (L1), but for rounding: ``error_bound`` has both
(`pagerank_bound.py`). On directed graphs all steps are plain: power
iteration. On undirected graphs they go beyond, so that fewer are needed, often half as many
(`host/analytics/centrality/chebyshev.py`), and begin by degrees where these say something of the
ranks (`host/analytics/centrality/pagerank_start.py`). networkx compares with ``n * tol`` instead,
so its default ``tol=1e-6`` means something else on every graph; ``networkx_tol=True`` does so too,
by plain steps from even ranks.

What an engine offers: ``algorithms.pagerank`` with ``out_strengths``, ``refused_sources``,
``start_at_kept``, ``start_from`` and ``iterate``, of rows alone. Vectors are by vertex index, 0 for
absent vertices; `None` is the vector that is the same for all present ones, but of starts one that
the engine makes. Nothing else here depends on the engine.
A vector is made in host memory only where the arguments ask for one, and ranks that an engine keeps
on its device are fetched when they are looked at.

Not here: a step of the iteration (`host/analytics/centrality/pagerank.py`), and the result
(`pagerank_result.py`).

Sources: Page, Brin, Motwani, Winograd, "The PageRank Citation Ranking", 1999; networkx
``pagerank``, for dangling vertices and personalization.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ...errors import ConvergenceError, SettingsError
from ...printable import printable
from ...table import largest
from ..analytic import (
    BY_VERTEX,
    Analytic,
    Column,
    ColumnValues,
    Metric,
    Needs,
    Parameter,
    Parameters,
    Summary,
)
from ..maintained.maintained_pagerank import MaintainedPageRank
from ..maintained.maintained_ranks import MaintainedRanks
from ..maintained.warm_pagerank import WarmPageRank
from ..shared.adjacencies import adjacencies_of, is_weighted
from ..shared.by_vertex import HostValues, in_order, order_of
from ..shared.rank_steps import Ranks, make_steps
from ..shared.sources import check_unknown
from ..shared.surfer import Surfer
from ..shared.vertex_vectors import Positions, VertexValues
from .pagerank_result import FetchedRanks, PageRankResult

if TYPE_CHECKING:
    from ...engine import Reader
    from ...rows import Rows

Int64s = npt.NDArray[np.int64]
Vector = npt.NDArray[np.float64]


def pagerank(
    reader: Reader,
    *,
    alpha: float = 0.85,
    personalization: VertexValues | None = None,
    max_iter: int = 500,
    tol: float = 1e-6,
    nstart: VertexValues | PageRankResult | None = None,
    weight: str | None = None,
    dangling: VertexValues | None = None,
    networkx_tol: bool = False,
    unknown: str = "error",
) -> PageRankResult:
    """PageRank of every vertex.

    Parameters
    ----------
    reader
        Of the graph.
    alpha
        Damping, from 0 to 1.
    personalization
        Where random jumps land; vertices left out get 0, `None`: uniform. Need not sum to 1.
    max_iter
        Steps at most.
    tol
        Stop when the L1 norm of a plain step's change is at most this.
    nstart
        Start of the iteration; vertices left out get 0. `None`: all alike, or by degrees. A result
        of an earlier call is a *warm start*: vertices of both graphs keep their rank, new ones
        begin at ``1/n``, and the sum is made 1 again. On undirected graphs the start also goes by
        what has become of degrees since. The answer is the same within the tolerance, in fewer
        steps.
    weight
        ``"weight"``: an edge's share is by its weight, which must be ``>= 0``. `None`: all alike.
    dangling
        Where the rank of dangling vertices goes; as ``personalization`` where not given.
    networkx_tol
        Stop at ``n * tol``, after the steps that networkx makes.
    unknown
        What becomes of vertices of ``personalization``, ``nstart`` and ``dangling`` that are not in
        the graph: ``"error"``, or ``"skip"``. Where nothing is left of ``personalization``, no jump
        lands anywhere, and every rank is 0; ``dangling`` and ``nstart`` are then as if not given.

    Returns
    -------
    PageRankResult
        Empty for a graph without vertices. ``error_bound`` bounds its distance from the exact
        ranks.

    Raises
    ------
    ConvergenceError
        ``max_iter`` steps were not enough.
    VertexNotFoundError
        ``personalization``, ``nstart`` or ``dangling`` names a vertex that is not in the graph.
    SettingsError
        An argument is out of range, values are negative or sum to 0, a weight is negative, or those
        of a vertex add up to too much for float64, or to less than `LEAST_STRENGTH`.
    """
    check_settings(alpha, max_iter, tol)
    check_unknown(unknown)
    weighted = is_weighted(reader, weight)
    count = reader.num_vertices
    if count == 0:
        return PageRankResult(HostValues(np.empty(0, np.int64), np.empty(0)), 0, 0.0, 0.0)

    is_uniform = personalization is None and dangling is None and not weighted
    # Maintained ranks are the answer whatever the start, unless the caller gives values of a start.
    is_start_ours = nstart is None or isinstance(nstart, PageRankResult)
    if is_uniform and is_start_ours and not networkx_tol:
        found = _maintained_result(reader, alpha, tol)
        if found is not None:
            return found

    positions = Positions(reader, skips_unknown=unknown == "skip")
    teleport = positions.distribution(personalization, "personalization")
    if teleport is None and personalization is not None:
        return PageRankResult(HostValues(positions.vertices, np.zeros(count)), 0, 0.0, 0.0)
    dangling_shares = positions.distribution(dangling, "dangling")
    if dangling_shares is None:
        dangling_shares = teleport
    adjacencies = adjacencies_of(reader, weighted=weighted)
    strengths = checked_strengths(reader, adjacencies.out) if weighted else None
    surfer = Surfer(alpha, strengths, weighted, teleport, dangling_shares)
    with_degrees = surfer.is_even and not adjacencies.directed
    # The formulas of `pagerank_start.py` need damping below 1.
    by_degrees = with_degrees and alpha < 1 and not networkx_tol
    ranks = make_steps(
        reader,
        adjacencies,
        _start(reader, adjacencies.out, positions, nstart, alpha if by_degrees else 0.0),
        surfer,
        threshold=float(count) * float(tol) if networkx_tol else tol,
        max_iter=max_iter,
        # As those of networkx are.
        is_plain=networkx_tol,
    )
    return _result(reader, ranks, with_degrees=with_degrees)


def _start(
    reader: Reader,
    out: Rows,
    positions: Positions,
    nstart: VertexValues | PageRankResult | None,
    alpha: float,
) -> Any:
    """Start of the iteration by vertex index; None: all alike, or by degrees.

    ``alpha``: damping; 0: earlier ranks are taken as they are, whatever degrees are.
    """
    if not isinstance(nstart, PageRankResult):
        return positions.distribution(nstart, "nstart")
    twin, workspace = reader.algorithms.pagerank, reader.workspace
    start = twin.start_at_kept(workspace, out, reader.id_table(), nstart.kept, alpha)
    if start is not None:
        return start
    indices, rows = positions.matching(nstart.vertex_keys)
    ranks, degrees = np.full(out.count, -1.0), None
    ranks[indices] = nstart.pagerank[rows]
    if alpha > 0 and nstart.degrees is not None:
        degrees = np.zeros(out.count, np.uint32)
        degrees[indices] = nstart.degrees[rows]
    return twin.start_from(workspace, out, ranks, degrees, alpha)


def checked_strengths(reader: Reader, out: Rows, what: str = "PageRank") -> Any:
    """Sum of the weights of each vertex' edges; refused where edges cannot be followed by them.

    Parameters
    ----------
    out
        Rows with weights.
    what
        What needs the weights, for messages.

    Returns
    -------
    float64[vertex_count], of the engine.
    """
    twin, workspace = reader.algorithms.pagerank, reader.workspace
    strengths = twin.out_strengths(workspace, out, weighted=True)
    check_weights(reader.ids_of(twin.refused_sources(workspace, strengths)), what)
    return strengths


def _maintained_result(reader: Reader, alpha: float, tol: float) -> PageRankResult | None:
    """The ranks that the graph maintains; None where there are none for these arguments."""
    maintained = reader.maintained.get(ANALYTIC.name)
    if not isinstance(maintained, MaintainedRanks) or not maintained.answers(alpha=alpha, tol=tol):
        return None
    try:
        ranks = maintained.state(reader)
        if ranks is None:
            return None
        return _result(reader, ranks, with_degrees=not reader.kind.directed)
    except ConvergenceError:
        # Steps of maintained ranks may go further than the tolerance, and be fewer than may be made
        # here.
        return None


def _result(reader: Reader, found: Ranks, *, with_degrees: bool) -> PageRankResult:
    """A result of ranks by vertex index, or of what keeps them, with their degrees."""
    ranks, exactness = found.ranks, found[1:]
    if not isinstance(ranks, np.ndarray):
        return PageRankResult(FetchedRanks(ranks), *exactness, ranks)
    order = order_of(reader)
    degrees = reader.rows("out").degree[order.indices] if with_degrees else None
    return PageRankResult(in_order(reader, ranks, order), *exactness, None, degrees)


def check_settings(alpha: float, max_iter: int, tol: float) -> None:
    """Refuse what is out of range."""
    if not 0 <= alpha <= 1:
        msg = f"alpha={alpha} is not a damping factor; it must be from 0 to 1"
        raise SettingsError(msg)
    if not max_iter >= 1:
        msg = f"max_iter={max_iter} allows no iteration; it must be at least 1"
        raise SettingsError(msg)
    if not 0 <= tol < math.inf:
        msg = f"tol={tol} is not a tolerance; it must be >= 0, and finite"
        raise SettingsError(msg)


def check_weights(sources: Int64s, what: str) -> None:
    """Refuse vertices with an edge of negative weight, or with weights that cannot be added up."""
    if sources.size:
        msg = (
            f"{what} needs weights >= 0, but an edge from vertex {{vertex}} has a negative one, or "
            f"its weights add up to more than 1.8e308 or less than {LEAST_STRENGTH:g} "
            f"({sources.size} such vertices); change the weights, or ignore them "
            "by weight=None (in settings: null)"
        )
        raise SettingsError.of_vertex(msg, sources.min())


#: Weights of a vertex that add up to less, but not to 0, are refused: shares would be no numbers,
#: and draws too coarse.
LEAST_STRENGTH: Final = 1e-280

#: Vertices of largest rank that a summary has, and that its sentence names.
_TOP, _NAMED = 5, 3


def _summary(columns: ColumnValues, _parameters: Parameters) -> Summary:
    vertices, ranks = columns["vertex"], columns["pagerank"]
    first = largest(ranks, _TOP)
    return {"top": list(zip(vertices[first].tolist(), ranks[first].tolist(), strict=True))}


def _brief(result: PageRankResult, _parameters: Parameters) -> Summary:
    return {"top": result.ranked(_TOP)}


def _text(summary: Summary) -> str:
    if not summary["top"]:
        return "no vertices"
    if not summary["top"][0][1]:
        return "every rank is 0: no vertex of personalization is in the graph"
    top = ", ".join(f"{printable(vertex)} ({rank:.6f})" for vertex, rank in summary["top"][:_NAMED])
    # Results of an older graphtide have none.
    bound = summary.get("error_bound")
    return top if bound is None else f"{top}; error of all together at most {bound:.2g}"


ANALYTIC = Analytic(
    name="pagerank",
    title="PageRank",
    figures=("iterations", "residual", "error_bound"),
    plotted=("iterations", "error_bound"),
    about="Rank of every vertex, as networkx defines it.",
    # A vertex may come with a later batch, or be deleted: no reason to end a run.
    compute=partial(pagerank, unknown="skip"),
    parameters=(
        Parameter(
            "alpha", "damping factor: probability of following an edge rather than jumping",
            {"type": "number", "minimum": 0, "exclusiveMaximum": 1}, 0.85,
        ),
        Parameter(
            "tol", "ends when an iteration changes the ranks by at most this in sum (L1 norm)",
            {"type": "number", "exclusiveMinimum": 0}, 1e-6,
        ),
        Parameter(
            "max_iter", "iterations after which it is an error not to have converged",
            {"type": "integer", "minimum": 1}, 500,
        ),
        Parameter(
            "weight", "weight: edges are followed in proportion to their weights; null: all alike",
            {"enum": [None, "weight"]}, needs_weights=True,
        ),
        Parameter(
            "personalization", "where jumps land: {17: 1, 4: 0.5}, or a Parquet or CSV file with "
            "columns vertex, value; vertices that are not in the graph are skipped", BY_VERTEX,
        ),
        Parameter(
            "dangling", "where the rank of vertices without out-edges goes, given likewise; null: "
            "where jumps land", BY_VERTEX,
        ),
        Parameter(
            "networkx_tol", "true: tol is multiplied by the number of vertices, as networkx does",
            {"type": "boolean"}, default=False,
        ),
    ),
    results=(Column("pagerank", "float64", "rank; all ranks sum to 1"),),
    needs=Needs(rows=("in",)),
    metrics=(
        Metric("iterations", "iterations; of maintained ranks also rounds of pushes", "int64"),
        Metric("residual", "L1 norm of what the last iteration changed, or of what is left"),
        Metric("error_bound", "proven bound on the L1 distance from the exact ranks"),
    ),
    summary=_summary,
    brief=_brief,
    text=_text,
    maintained=(MaintainedPageRank, WarmPageRank),
    maintained_by=("alpha", "tol", "max_iter"),
)  # fmt: skip
