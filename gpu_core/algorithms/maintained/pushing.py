"""When ranks that are maintained by steps are brought up to date by pushes instead, as on a GPU.

Pushes (`maintained_pagerank.py`) change few vertices where changes spread slowly. Where they spread
fast, an engine makes a few steps for all vertices among its rounds, which is still less than to
begin with steps. So pushes are tried after small batches; a batch is taken to be as large as the
one before. What they leave, and what steps before them have left, lies below what is pushed, and
adds up. So where they are given up, steps go *further*, to an eighth of the tolerance; where they
are given up just then, 8 batches go by until the next trial, then 16, and so on up to 128.

All of that is known of the ranks that a batch begins with (`PushTrials`), so what is found depends
on the batches alone. Residuals that have followed a batch (`warm_pagerank.py`) change nothing in
what is found: they are the same numbers as those computed from nothing, because ``y`` is computed
from the ranks, and ``b`` is kept with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ...batch.protocols import ListedBatch
from ...rows import Adjacencies, Array
from .pagerank_residuals import Totals

#: L1 residual of the first step, beyond which a batch has changed much.
NEAR: Final = 3e-4
#: Part of the tolerance that steps go to before pushes.
FURTHER: Final = 1 / 8
#: Part of the tolerance that rounding may take.
MOST_ROUNDING: Final = 1 / 16
#: Residuals that are not pushed: up to so many times the mean of what may be left.
LEAST: Final = 8
_FIRST_PAUSE, _LONGEST_PAUSE = 8, 128
#: Numbers of a checkpoint.
_NUMBERS: Final = 10
#: How far ``y`` of all vertices may be from the engine's ``WHOLE``, as a part of it.
_MOST_DRIFT: Final = 1 / 4


class MeanField(NamedTuple):
    """What degrees say of ranks; see `host/analytics/centrality/pagerank_start.py`."""

    #: Rank of a vertex without edges, and what each edge adds to it; 0: degrees say nothing.
    isolated: float = 0.0
    edge: float = 0.0
    #: Entries and vertices of the graph that the ranks are of.
    entries: int = 0
    vertices: int = 0

    def for_graph(self, entries: int, vertices: int) -> MeanField:
        """The same of a graph of another size; nothing where that is quite another graph.

        Where few entries are left, or most vertices are new, ranks by what was known before could
        add up to thousands, and whole numbers of them overflow.
        """
        is_like = self.entries <= 2 * entries <= 4 * self.entries and vertices <= 2 * self.vertices
        if not (is_like and self.edge > 0):
            return MeanField(0.0, 0.0, entries, vertices)
        return MeanField(self.isolated, self.edge * (self.entries / entries), entries, vertices)


class PushTrials(NamedTuple):
    """What is known with some ranks."""

    #: Whether the ranks before were near.
    is_near: bool = False
    #: Whether they were found by steps that went further.
    is_further: bool = False
    #: Batches until pushes are tried again, and how many that will be when they are given up.
    wait: int = 0
    pause: int = _FIRST_PAUSE
    field: MeanField = MeanField()
    #: ``y`` of all vertices, and ``b``, of ranks that pushes have found; ``mass`` 0: ranks do not
    #: tell ``y``.
    mass: int = 0
    base: int = 0

    @classmethod
    def of_numbers(cls, numbers: Sequence[int]) -> PushTrials:
        """As `numbers` had it; what an older graphtide wrote is no more than a start."""
        if len(numbers) != _NUMBERS:
            return cls()
        is_near, is_further, wait, pause, mass, base, entries, vertices, *reals = numbers
        isolated, edge = np.array(reals, np.int64).view(np.float64).tolist()
        field = MeanField(isolated, edge, entries, vertices)
        return cls(bool(is_near), bool(is_further), wait, pause, field, mass, base)

    @property
    def numbers(self) -> tuple[int, ...]:
        """For a checkpoint."""
        isolated, edge, *size = self.field
        reals = np.array([isolated, edge]).view(np.int64).tolist()
        flags = int(self.is_near), int(self.is_further)
        return *flags, self.wait, self.pause, self.mass, self.base, *size, *reals

    @property
    def is_tried(self) -> bool:
        """Whether the next batch is followed by pushes."""
        return self.is_near and self.wait == 0

    def after_steps(self, first_residual: float, field: MeanField, *, gave_up: bool) -> PushTrials:
        """Go on after steps, whose first one had that residual."""
        is_near = first_residual <= NEAR
        if gave_up and is_near and self.is_further:
            pause = min(2 * self.pause, _LONGEST_PAUSE)
            return PushTrials(is_near, False, self.pause, pause, field)
        return PushTrials(is_near, gave_up, max(self.wait - 1, 0), self.pause, field)

    def after_pushes(
        self, entries: int, vertices: int, found: PushedRanks, whole: float
    ) -> PushTrials:
        """Go on after pushes that sufficed, of a graph of that size.

        ``whole``: `PushTwin.WHOLE`.
        """
        field, mass = self.field.for_graph(entries, vertices), found.totals.mass
        if found.residuals is None or abs(mass - whole) > _MOST_DRIFT * whole:
            return PushTrials(is_near=True, field=field)
        return PushTrials(is_near=True, field=field, mass=mass, base=found.base)


class PushLimits(NamedTuple):
    """When pushes end, in the words of `maintained_pagerank.py`."""

    #: ``A + |S| + 4 N + rounding`` is to be at most ``tolerance Y``.
    tolerance: float
    rounding: float
    #: Residuals up to this are not pushed.
    least: int
    #: ``A`` beyond ``most_residual Y`` is too much.
    most_residual: float


class PushedRanks(NamedTuple):
    """Ranks that pushes have found."""

    #: By vertex index, as the engine keeps them; they can be waited for (``wait``).
    ranks: Any
    rounds: int
    totals: Totals
    #: ``b``.
    base: int
    #: ``y`` and ``r`` where the engine keeps them; None: ranks do not tell ``y``.
    residuals: Any


class PushTwin(Protocol):
    """What an engine offers, whose ranks stay where it makes them."""

    #: ``y`` of all vertices together, about.
    WHOLE: float

    def can_push(self, adjacencies: Adjacencies) -> bool:
        """Whether the graph's rows can be read so."""

    def push(
        self, workspace: Any, adjacencies: Adjacencies, ids: Array | None, earlier: Any, *,
        alpha: float, limits: PushLimits, field: MeanField,
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
        self, workspace: Any, adjacencies: Adjacencies, earlier: Any, kept: Any, *, alpha: float,
        field: MeanField,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:  # fmt: skip
        """Residuals that were kept, and those that `push` begins with, in host memory."""


class RepairTwin(Protocol):
    """What an engine offers to have residuals follow a batch."""

    def take_back(
        self, graph: Any, batch: ListedBatch, residuals: Any, alpha: float
    ) -> tuple[ListedBatch, bool]:
        """Begin to follow a batch that is applied next; whether residuals do."""

    def pass_on(
        self, graph: Any, residuals: Any, earlier: Any, alpha: float, field: MeanField
    ) -> None:
        """Follow it, once it is applied; ``earlier``: the ranks that they are of."""
