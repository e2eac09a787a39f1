"""Watts' alpha model by its numbers: sizes, propensities, and the random words that it takes.

What the model is says `watts_alpha.py`, which grows a graph of it; so does
`cuda/generators/watts_alpha.py`, on a GPU.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import SettingsError
from .counter_random import random_words, stream_start
from .uniform import MAX_VERTICES

_STREAM = 0x616C7068  # "alph"
_CHOICE, _ORDER = _STREAM, _STREAM + 1


class AlphaModel(NamedTuple):
    """All that the graph depends on."""

    num_vertices: int
    num_edges: int
    #: float64[classes]: by common neighbors; the last one is of more, too.
    propensity: npt.NDArray[np.float64]
    seed: int

    @property
    def choices(self) -> np.uint64:
        """Start of the stream of words that choices are drawn from."""
        return stream_start(self.seed, _CHOICE)

    def order(self, number: int) -> npt.NDArray[np.int64]:
        """int64[num_vertices]: vertices in the order in which they choose in a round."""
        count = self.num_vertices
        choices = np.uint64(number * count) + np.arange(count, dtype=np.uint64)
        return np.argsort(random_words(self.seed, _ORDER, choices), kind="stable")


def alpha_model(
    num_vertices: int, degree: float, alpha: float, p: float | None = None, seed: int = 0
) -> AlphaModel:
    """Make the model of arguments of `watts_alpha_edges`.

    Raises
    ------
    SettingsError
        An argument is out of its range.
    """
    if not 1 <= num_vertices <= MAX_VERTICES:
        msg = f"num_vertices={num_vertices} cannot be drawn; it must be from 1 to {MAX_VERTICES}"
        raise SettingsError(msg)
    if not 0 < degree <= max(num_vertices - 1, 1):
        msg = f"degree={degree} is not above 0 and at most {num_vertices - 1}, of all vertices"
        raise SettingsError(msg)
    if not 0 <= alpha < math.inf:
        msg = f"alpha={alpha} is not a number from 0 on"
        raise SettingsError(msg)
    if p is None:
        p = 1 / max(num_vertices * (num_vertices - 1), 1)
    if not 0 < p <= 1:
        msg = f"p={p} is not above 0 and at most 1"
        raise SettingsError(msg)
    num_edges = min(int(num_vertices * degree / 2), num_vertices * (num_vertices - 1) // 2)
    return AlphaModel(num_vertices, num_edges, propensities(degree, alpha, p), seed)


def propensities(degree: float, alpha: float, p: float) -> npt.NDArray[np.float64]:
    """float64[ceil(degree) + 1]: propensity by common neighbors; the last one is of more, too."""
    common = np.arange(math.ceil(degree) + 1)
    # Of more common neighbors than the degree it is set below.
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        found = (common / degree) ** alpha * (1 - p) + p
    found[0] = p
    found[common >= degree] = 1.0
    return found
