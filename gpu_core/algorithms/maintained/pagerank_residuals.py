"""What an engine offers to maintain PageRank by residuals, and what its functions return.

What the numbers mean, and when residuals are pushed: `maintained_pagerank.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from ...rows import Adjacencies, Array, Rows


class ResidualTotals(NamedTuple):
    """Sums over all vertices, exact."""

    #: Of ``|r|``, and of ``r``.
    absolute: int
    signed: int
    #: Of ``y`` where it is above 0, and of ``-y`` where it is below.
    mass: int
    below: int


def rounding_of(entries: int, totals: ResidualTotals) -> float:
    """``2 e + 4 N`` of the bound in `maintained_pagerank.py`: by rounding, and by ranks below 0.

    ``entries``: of the graph.
    """
    each = 0.5 * entries + 2.0**-51 * (totals.mass + totals.below) + 1
    return 2 * each + 4 * totals.below


def exactness(entries: int, totals: ResidualTotals, alpha: float) -> tuple[float, float]:
    """L1 residual of the ranks of ``y``, and proven bound of their distance from the exact ones."""
    off = totals.absolute + abs(totals.signed) + rounding_of(entries, totals)
    residual = off / totals.mass * (1 + 2.0**-40)
    return residual, (residual / (1 - alpha) + 2.0**-50) * (1 + 2.0**-40)


class Pushed(NamedTuple):
    """Result of pushing residuals."""

    rounds: int
    #: Entries of the rows that were pushed.
    entries: int
    #: Whether residuals are as small as was asked for.
    is_enough: bool


class ChangedEntries(Protocol):
    """Entries that a batch adds or removes, as an engine keeps them."""

    @property
    def work(self) -> int:
        """Entries of the rows of their sources, of each source once."""


class Pushing(Protocol):
    """Vertices whose residuals are above the least that is pushed."""

    #: Entries of the first round.
    active: int

    def run(self, totals: ResidualTotals, allowed: int, budget: int) -> Pushed:
        """Push until ``A + |S|`` is at most ``allowed``, or ``budget`` entries were pushed."""


class ResidualsTwin(Protocol):
    """What an engine offers.

    ``workspace`` is that of its `Reader`; ``mass`` is ``y`` and ``residuals`` is ``r``, int64 by
    vertex index; ``rows`` are those of out-neighbors.
    """

    #: Entries that full steps read in the time in which one is pushed.
    ENTRIES_A_PUSH: int
    #: What it takes to copy rows before full steps, and to compute residuals after them, in steps.
    STEPS_TO_BEGIN: int

    def entries_of(
        self, workspace: Any, rows: Rows, edges: Array, *, directed: bool
    ) -> ChangedEntries:
        """Find the entries of edges, keys as of `gpu_core/changes.py`."""

    def follow_entries(
        self, workspace: Any, rows: Rows, entries: Any, mass: Array, residuals: Array,
        alpha: float, sign: int,
    ) -> None:  # fmt: skip
        """Add to ``residuals`` what entries change that the rows have.

        ``sign``: 1 if they were added, -1 if they will be removed.
        """

    def resized(self, workspace: Any, items: Array, count: int) -> Array:
        """Copy the values of vertices to ``count`` of them; those of new vertices are 0."""

    def nothing(self, workspace: Any, count: int) -> tuple[Array, Array, Array]:
        """``y``, ``r`` and presence of ``count`` vertices, none of which is there."""

    def start_of(
        self, workspace: Any, rows: Rows, mass: Array, degrees: Array | None, alpha: float
    ) -> Array:
        """float64[vertex_count], sum 1: a start from the ranks of ``y``.

        ``degrees``: uint32[any], of the undirected graph that they are of; None: the start is the
        ranks, and ``1/n`` for vertices without one.
        """

    def dangling_of(self, workspace: Any, rows: Rows, ranks: Array) -> float:
        """Rank on vertices without out-edges."""

    def masses_of(self, workspace: Any, rows: Rows, ranks: Array, whole: float) -> Array:
        """``y`` of ranks, which sums to about ``whole``."""

    def residuals_of(
        self, workspace: Any, adjacencies: Adjacencies, mass: Array, alpha: float
    ) -> Array:
        """``r`` from nothing, but for ``b``."""

    def add_base(self, workspace: Any, present: Array, residuals: Array, base: int) -> None:
        """Add ``b`` where there is a vertex."""

    def take_vertices(
        self, workspace: Any, rows: Rows, mass: Array, residuals: Array, present: Array, base: int
    ) -> None:
        """Give ``b`` to new vertices, and nothing to those that are gone.

        ``present``: which there were, brought up to date.
        """

    def totals_of(self, workspace: Any, mass: Array, residuals: Array) -> ResidualTotals:
        """Sums over all vertices."""

    def ranks_of(self, workspace: Any, rows: Rows, mass: Array, total: int) -> Array:
        """float64[vertex_count]: ranks of ``y``, of which those above 0 sum to ``total``."""

    def Pushes(
        self, workspace: Any, rows: Rows, mass: Array, residuals: Array, alpha: float, least: int
    ) -> Pushing:
        """List the vertices whose residuals are above ``least``; pushes write ``y`` and ``r``."""
