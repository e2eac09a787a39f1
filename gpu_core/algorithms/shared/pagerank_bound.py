"""How far computed ranks are from the exact ones: a proven bound, rounding included.

Let ``X = G x`` be what an exact plain step makes of the vector ``x`` before the last step, ``x'``
what the step made of it in float64, ``d = |x' - X|_1`` its rounding, ``r = |x' - x|_1`` the
residual, and ``x*`` the solution. ``G`` brings any two vectors nearer by ``alpha``, so ::

    |x' - x*| <= |X - x*| + d <= alpha |x - x*| + d <= alpha (r + |x' - x*|) + d
    |x' - x*| <= (alpha r + d) / (1 - alpha)

It does not matter by which steps ``x`` was found, and that negative entries of ``x'`` become 0
brings them nearer to ``x*``, which has none.

Rounding of a step
------------------
With ``u = 2^-53``, a sum of k numbers, in any order, is off by at most ``(k - 1) u`` times the sum
of their absolutes, up to terms of higher order. Summed over all vertices:

- a rank gathers as many shares as its row has entries: ``S u``, where ``S`` is the sum over all
  vertices of entries times rank; with weights the out-edges count too, as their sum was rounded;
- the rank on dangling vertices is a sum over blocks: ``summed u``;
- all that is done once or twice a vertex, and ``p`` and ``w`` themselves, which are quotients by
  a sum taken pairwise: at most ``ONCE u``;
- sums in fixed point are off by ``fixed``.

Ranks of the last step but one, which some of these are to be multiplied by, are not kept: they are
those of the last one but for at most ``E = |x - x*| <= (r + d) / (1 - alpha)`` in all, negative
entries included, times at most ``SPREAD`` entries a row. Numbers too small for float64 to be
relative to are off by 2^-1075 each, times weights; where weights sum to more than `EXTREME` that
could be seen, and the bound is infinite.

Source: the a-posteriori bound of a contraction (Banach, 1922); Higham, "Accuracy and Stability of
Numerical Algorithms", 2nd ed., 2002, chapters 3 and 4.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

#: Weights of a vertex that sum to this or more make the bound infinite.
EXTREME: Final = 2.0**960

#: Half a unit in the last place, and a little more for terms of higher order.
_UNIT: Final = 2.0**-53 * (1 + 2.0**-10)
#: Roundings that happen to a rank once; sums of distributions are taken pairwise, 64 at most.
_ONCE: Final = 160
#: Times that a row's entries count for what is not known of the vector before the last step.
_SPREAD: Final = 8


class Rounding(NamedTuple):
    """Bounds of the roundings of a step, reported by an engine."""

    #: Sum over all vertices of entries times rank.
    additions: float
    #: Numbers that are added up one by one, at most, for the sums over all vertices.
    summed: int
    #: What such a sum is off where it is taken in fixed point.
    fixed: float
    #: Whether weights of a vertex sum to `EXTREME` or more.
    is_extreme: bool


def error_bound(alpha: float, residual: float, rounding: Rounding, rows: int) -> float:
    """Bound of the L1 distance from the exact ranks.

    Parameters
    ----------
    alpha
        Damping.
    residual
        L1 norm of what the last step, a plain one, changed.
    rounding
        Of that step.
    rows
        Rows, which is as many entries as one of them can have.

    Returns
    -------
    bound : float
        Infinite without damping, as there may be more than one solution then.
    """
    left = 1.0 - alpha
    if rounding.is_extreme or not left > 0:
        return math.inf
    once = rounding.summed + _ONCE
    changed = residual * (1 + _UNIT * (once + rows)) + rounding.fixed
    # d <= own + spread (r + d)
    own = _UNIT * (rounding.additions + once) + rounding.fixed
    spread = _UNIT * (once + _SPREAD * rows) / left
    if not spread < 1:
        return math.inf
    step = (own + spread * changed) / (1 - spread)
    return (alpha * changed + step) / left * (1 + 2.0**-40)
