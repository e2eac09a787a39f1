"""PageRank maintained with every batch: ranks that are repaired where the graph has changed.

Whole numbers
-------------
For jumps and dangling rank that go to all vertices alike, the ranks are ``x = y / |y|_1`` with ::

    y = b + alpha P^T y        b the same for all present vertices, dangling ones pass nothing on

so no change concerns all vertices. ``y`` and its *residual* ``r`` are int64 here, and ::

    r(v) = b + sum of c(u) over edges u -> v - y(v)        c(u) = alpha y(u) / d(u), rounded

is exact at all times: whenever ``y`` or the out-degree of a vertex changes, the difference of its
``c`` is added to its out-neighbors. The order does not matter, nothing drifts, and `audit` finds
the same ``r`` from nothing, to the bit.

A batch
-------
A batch changes ``r`` at the out-neighbors of the sources of its changed edges alone. After a large
one ``r`` is *stale*: pushes would not pay. On request, or when an epoch is pinned, ranks are
brought within the tolerance again, by the cheaper method:

pushes
    ``y(v) += r(v)``, ``r(v) = 0``, and the difference of ``c(v)`` to its out-neighbors: the largest
    residuals first, in rounds whose threshold falls, over the graph's own rows.
full steps
    those of `pagerank`, from the ranks as they are; then ``r`` from nothing.

Where residuals are still far from all over the graph pushes cost less. How far they will go is not
known before; so it is chosen by what was measured: pushes that cost as much as full steps are
broken off, and where a batch begins with half as many active entries as that one did, or more, full
steps are made at once. Each batch may add a sixteenth of the tolerance to what is left of those
before, which lies all over the graph; once that is used up, full steps are made that go further.

Bound
-----
With ``A`` the sum of ``|r|``, ``S`` of ``r``, ``N`` of ``-y`` where it is negative (ranks become 0
there), ``Y`` of the others, and ``e`` what rounding the ``c`` can come to, half a unit an edge:
what a plain step changes of ``x`` is ``r`` less its mean, over ``Y``, so ::

    residual <= (A + |S| + 2 e + 4 N) / Y        error_bound = residual / (1 - alpha)

but for the last bits of ``x``. It is the residual that is kept within ``tol``, as in `pagerank`.

What an engine offers: `pagerank_residuals.ResidualsTwin`, the host alone. On a GPU steps are cheap,
and residuals follow small batches alone (`warm_pagerank.py`).

Sources: Zhang, Lofgren, Goel, "Approximate Personalized PageRank on Dynamic Graphs", KDD 2016 (the
repair of residuals); Gleich, "PageRank beyond the Web", 2015 (pseudo-PageRank); Andersen, Chung,
Lang, "Local Graph Partitioning using PageRank Vectors", FOCS 2006 (pushes).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ...errors import SettingsError
from ...printable import counted
from ...rows import Array, Rows
from ..shared.adjacencies import adjacencies_of
from ..shared.rank_steps import Ranks, make_steps
from ..shared.surfer import Surfer
from .maintained_ranks import DEGREES, MASS, NUMBERS, PRESENT, RANKS, MaintainedRanks
from .pagerank_residuals import ResidualsTwin, ResidualTotals, exactness, rounding_of
from .pushing import MOST_SHARE

if TYPE_CHECKING:
    from ...engine import Reader

_log = logging.getLogger(__name__)

#: Sum of ``y`` that is begun with, at most: twice as many vertices and what a repair can be ahead
#: of the solution fit into 63 bits.
_WHOLE: Final = 2.0**60
#: Residuals of more than this share of ``(1 - alpha) Y`` are not pushed, which might overflow.
_MOST_PUSHED: Final = 0.125
#: Part of the tolerance that a batch may leave behind.
_LEAVE: Final = 1 / 16
#: Ends of edges of a batch that is followed in a small graph, too.
_FEW_ENDS: Final = 128
#: How far full steps go, as a part of the tolerance: after batches that are too large to be pushed
#: (the rest is for rounding, a fourth of the finest tolerance), and, that there is something to be
#: left, after small ones that have used it up.
_ENOUGH: Final = 3 / 4
_FURTHER: Final = 1 / 8
#: Least tolerance: the steps themselves are in float64.
_FINEST: Final = 1e-13
#: Batches after which residuals are computed from nothing, and compared.
_RECOMPUTE_EVERY: Final = 1000


class MaintainedPageRank(MaintainedRanks):
    """An `engine.Maintained`: ``y`` and ``r`` by vertex index."""

    twin = "maintained_pagerank"
    #: ``push`` or ``full``: what is always done, for tests and measurements.
    always: str | None = None

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        #: int64[vertex_count]. Stale ranks keep ``y``, to start from.
        self._mass: Array | None = None
        self._residuals: Array | None = None
        #: uint32[vertex_count]: degrees of the undirected graph whose ranks ``y`` is; None: not
        #: known.
        self._degrees: Array | None = None
        #: bool[vertex_count]: vertices that ``b`` was given to.
        self._present: Array | None = None
        #: Whether others hold these arrays too, so that they must not be written.
        self._is_shared = False
        #: ``b``, and the vertices that it was chosen for.
        self._base = self._vertices = 0
        #: What is known of residuals since the graph changed last.
        self._settled: ResidualTotals | None = None
        self._iterations = self._repairs = 0
        #: How often full steps were made.
        self.begun = 0
        #: Sum of residuals that earlier batches have left.
        self._left = 0.0
        #: Steps of the last full ones; active entries with which pushes cost more than those.
        self._full_steps, self._too_much = 30, math.inf

    @property
    def is_stale(self) -> bool:
        """Whether residuals are to be computed from nothing."""
        return self._residuals is None

    @property
    def nbytes(self) -> int:
        """17 bytes a vertex record, 21 of undirected graphs."""
        kept = (self._mass, self._residuals, self._present, self._degrees)
        return sum(int(each.nbytes) for each in kept if each is not None)

    # -- following batches -------------------------------------------------------------------

    def follows(self, reader: Reader, edges: int) -> bool:
        """Whether the batch is small: pushes do not pay after others."""
        ends = edges if reader.kind.directed else 2 * edges
        most = max(_FEW_ENDS, int(MOST_SHARE * reader.arena.num_entries))
        return ends <= most or self.always is not None

    def follow(self, reader: Reader, edges: Array, *, is_added: bool) -> None:
        """Change the residuals by what the edges pass on."""
        residuals, self._residuals = self._residuals, None
        if residuals is None or self._mass is None:
            return
        twin, workspace, rows = _twin(reader), reader.workspace, reader.rows("out")
        entries = twin.entries_of(workspace, rows, edges, directed=reader.kind.directed)
        # From nothing each entry of the graph is read once.
        if entries.work * twin.ENTRIES_A_PUSH > rows.num_entries and self.always != "push":
            return
        self._own(twin, workspace, rows.count, residuals)
        assert self._residuals is not None
        residuals, self._residuals = self._residuals, None
        twin.follow_entries(
            workspace, rows, entries, self._mass, residuals, self.alpha, 1 if is_added else -1
        )
        self._residuals, self._settled = residuals, None

    def _own(self, twin: ResidualsTwin, workspace: object, count: int, residuals: Array) -> None:
        """Have arrays of ``count`` items that are not shared."""
        assert self._mass is not None
        assert self._present is not None
        kept = self._mass, residuals, self._present
        if self._is_shared or kept[0].size != count:
            kept = tuple(twin.resized(workspace, each, count) for each in kept)
        self._mass, self._residuals, self._present = kept
        self._is_shared = False

    def forget(self) -> None:
        """Have residuals computed from nothing on request."""
        self._residuals = None

    # -- coming within the tolerance ---------------------------------------------------------

    def begin(self, reader: Reader) -> None:
        """Compute ranks, from those that there were, and their residuals.

        Raises
        ------
        ConvergenceError
            Too many steps would be needed.
        SettingsError
            The tolerance is finer than whole numbers allow for such a graph.
        """
        self._begin(reader, self.tol * _FURTHER)

    def _begin(self, reader: Reader, tol: float) -> None:
        self._residuals = None
        self.begun += 1
        adjacencies, workspace, twin = adjacencies_of(reader), reader.workspace, _twin(reader)
        rows, alpha = adjacencies.out, self.alpha
        if (finest := self._finest(rows)) > self.tol:
            size = f"{counted(rows.num_vertices, 'vertex')} and {rows.num_entries:,} entries"
            of_graph = f" of {size}" if finest > _FINEST else ""
            # What is printed must not be rounded to less.
            msg = (
                f"tol={self.tol:.3g} is finer than maintained ranks{of_graph} can be; use "
                f"tol={1.1 * finest:.2g} or more"
            )
            raise SettingsError(msg)
        if rows.num_vertices == 0:
            self._mass, self._residuals, self._present = twin.nothing(workspace, rows.count)
            self._degrees = None
            self._base = self._vertices = self._iterations = 0
            self._settled, self._is_shared, self._left = ResidualTotals(0, 0, 0, 0), False, 0.0
            return
        start = None
        if self._mass is not None:
            start = twin.start_of(workspace, rows, self._mass, self._degrees, alpha)
        kept, self._iterations, _, _ = make_steps(
            reader, adjacencies, start, Surfer(alpha), threshold=tol, max_iter=self.max_iter
        )
        self._full_steps = self._iterations
        passed_on = 1 - alpha + alpha * twin.dangling_of(workspace, rows, kept)
        whole = float(math.floor(_WHOLE * (1 - alpha) / passed_on))
        self._mass = twin.masses_of(workspace, rows, kept, whole)
        self._present = rows.present.copy()
        self._degrees = None if adjacencies.directed else rows.degree
        self._is_shared, self._vertices = False, rows.num_vertices
        self._take(reader, None)

    def _finest(self, rows: Rows) -> float:
        """Least tolerance that whole numbers allow for a graph."""
        # Each `c` is rounded, and each `y`: half of what may be left.
        rounded = rows.num_entries + rows.num_vertices
        return max(_FINEST, 4 * rounded / (_WHOLE * (1 - self.alpha)))

    def _take(self, reader: Reader, base: int | None) -> None:
        """Compute residuals from nothing; ``base``: ``b``, None: so that they sum to 0."""
        adjacencies, workspace, twin = adjacencies_of(reader), reader.workspace, _twin(reader)
        residuals = twin.residuals_of(workspace, adjacencies, self._mass, self.alpha)
        if base is None:
            signed = twin.totals_of(workspace, self._mass, residuals).signed
            base = -(signed // max(adjacencies.out.num_vertices, 1))
        twin.add_base(workspace, self._present, residuals, base)
        self._base, self._residuals = base, residuals
        self._settled = twin.totals_of(workspace, self._mass, residuals)
        self._left = self._distance(self._settled)

    def settle(self, reader: Reader) -> None:
        """Bring the ranks within the tolerance, after any number of batches.

        Those of a graph that has grown too large for it become stale.
        """
        if self._finest(reader.rows("out")) > self.tol:
            self.forget()
            return
        try:
            self._settle(reader)
        except BaseException:
            # Broken off on the way: residuals may be those of other masses.
            self.forget()
            raise

    def _settle(self, reader: Reader) -> None:
        twin, workspace = _twin(reader), reader.workspace
        rows = reader.rows("out")
        if self._residuals is None or rows.num_vertices > 2 * self._vertices:
            self._begin(reader, self.tol * (_FURTHER if self._mass is None else _ENOUGH))
            return
        if self._is_settled(reader):
            return
        self._take_vertices(reader)
        totals = twin.totals_of(workspace, self._mass, self._residuals)
        self._iterations = 0
        self._repairs += 1
        self._repair(reader, totals)
        if self._repairs % _RECOMPUTE_EVERY == 0:
            differing = sum(np.count_nonzero(a != b) for a, b in self.audited(reader).values())
            report = _log.warning if differing else _log.info
            report("residuals of maintained ranks: %d of %d differ", differing, rows.count)

    def _take_vertices(self, reader: Reader) -> None:
        """Give ``b`` to vertices that have come, and nothing to those that have gone."""
        twin, workspace, rows = _twin(reader), reader.workspace, reader.rows("out")
        self._own(twin, workspace, rows.count, self._residuals)
        twin.take_vertices(workspace, rows, self._mass, self._residuals, self._present, self._base)
        self._settled = None

    def _is_settled(self, reader: Reader) -> bool:
        """Whether nothing has changed since ranks were within the tolerance."""
        if self._settled is None or self._present is None:
            return False
        return np.array_equal(self._present, reader.rows("out").present)

    def _repair(self, reader: Reader, totals: ResidualTotals) -> None:
        """Push, or make full steps, if residuals are above what may be left."""
        rows = reader.rows("out")
        most = self.tol * totals.mass - rounding_of(rows.num_entries, totals)
        allowed = min(most, self._left + _LEAVE * most)
        if self._distance(totals) > allowed or self.always == "full":
            is_used_up = self._left > (1 - _LEAVE) * most
            if self._may_push(totals) and not (is_used_up and self.always is None):
                totals = self._push(reader, totals, allowed, most / max(rows.num_vertices, 1))
            if self._distance(totals) > allowed or self.always == "full":
                self._begin(reader, self.tol * (_FURTHER if is_used_up else _ENOUGH))
                return
        self._settled, self._left = totals, self._distance(totals)

    def _may_push(self, totals: ResidualTotals) -> bool:
        most = _MOST_PUSHED * (1 - self.alpha) * totals.mass
        return totals.absolute <= most and self.always != "full"

    def _push(
        self, reader: Reader, totals: ResidualTotals, allowed: float, least: float
    ) -> ResidualTotals:
        """Push residuals; they may be above ``allowed`` afterwards. Returns their sums."""
        twin, workspace, rows = _twin(reader), reader.workspace, reader.rows("out")
        pushes = twin.Pushes(
            workspace, rows, self._mass, self._residuals, self.alpha, max(int(least), 1)
        )
        if 2 * pushes.active > self._too_much and self.always is None:
            # Forgotten slowly: the graph changes.
            self._too_much *= 1.1
            return totals
        budget = (self._full_steps + twin.STEPS_TO_BEGIN) * rows.num_entries
        budget = budget // twin.ENTRIES_A_PUSH if self.always is None else 1 << 60
        pushed = pushes.run(totals, int(allowed), budget)
        self._iterations = pushed.rounds
        # Broken off on the way, `y` is of no graph.
        self._degrees = None if reader.kind.directed or not pushed.is_enough else rows.degree
        if not pushed.is_enough:
            self._too_much = pushes.active
        return twin.totals_of(workspace, self._mass, self._residuals)

    @staticmethod
    def _distance(totals: ResidualTotals) -> float:
        return float(totals.absolute + abs(totals.signed))

    # -- what is asked for -------------------------------------------------------------------

    def state(self, reader: Reader) -> Ranks | None:
        """The ranks of the graph as it is; None: it has grown too large for the tolerance."""
        self.settle(reader)
        if self.is_stale:
            return None
        rows, twin = reader.rows("out"), _twin(reader)
        totals = self._settled
        assert totals is not None
        if totals.mass == 0:
            return Ranks(twin.ranks_of(reader.workspace, rows, self._mass, 1), 0, 0.0, 0.0)
        residual, bound = exactness(rows.num_entries, totals, self.alpha)
        ranks = twin.ranks_of(reader.workspace, rows, self._mass, totals.mass)
        return Ranks(ranks, self._iterations, residual, bound)

    def frozen(self) -> MaintainedPageRank:
        """Copy it for an epoch of the graph as it is."""
        self._is_shared = True
        return copy(self)

    def arrays(self, reader: Reader) -> dict[str, npt.NDArray[np.generic]]:
        """``y`` by vertex index as it stands, and what the next ranks depend on beside it.

        Also of stale ranks, which start from ``y``. Nothing is brought up to date for it: what is
        restored finds the bits that this one would have found.
        """
        if self._mass is None or self._present is None:
            return {}
        twin, workspace, count = _twin(reader), reader.workspace, reader.rows("out").count
        is_settled = not self.is_stale and self._is_settled(reader)
        standing = (self._base, self._vertices, self._full_steps, self._iterations)
        flags = (int(self.is_stale), int(is_settled))
        arrays = {
            MASS: twin.resized(workspace, self._mass, count),
            PRESENT: twin.resized(workspace, self._present, count),
            NUMBERS: self._numbers((self._left, self._too_much), (*standing, *flags)),
        }
        if self._degrees is not None:
            arrays[DEGREES] = twin.resized(workspace, self._degrees, count)
        return arrays

    def restore(self, reader: Reader, arrays: Mapping[str, npt.NDArray[np.generic]]) -> bool:
        """Take ``y`` of a checkpoint, or a start from ranks; returns whether it has either."""
        if NUMBERS not in arrays or not (RANKS in arrays or MASS in arrays):
            return False
        reals, whole = self._take_numbers(arrays)
        present = reader.rows("out").present
        self._present = np.array(arrays.get(PRESENT, present), np.bool_)
        # Of directed graphs, of an older graphtide, and after pushes that were broken off, none.
        if DEGREES in arrays:
            self._degrees = np.array(arrays[DEGREES], np.uint32)
        if RANKS in arrays:
            # Of an engine that keeps no residuals.
            self._mass = np.rint(arrays[RANKS].astype(np.float64) * _WHOLE).astype(np.int64)
            return True
        left, self._too_much = reals
        # Of an older graphtide: neither stale nor settled, all vertices there.
        base, self._vertices, self._full_steps, *others = whole
        self._iterations, is_stale, is_settled = others or (0, False, False)
        self._mass = np.array(arrays[MASS], np.int64)
        self._is_shared = False
        if not is_stale:
            self._take(reader, base)
            self._left = left
            if not is_settled:
                self._settled = None
        return True

    def audited(self, reader: Reader) -> dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
        """Residuals as they were kept, and from nothing, which are kept from then on."""
        if self._residuals is None:
            return {}
        is_settled = self._is_settled(reader)
        self._take_vertices(reader)
        kept = self._residuals.copy()
        left = self._left
        self._take(reader, self._base)
        self._left = left
        if not is_settled:
            self._settled = None
        return {"residual": (kept, self._residuals.copy())}


def _twin(reader: Reader) -> ResidualsTwin:
    twin: ResidualsTwin = getattr(reader.algorithms, MaintainedPageRank.twin)
    return twin
