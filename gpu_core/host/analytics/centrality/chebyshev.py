"""Chebyshev steps of PageRank on undirected graphs: how far each goes beyond a plain one.

::

    x' = G x + b (G x - x_before)       a plain step: b = 0

This is the Chebyshev semi-iterative method. ``P = D^-1 A`` of an undirected graph is similar to a
symmetric matrix, so what a plain step multiplies errors by are real numbers, of which the largest
is the *radius*, at most ``alpha``. With ``1 + b' = 1 / (1 - radius^2 (1 + b) / 4)`` from step to
step, half as many of them do, or fewer. A radius that is too small costs little: errors beyond it
fall at least about as fast as by plain steps. One that is too large costs steps, so:

- It begins as that of a random graph of as many vertices and edges, which hardly any has less of:
  ``alpha 2 sqrt(d - 1) / d sqrt(1 - d / (n - 1))``, d the mean degree.
- An error of one factor ``f`` alone has residuals ``r' = (1 + b) f r - b r_before``, so three of
  them give ``f``, whatever steps were made. The radius is the least of the last three such
  estimates: while a change still spreads over the graph, its L1 residual falls slowly, on
  any graph, but not for long.

A step is planned while the one before it is made, that is, from the residuals of those before that:
a device need not wait for the host to compute it.

A step that is foreseen to be the last one is plain whatever was planned, and no other one ends the
iteration: what a plain step makes is at most ``alpha r / (1 - alpha)`` from the solution, r its
residual, and of other steps r says nothing like it.

Where strengths of vertices are so unlike that rounding keeps residuals up, above those that any
plain steps have, steps are plain from there on: rounding does not grow with those.

Not here: a step (`pagerank.py`); the device's twin (``chebyshev.cuh``).

Sources: Golub, Varga, "Chebyshev semi-iterative methods, successive overrelaxation iterative
methods, and second order Richardson iterative methods", 1961; Hageman, Young, "Applied Iterative
Methods", 1981 (estimates from residuals); Chung, Lu, Vu, "Spectra of random graphs with given
expected degrees", PNAS 2003 (the radius to begin with).
"""

import math

from ....algorithms.shared.twin_constants import MOST_RESIDUAL


class Chebyshev:
    """Residuals and radius as far as known, and the steps that follow from them.

    Parameters
    ----------
    most_radius
        Bound of the radius, less than 1; 0: all steps are plain ones.
    linked
        Vertices that have edges.
    entries
        Entries of their rows together.
    """

    def __init__(self, most_radius: float, linked: int, entries: int) -> None:
        self._most_radius = most_radius
        self._least_radius = most_radius * random_radius(linked, entries)
        #: Residuals of the last three steps, the newest first; 0: there was no such step.
        self._residuals = 0.0, 0.0, 0.0
        #: Of the last step; 0: steps are plain from here on.
        self._most_residual = MOST_RESIDUAL
        #: How far the last three steps went, the newest first.
        self._beyond = 0.0, 0.0, 0.0
        #: Of the radius, by the last steps, the newest first; 0: not known yet.
        self._estimates = 0.0, 0.0, 0.0
        self._planned = 0.0

    @property
    def is_plain(self) -> bool:
        """Whether the last step was plain, so that its residual may end the iteration."""
        return self._beyond[0] == 0.0

    def next_step(self, threshold: float, *, is_last: bool) -> float:
        """How far the next step goes; ``is_last``: no other one is allowed."""
        last, before = self._residuals[:2]
        # The residual is foreseen to fall as it did.
        beyond = 0.0 if is_last or last * last <= threshold * before else self._planned
        if self._most_radius > 0.0:
            self._planned = self._plan(beyond)
        self._beyond = beyond, *self._beyond[:2]
        return beyond

    def record(self, residual: float) -> None:
        """Record the residual of the step that was made."""
        self._residuals = residual, *self._residuals[:2]

    def _plan(self, beyond: float) -> float:
        """Extrapolation of the step after the next one; the next one's is ``beyond``."""
        last, before, oldest = self._residuals
        if last == 0.0:
            # The step after the first: the method begins.
            return _momentum(self._least_radius, 1.0)
        if before > 0.0:
            gone = self._beyond[1]
            estimate = (last + gone * oldest) / ((1.0 + gone) * before)
            self._estimates = estimate, *self._estimates[:2]
        if last > self._most_residual:
            self._most_residual = 0.0
            return 0.0
        self._most_residual *= self._most_radius
        radius = max(self._least_radius, min(*self._estimates, self._most_radius))
        return _momentum(radius, beyond)


def random_radius(linked: int, entries: int) -> float:
    """Radius without damping, of a random graph of ``linked`` linked vertices and entries."""
    if linked < 2:
        # Nothing is passed on.
        return 0.0
    if entries <= 2 * linked:
        # About a tree, or several ones: bipartite.
        return 1.0
    degree = entries / linked
    # Of a complete graph nothing is left.
    missing = max(1.0 - degree / (linked - 1), 0.0)
    return 2.0 * math.sqrt((degree - 1.0) * missing) / degree


def _momentum(radius: float, beyond: float) -> float:
    return 1.0 / (1.0 - radius * radius * (1.0 + beyond) / 4.0) - 1.0
