"""Steps of PageRank from a start until they change little enough, and how exact that is.

Shared by `pagerank` and by what maintains ranks. What the vectors mean:
`algorithms/centrality/pagerank.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import ConvergenceError
from ...printable import counted
from .pagerank_bound import error_bound
from .surfer import Surfer, Vector

if TYPE_CHECKING:
    from ...engine import Reader
    from ...rows import Adjacencies


class Ranks(NamedTuple):
    """Ranks, and how exact they are."""

    #: By vertex index, or what keeps them where the engine made them.
    ranks: Any
    #: Steps made.
    iterations: int
    #: L1 norm of what the last step, a plain one, changed.
    residual: float
    #: Proven bound of the L1 distance from the exact ranks, or what finds it.
    error_bound: float | Callable[[], float]


def make_steps(
    reader: Reader,
    adjacencies: Adjacencies,
    start: Vector | None,
    surfer: Surfer,
    *,
    threshold: float,
    max_iter: int,
    is_plain: bool = False,
) -> Ranks:
    """Make steps until the residual is at most ``threshold``.

    Parameters
    ----------
    reader, adjacencies
        Of the graph, which has a vertex; rows with weights where these count.
    start
        ``x``, sum 1; None: one that the engine makes, the same for all vertices or by degrees.
    surfer
        Its ``strengths`` may be None where edges count alike.
    is_plain
        Whether no step may go beyond a plain one.

    Raises
    ------
    ConvergenceError
        ``max_iter`` steps were not enough.
    """
    twin, workspace, alpha = reader.algorithms.pagerank, reader.workspace, surfer.alpha
    if surfer.strengths is None:
        strengths = twin.out_strengths(workspace, adjacencies.out, weighted=False)
        surfer = surfer._replace(strengths=strengths)
    ranks, iterations, residual, rounding = twin.iterate(
        workspace,
        adjacencies,
        reader.id_table(),
        surfer,
        start,
        # All are plain where the radius may be 1.
        most_radius=0.0 if adjacencies.directed or is_plain or alpha == 1 else alpha,
        threshold=threshold,
        max_iter=max_iter,
    )
    if not residual <= threshold:
        msg = (
            f"PageRank did not converge: after {counted(max_iter, 'iteration')} the residual is "
            f"{residual:.3g}, above {threshold:.3g}; raise max_iter or tol, or lower alpha={alpha}"
        )
        raise ConvergenceError(msg)
    rows = adjacencies.out.count
    return Ranks(
        ranks, iterations, residual, lambda: error_bound(alpha, residual, rounding(), rows)
    )
