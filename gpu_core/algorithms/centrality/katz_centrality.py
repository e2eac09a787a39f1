"""Katz centrality: walks that end at a vertex, of which longer ones count less.

::

    x = alpha A^T x + beta          A^T: over in-neighbors, by weight where that is asked for

as networkx' ``katz_centrality``: from ``x = 0`` on, each step puts the right side in the place of
``x``, until a step changes ``x`` by less than ``tol`` times the number of vertices in sum (L1).
That happens where ``alpha`` is below ``1 / r`` for the spectral radius ``r`` of ``A``, which is
nowhere above the largest in-degree. With ``normalized`` the result is divided by its Euclidean
norm. An undirected edge counts in both directions, a self loop once.

What an engine offers: ``algorithms.katz_centrality`` with ``iterate``, of rows alone. Sums have a
fixed order, so a result is the same whenever it is computed; those of two engines agree but for
rounding. Not here: a step (`host/analytics/centrality/katz_centrality.py`).

Source: Katz, "A New Status Index Derived from Sociometric Analysis", Psychometrika 1953.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...errors import ConvergenceError, SettingsError
from ...printable import counted, printable
from ...table import largest
from ..analytic import Analytic, Column, ColumnValues, Metric, Needs, Parameter, Parameters, Summary
from ..shared.adjacencies import adjacencies_of, is_weighted
from ..shared.by_vertex import Values, ValuesResult, in_order, order_of

if TYPE_CHECKING:
    from ...engine import Reader

Vector = npt.NDArray[np.float64]


class KatzResult(ValuesResult):
    """Katz centrality of every vertex.

    Parameters
    ----------
    columns
        As of `ValuesResult`.
    iterations
        As the attribute.

    Attributes
    ----------
    iterations
        Steps made.
    """

    _analytic = "katz_centrality"
    _ranked_by = "katz_centrality"

    def __init__(self, columns: Values, iterations: int) -> None:
        super().__init__(columns)
        self.iterations = iterations

    @property
    def katz_centrality(self) -> Vector:
        """float64[n]; the Euclidean norm is 1 if ``normalized``."""
        return self._columns.values

    def __repr__(self) -> str:
        return (
            f"<KatzResult {counted(len(self), 'vertex')}, {counted(self.iterations, 'iteration')}>"
        )

    def _made_of(self) -> tuple[Any, ...]:
        return (*super()._made_of(), self.iterations)


def katz_centrality(
    reader: Reader,
    *,
    alpha: float = 0.1,
    beta: float = 1.0,
    max_iter: int = 1000,
    tol: float = 1e-6,
    normalized: bool = True,
    weight: str | None = None,
) -> KatzResult:
    """Katz centrality of every vertex.

    Parameters
    ----------
    reader
        Of the graph.
    alpha
        What a walk counts less for each edge.
    beta
        What every vertex has by itself.
    max_iter
        Steps at most.
    tol
        Stop when a step changes the values by less than this times the number of vertices (L1).
    normalized
        Whether to divide by the Euclidean norm.
    weight
        ``"weight"``: a walk counts by the product of its weights. None: all alike.

    Raises
    ------
    ConvergenceError
        ``max_iter`` steps were not enough, or ``alpha`` is too large for any number of them.
    SettingsError
        An argument is out of range, or the graph has no weights.
    """
    _check_settings(alpha, beta, max_iter, tol)
    weighted, order = is_weighted(reader, weight), order_of(reader)
    values, iterations, residual = reader.algorithms.katz_centrality.iterate(
        reader.workspace,
        adjacencies_of(reader, weighted=weighted),
        alpha=float(alpha),
        beta=float(beta),
        threshold=tol * reader.num_vertices,
        max_iter=int(max_iter),
        normalized=normalized,
        weighted=weighted,
    )
    if reader.num_vertices and not residual < tol * reader.num_vertices:
        is_finite = math.isfinite(residual)
        cause = "raise max_iter or tol, or" if is_finite else "the values grow for ever;"
        msg = (
            f"Katz centrality did not converge: step {iterations} changed the values by "
            f"{residual:.3g}; {cause} lower alpha={alpha}: below 1 over the largest in-degree "
            f"it always converges"
        )
        raise ConvergenceError(msg)
    return KatzResult(in_order(reader, values, order), iterations)


#: Squares of what comes of it are finite.
_MOST_BETA = 1e100

#: Norms between these are the roots of sums of squares that float64 holds, with all their bits.
LEAST_NORM, MOST_NORM = 1e-140, 1e150


def normalize(values: Any) -> None:
    """Divide values by their Euclidean norm in place, where that is not between those two.

    ``values``: float64 in the memory of an engine, of which all or none are numbers.
    """
    if not values.size or not 0 < (most := float(abs(values).max())) < math.inf:
        return
    values /= most
    values /= math.sqrt(float((values * values).sum()))


def _check_settings(alpha: float, beta: float, max_iter: int, tol: float) -> None:
    if not math.isfinite(alpha):
        msg = f"alpha={alpha} is not finite"
        raise SettingsError(msg)
    if not abs(beta) <= _MOST_BETA:
        msg = f"beta={beta} is not from -{_MOST_BETA:g} to {_MOST_BETA:g}"
        raise SettingsError(msg)
    if not max_iter >= 1:
        msg = f"max_iter={max_iter} allows no iteration; it must be at least 1"
        raise SettingsError(msg)
    if not 0 < tol < math.inf:
        msg = f"tol={tol} is not a tolerance; it must be > 0, and finite"
        raise SettingsError(msg)


#: Vertices of largest value that a summary has.
_TOP = 3


def _summary(columns: ColumnValues, _parameters: Parameters) -> Summary:
    vertices, values = columns["vertex"], columns["katz_centrality"]
    first = largest(values, _TOP)
    return {"top": list(zip(vertices[first].tolist(), values[first].tolist(), strict=True))}


def _brief(result: KatzResult, _parameters: Parameters) -> Summary:
    return {"top": result.ranked(_TOP)}


def _text(summary: Summary) -> str:
    top = ((printable(vertex), value) for vertex, value in summary["top"])
    return ", ".join(f"{vertex} ({value:.6f})" for vertex, value in top) or "no vertices"


ANALYTIC = Analytic(
    name="katz_centrality",
    title="Katz centrality",
    figures=("iterations",),
    about="Katz centrality of every vertex, as networkx defines it.",
    compute=katz_centrality,
    parameters=(
        Parameter(
            "alpha", "factor by which a walk counts less for each edge; below 1 over the largest "
            "in-degree it always converges", {"type": "number"}, 0.1,
        ),
        Parameter(
            "beta", "value that every vertex has before walks are counted",
            {"type": "number", "minimum": -_MOST_BETA, "maximum": _MOST_BETA}, 1.0,
        ),
        Parameter(
            "max_iter", "iterations after which it is an error not to have converged",
            {"type": "integer", "minimum": 1}, 1000,
        ),
        Parameter(
            "tol", "ends when an iteration changes the values by less than this times the number "
            "of vertices, in sum", {"type": "number", "exclusiveMinimum": 0}, 1e-6,
        ),
        Parameter(
            "normalized", "whether values are divided by their Euclidean norm",
            {"type": "boolean"}, default=True,
        ),
        Parameter(
            "weight", "weight: a walk counts by the product of its weights; null: weights are 1",
            {"enum": [None, "weight"]}, needs_weights=True,
        ),
    ),
    results=(
        Column("katz_centrality", "float64", "centrality; normalized: the sum of squares is 1"),
    ),
    needs=Needs(rows=("in",)),
    metrics=(
        Metric("iterations", "iterations", "int64"),
    ),
    summary=_summary,
    brief=_brief,
    text=_text,
    label="katz",
)  # fmt: skip
