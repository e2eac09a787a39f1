"""Whether maintained ranks on a GPU are brought up to date by pushes or by steps.

`WarmPageRank` (``warm_pagerank.py``) makes steps. After a small batch pushes
(``maintained_pagerank.py``) may cost less, since they change few vertices while changes spread
slowly. Where they spread fast, the engine makes a few steps for all vertices between its rounds of
pushes, which still costs less than to start over with steps.

When pushes are tried
---------------------
After a small batch; a batch is taken to be as large as the one before, whose size shows in the
residual of the first step (`NEAR`). Residuals up to `PushLimits.least` are not pushed. They add up
from batch to batch, with what steps have left, until pushes no longer suffice within the tolerance
and are given up. Steps are made then, which go *further*: to an eighth of the tolerance, so that
the pushes after them have room. If pushes are given up right after such steps, the next steps go to
the tolerance as usual, and pushes are not tried for 8 batches; the next time for 16, and so on up
to 128.

All that decides is kept with the ranks, also in checkpoints (`PushTrials`), so results depend on
the batches alone. It makes no difference whether residuals have followed a batch (`RepairTwin`) or
are computed from nothing: ``y`` is computed from the ranks, and ``b`` is kept with them, so both
are the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ...batch.protocols import ListedBatch
from ...rows import Adjacencies, Array
from .pagerank_residuals import ResidualTotals

#: L1 residual of the first step up to which a batch is small.
NEAR: Final = 3e-4
#: Ends of edges of a batch that residuals follow, as a part of the graph's entries, at most.
MOST_SHARE: Final = 2.0**-11
#: Part of the tolerance that steps go to once pushes were given up.
FURTHER: Final = 1 / 8
#: Part of the tolerance that rounding may take.
MOST_ROUNDING: Final = 1 / 16
#: Residuals that are not pushed: up to so many times the tolerance, shared by all vertices.
LEAST: Final = 8
_FIRST_PAUSE, _LONGEST_PAUSE = 8, 128
#: Numbers of a checkpoint.
_NUMBERS: Final = 10
#: How far ``y`` of all vertices may be from the engine's ``WHOLE``, as a part of it.
_MOST_DRIFT: Final = 1 / 4


class MeanField(NamedTuple):
    """Ranks estimated by degree; see `host/analytics/centrality/pagerank_start.py`."""

    #: Rank of a vertex without edges, and what each edge adds to it; 0: there is no estimate.
    isolated: float = 0.0
    edge: float = 0.0
    #: Entries and vertices of the graph that the ranks are of.
    entries: int = 0
    vertices: int = 0

    def for_graph(self, entries: int, vertices: int) -> MeanField:
        """The estimate for a graph of another size; none where the sizes are far apart.

        If few entries are left, or most vertices are new, estimates by the former size could add up
        to thousands, and overflow as whole numbers.
        """
        is_like = self.entries <= 2 * entries <= 4 * self.entries and vertices <= 2 * self.vertices
        if not (is_like and self.edge > 0):
            return MeanField(0.0, 0.0, entries, vertices)
        return MeanField(self.isolated, self.edge * (self.entries / entries), entries, vertices)


class PushTrials(NamedTuple):
    """What decides whether pushes are tried after the next batch; kept with the ranks."""

    #: Whether the last batch was small.
    is_near: bool = False
    #: Whether the ranks were found by steps that were made as pushes had been given up.
    is_further: bool = False
    #: Batches until pushes are tried again, and what that becomes when they are given up.
    wait: int = 0
    pause: int = _FIRST_PAUSE
    mean_field: MeanField = MeanField()
    #: Sum of ``y``, and ``b``, of ranks that pushes have found; ``mass`` 0: ``y`` does not follow
    #: from the ranks.
    mass: int = 0
    base: int = 0

    @classmethod
    def of_numbers(cls, numbers: Sequence[int]) -> PushTrials:
        """Read what `numbers` gave; of an older version's checkpoint nothing is known."""
        if len(numbers) != _NUMBERS:
            return cls()
        is_near, is_further, wait, pause, mass, base, entries, vertices, *reals = numbers
        isolated, edge = np.array(reals, np.int64).view(np.float64).tolist()
        mean_field = MeanField(isolated, edge, entries, vertices)
        return cls(bool(is_near), bool(is_further), wait, pause, mean_field, mass, base)

    @property
    def numbers(self) -> tuple[int, ...]:
        """For a checkpoint."""
        isolated, edge, *size = self.mean_field
        reals = np.array([isolated, edge]).view(np.int64).tolist()
        flags = int(self.is_near), int(self.is_further)
        return *flags, self.wait, self.pause, self.mass, self.base, *size, *reals

    @property
    def is_tried(self) -> bool:
        """Whether the next batch is followed by pushes."""
        return self.is_near and self.wait == 0

    def after_steps(
        self, first_residual: float, mean_field: MeanField, *, gave_up: bool
    ) -> PushTrials:
        """Go on after steps, whose first one had that residual."""
        is_near = first_residual <= NEAR
        if gave_up and is_near and self.is_further:
            pause = min(2 * self.pause, _LONGEST_PAUSE)
            return PushTrials(is_near, False, self.pause, pause, mean_field)
        return PushTrials(is_near, gave_up, max(self.wait - 1, 0), self.pause, mean_field)

    def after_pushes(
        self, entries: int, vertices: int, found: PushedRanks, whole: float
    ) -> PushTrials:
        """Go on after pushes that sufficed, of a graph of that size.

        ``whole``: `PushTwin.WHOLE`.
        """
        mean_field, mass = self.mean_field.for_graph(entries, vertices), found.totals.mass
        if found.residuals is None or abs(mass - whole) > _MOST_DRIFT * whole:
            return PushTrials(is_near=True, mean_field=mean_field)
        return PushTrials(is_near=True, mean_field=mean_field, mass=mass, base=found.base)


class PushLimits(NamedTuple):
    """When pushes end; symbols as in `maintained_pagerank.py`."""

    #: ``A + |S| + 4 N + rounding`` is to be at most ``tolerance Y``.
    tolerance: float
    rounding: float
    #: Residuals up to this are not pushed.
    least: int
    #: Pushes are given up where ``A`` is beyond ``most_residual Y``.
    most_residual: float


class PushedRanks(NamedTuple):
    """Ranks that pushes have found."""

    #: By vertex index, as the engine keeps them; they can be waited for (``wait``).
    ranks: Any
    rounds: int
    totals: ResidualTotals
    #: ``b``.
    base: int
    #: ``y`` and ``r`` as the engine keeps them; None: ``y`` does not follow from the ranks.
    residuals: Any


class PushTwin(Protocol):
    """What an engine offers for pushes; ranks stay in its memory."""

    #: Sum of ``y`` that ranks are scaled to, about.
    WHOLE: float

    def can_push(self, adjacencies: Adjacencies) -> bool:
        """Whether the rows of the graph lie as pushes need them."""

    def push(
        self, workspace: Any, adjacencies: Adjacencies, ids: Array | None, earlier: Any, *,
        alpha: float, limits: PushLimits,
    ) -> PushedRanks | None:  # fmt: skip
        """Push residuals of earlier ranks, by index, which are computed from nothing.

        None where it takes too long, or they are too large.
        """

    def push_repaired(
        self, graph: Any, ids: Array | None, earlier: Any, residuals: Any, *,
        alpha: float, limits: PushLimits,
    ) -> PushedRanks | None:  # fmt: skip
        """As `push`, of residuals of earlier ranks that have followed the batch."""

    def audited(
        self, workspace: Any, adjacencies: Adjacencies, earlier: Any, kept: Any, *, alpha: float
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Residuals that were kept, and the same from nothing, in host memory."""


class RepairTwin(Protocol):
    """What an engine offers to have residuals follow a batch."""

    def take_back(
        self, graph: Any, batch: ListedBatch, residuals: Any, alpha: float
    ) -> tuple[ListedBatch, bool]:
        """Before a batch: the sources of its edges take back what they have passed on.

        Returns the batch, or a copy of it in the engine's memory, and whether `pass_on` is to
        follow.
        """

    def pass_on(self, graph: Any, residuals: Any, earlier: Any, alpha: float) -> None:
        """After it: they pass on what they have then; ``earlier``: the ranks of the residuals."""
