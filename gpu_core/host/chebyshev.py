"""How far a step of PageRank on an undirected graph goes beyond the plain one.

::

    y' = G y + beyond (G y - y_before)         beyond' = t / (1 - t),  t = r^2 (1 + beyond) / 4

``G`` is the plain step. An undirected graph's ``P = D^-1 A`` is similar to a symmetric matrix, so
the eigenvalues that tell how errors fall are real and lie within ``-alpha … alpha``; dangling
vertices, which are isolated ones, add another real one. For an interval ``-r … r`` the
*Chebyshev semi-iterative method* takes errors down by ``r / (1 + sqrt(1 - r^2))`` a step, where
plain steps take them down by ``r``: by 0.56 for 0.85. ``1 + beyond`` is the literature's omega.

``r`` is estimated on the way, because many graphs have a small second eigenvalue, so that plain
steps are quick, and too large an ``r`` costs steps. One that is too small is safe: errors that
belong to eigenvalues beyond it still fall by more than in plain steps. The *energy* of a step is
``sum of (G y - y)^2 / strength``, of the norm in which that matrix is symmetric: by plain steps it
falls ever less, and always to ``r^2`` of what it was, or lower. (The L1 residual may hardly fall
while a change spreads, and then suddenly.) With ``q^2`` what is left of the energy, and ``beyond``
how far the step went that led to it, an eigenvalue ``l`` that falls by ``q`` is

::

    l = (q^2 + beyond) / (q (1 + beyond))

``r`` is the largest of them, and as it is two steps old it is moved ahead by what it grew last.
``beyond`` grows from 0, instead of beginning at its largest as the polynomials would have it:
steps that go too far make energies rise and fall, which looks like larger eigenvalues. So once a
step goes far, ``r`` grows to what two estimates running say. (With the usual damping, 0.85, none
goes so far.)

Steps beyond the plain ones shrink errors in the norm of the energy. In L1 they may grow on the way,
the more so the more the strengths differ: without bound where strengths fill the range of float32.
A residual that says so, far above the least so far or above any that a plain step has, ends it:
from there on steps are plain, which only shrink it.

Entries of ``y`` may be negative on the way. What is returned is a plain step, ``G y``: the bound
of its distance to the solution is that of plain steps. Directed graphs have complex eigenvalues:
this is not for them.

Sources: Golub, Varga, "Chebyshev Semi-Iterative Methods, Successive Overrelaxation Iterative
Methods, and Second Order Richardson Iterative Methods", Numerische Mathematik 1961; Hageman, Young,
"Applied Iterative Methods", 1981 (estimates of the radius while iterating). The order in which it
grows is ours.
"""

import math
from typing import Final

#: Residuals up to here are of rounding: nothing is read off them, and steps are plain.
ROUNDING: Final = 1e-14
#: Residuals of plain steps are not above this: two distributions differ by no more.
MOST_RESIDUAL: Final = 2.0
#: Residuals beyond so many times the least of those before have not just swung up. (Mostly they
#: never rise, seldom by 40 times, where few eigenvalues swing together.)
_MOST_RISE: Final = 1024
#: Steps that go so far, and further: one estimate is not enough to go on.
_FAR: Final = 1 / 3
#: ``beyond`` is a multiple of one over this, so that no order of sums shows in it.
_BEYOND_ONE: Final = 1024


class Chebyshev:
    """What is known of the spectrum, and how far the next step goes.

    Parameters
    ----------
    alpha
        Damping, less than 1; 0: all steps are plain.
    """

    def __init__(self, alpha: float) -> None:
        self._limit = alpha * alpha
        #: Square of the estimate of ``r``.
        self._radius = 0.0
        #: What the last step said of it; 0: nothing.
        self._found = 0.0
        #: Residuals above are no good; 0: there was one.
        self._most_residual = MOST_RESIDUAL
        #: Of the step before the last one.
        self._energy = self._older_beyond = 0.0
        #: How far the last step went; for the first one 0.
        self.beyond = 0.0

    def look_ahead(self, residual: float, energy: float) -> float:
        """Find out how far the next step goes.

        Parameters
        ----------
        residual, energy
            Of the last step. Energy 0: it is not known.

        Returns
        -------
        beyond
            For the next step; 0: it is a plain one.
        """
        found = 0.0
        if energy > 0 and self._energy > 0:
            fall, own = energy / self._energy, self._older_beyond
            if own < fall < 1:
                found = min((fall + own) ** 2 / (fall * (1 + own) * (1 + own)), self._limit)
        sure = found if self.beyond < _FAR else min(found, self._found)
        grown = max(sure - self._radius, 0.0)
        self._radius += grown
        self._found, self._energy, self._older_beyond = found, energy, self.beyond
        is_good = residual <= self._most_residual
        if not is_good:
            self._most_residual = 0.0
        elif residual > 0:
            self._most_residual = min(self._most_residual, _MOST_RISE * residual)
        if is_good and residual > ROUNDING:
            t = min(self._radius + grown, self._limit) * (1 + self.beyond) / 4
            self.beyond = math.floor(t / (1 - t) * _BEYOND_ONE + 0.5) / _BEYOND_ONE
        else:
            self.beyond = 0.0
        return self.beyond
