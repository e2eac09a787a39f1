"""When ranks that are maintained by steps are brought up to date by pushes instead, as on a GPU.

Pushes (`maintained_pagerank.py`) change few vertices where changes spread slowly and what earlier
batches have left lies below what is pushed. So they follow steps that went *further*, to an eighth
of the tolerance, and each batch may add a quarter; once that is used up, steps go further again.
Whether changes spread slowly is found by trial: where pushes are given up, 8 batches go by until
steps go further for the next trial, then 16, and so on up to 128. After batches that change much,
steps are made as if there were no pushes: a batch is taken to be as large as the one before.

All of that is known of the ranks that a batch begins with (`PushTrials`), so what is found depends
on the batches alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple, Protocol

from ...rows import Adjacencies, Array
from .pagerank_residuals import Totals

#: Part of the tolerance that steps go to before pushes, and that each batch may add.
FURTHER: Final = 1 / 8
_LEAVE: Final = 1 / 4
_USED_UP: Final = 15 / 16
#: L1 residual of the first step, beyond which a batch has changed much.
_NEAR: Final = 3e-4
_FIRST_PAUSE, _LONGEST_PAUSE = 8, 128


class PushTrials(NamedTuple):
    """What is known with some ranks."""

    #: Whether the ranks before were near.
    is_near: bool = False
    #: Whether steps went further since pushes were last given up.
    is_further: bool = False
    #: Batches until pushes are tried again, and how many that will be when they are given up.
    wait: int = 0
    pause: int = _FIRST_PAUSE

    @classmethod
    def of_numbers(cls, numbers: Iterable[int]) -> PushTrials:
        """As `numbers` had it."""
        is_near, is_further, *others = numbers
        return cls(bool(is_near), bool(is_further), *others)

    @property
    def numbers(self) -> tuple[int, ...]:
        """For a checkpoint."""
        return tuple(map(int, self))

    @property
    def is_tried(self) -> bool:
        """Whether a batch may be followed by pushes now or, after steps that go further, soon."""
        return self.is_near and self.wait == 0

    def may_push(self, residual: float, tol: float) -> bool:
        """Whether the next batch may be, ``residual`` being that of the ranks."""
        return self.is_tried and self.is_further and residual <= _USED_UP * tol

    def allowed(self, residual: float, tol: float) -> float:
        """What pushes may leave as a residual."""
        return min(tol, residual + _LEAVE * tol)

    def after_steps(self, first_residual: float, *, is_further: bool, gave_up: bool) -> PushTrials:
        """Go on after steps, whose first one had that residual."""
        is_near = first_residual <= _NEAR
        if gave_up:
            return PushTrials(is_near, False, self.pause, min(2 * self.pause, _LONGEST_PAUSE))
        return PushTrials(is_near, is_further, max(self.wait - 1, 0), self.pause)

    def after_pushes(self) -> PushTrials:
        """Go on after pushes that sufficed."""
        return PushTrials(True, True)


class PushTwin(Protocol):
    """What an engine offers, whose ranks stay where it makes them."""

    #: ``y`` of all vertices together, about.
    WHOLE: float

    def can_push(self, adjacencies: Adjacencies) -> bool:
        """Whether the graph's rows can be read so."""

    def push(
        self, workspace: Any, adjacencies: Adjacencies, ids: Array | None, earlier: Any, *,
        alpha: float, tolerance: float, rounding: float, least: int,
    ) -> tuple[Any, int, Totals] | None:  # fmt: skip
        """Push residuals of earlier ranks by index until they are at most ``tolerance Y``.

        Returns the ranks, which can be waited for (``wait``), the number of rounds, and sums; None
        where it takes too long.
        """
