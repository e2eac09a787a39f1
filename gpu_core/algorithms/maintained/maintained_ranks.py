"""What every engine needs to maintain PageRank: parameters, and arrays of a checkpoint.

How ranks follow batches is the engine's: by pushes (`maintained_pagerank.py`), or by steps from the
ranks before (`warm_pagerank.py`). Either goes on from what the other has left in a checkpoint.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ...errors import SettingsError
from ..shared.rank_steps import Ranks

if TYPE_CHECKING:
    from ...engine import Reader

#: Names among the arrays of a checkpoint, by vertex index: int64 ``y`` of `maintained_pagerank.py`,
#: or float64 ranks, 0 where there was no vertex. With ``y`` bool: where there was one.
MASS: Final = "rank_masses"
PRESENT: Final = "rank_present"
RANKS: Final = "ranks"
#: With either of an undirected graph uint32: degrees of the graph that they are of, if known.
DEGREES: Final = "rank_degrees"
#: Four reals, the first two alpha and tol, and whole numbers, the last of them max_iter; int64.
NUMBERS: Final = "rank_numbers"

_MOST_STEPS: Final = int(np.iinfo(np.int64).max)


class MaintainedRanks(ABC):
    """An `engine.Maintained` of PageRank.

    Parameters
    ----------
    alpha, tol, max_iter
        As of `pagerank`.
    """

    needs_reverse = False
    #: Of either engine, so that each can read what the other wrote.
    kept: Mapping[str, Mapping[str, str]] = {
        "vertices": {MASS: "int64", PRESENT: "bool", RANKS: "float64", DEGREES: "uint32"},
        "ranks": {NUMBERS: "int64"},
    }

    def __init__(self, *, alpha: float = 0.85, tol: float = 1e-6, max_iter: int = 500) -> None:
        if not 0 <= alpha < 1:
            msg = f"alpha={alpha} cannot be maintained; it must be from 0 to below 1"
            raise SettingsError(msg)
        if not 0 < tol < math.inf:
            msg = f"tol={tol} cannot be maintained; it must be above 0, and finite"
            raise SettingsError(msg)
        if max_iter < 1:
            msg = f"max_iter={max_iter} allows no iteration; it must be at least 1"
            raise SettingsError(msg)
        self.alpha, self.tol = float(alpha), float(tol)
        # As many as a checkpoint can tell, which are never made.
        self.max_iter = min(int(max_iter), _MOST_STEPS)

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters that it was made with."""
        return {"alpha": self.alpha, "tol": self.tol, "max_iter": self.max_iter}

    def answers(self, *, alpha: float, tol: float) -> bool:
        """Whether the ranks that are kept are as exact as these arguments ask for."""
        return alpha == self.alpha and tol >= self.tol

    @abstractmethod
    def state(self, reader: Reader) -> Ranks | None:
        """The ranks of the graph as it is; None: they are to be computed from nothing."""

    def _numbers(self, reals: tuple[float, float], whole: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """`NUMBERS` with two reals and whole numbers of an engine's own."""
        first = np.array([self.alpha, self.tol, *reals]).view(np.int64)
        return np.concatenate([first, np.array([*whole, self.max_iter], np.int64)])

    def _take_numbers(
        self, arrays: Mapping[str, npt.NDArray[np.generic]]
    ) -> tuple[list[float], list[int]]:
        """Take the parameters of a checkpoint; gives the numbers of an engine's own."""
        numbers = np.array(arrays[NUMBERS], np.int64)
        self.alpha, self.tol, *reals = numbers[:4].view(np.float64).tolist()
        whole: list[Any] = numbers[4:].tolist()
        self.max_iter = whole.pop()
        return reals, whole
