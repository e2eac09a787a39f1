"""Maintained PageRank by warm starts, for engines where steps are cheap, as on a GPU.

A batch makes the ranks stale. On request, or when an epoch is pinned, the steps of `pagerank` start
from the ranks before, by vertex index, with the same bound. Of undirected graphs the degrees are
kept that the ranks belong to: by what has become of them since, the start is nearer to the new
ranks (`host/analytics/centrality/pagerank_start.py`, which has the formulas).

Where a batch changes little, residuals are pushed instead (`pushing.py`). In the live graph they
are updated with one small batch after a request (`prepare`, `applied`); otherwise they are computed
from nothing at the next request, with the same bits. So a checkpoint need not have them.

Steps take as long as a batch. Where they are *left* to epochs, each epoch makes those of its graph,
beside later batches, when it is asked for its ranks (`left_ranks.py`).

What an engine offers: `WarmTwin`, beside the steps themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from ...errors import ConvergenceError
from ...rows import Array, Rows
from ..shared.adjacencies import adjacencies_of
from ..shared.rank_steps import Ranks, make_steps
from ..shared.surfer import Surfer
from .left_ranks import RankLink
from .maintained_ranks import DEGREES, MASS, NUMBERS, RANKS, MaintainedRanks
from .pagerank_residuals import ResidualTotals, exactness, rounding_of
from .prepared import Prepared
from .pushing import (
    FURTHER,
    LEAST,
    MOST_ROUNDING,
    NEAR,
    MeanField,
    PushedRanks,
    PushLimits,
    PushTrials,
    PushTwin,
    RepairTwin,
)

if TYPE_CHECKING:
    from ...batch.protocols import ListedBatch
    from ...engine import Engine, Maintained, Pinned, Reader
    from ...image.accounts import Outcome


class WarmTwin(Protocol):
    """What an engine offers to start from earlier ranks, as it keeps them."""

    def start_at(
        self, workspace: Any, out: Rows, kept: Any, alpha: float
    ) -> tuple[Array, npt.NDArray[np.float64]]:
        """float64[vertex_count], sum 1: a start from earlier ranks, by vertex index.

        ``kept``: None: there are none, and the graph is undirected. ``kept.degrees``: of the
        undirected graph that they are of; None: the start is the ranks. With it ``isolated`` and
        ``edge`` of `MeanField`, which may be read when the steps are made.
        """

    def kept_at(
        self,
        workspace: Any,
        ids: Array | None,
        ranks: npt.NDArray[np.float64],
        degrees: npt.NDArray[np.uint32] | None,
    ) -> Any:
        """Ranks and degrees of a checkpoint as they are kept here; ``ids``: `Reader.id_table`."""


class WarmPageRank(MaintainedRanks, Prepared):
    """An `engine.Maintained`: ranks, which do not change once they are made."""

    twin = "pagerank"

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        #: The ranks of the graph, or, while they are stale, those that steps start from.
        self._ranks = RankLink()
        self._is_stale = True
        #: Of what an epoch has: where it is to put its ranks.
        self._own: RankLink | None = None
        #: ``y`` and ``r`` of the ranks of the live graph, as the engine keeps them. Of stale ranks:
        #: they have followed the batch since. None: there are none.
        self._residuals: Any = None
        #: Those that follow the batch that is being applied.
        self._following: Any = None
        self._is_live = True

    @property
    def is_stale(self) -> bool:
        """Whether the graph may have changed since."""
        return self._is_stale

    @property
    def nbytes(self) -> int:
        """8 bytes a vertex record, 4 of degrees, 8 of users' ids where they are not the indices.

        And 20 of residuals, after pushes.
        """
        return self._ranks.nbytes + int(getattr(self._residuals, "nbytes", 0))

    def begin(self, reader: Reader) -> None:
        """Make steps from the ranks that there were.

        Raises
        ------
        ConvergenceError
            Too many would be needed.
        """
        residuals = self._residuals
        self.forget()
        if reader.num_vertices == 0:
            self._ranks = RankLink()
            return
        before = self._ranks.ranks()
        try:
            found = self._repaired(reader, before, residuals)
        except ConvergenceError:
            if self._own is not None:
                self._own.give_up()
            raise
        if not reader.kind.directed and found.ranks.degrees is None:
            # Of pushes; an array of its own, also of live rows: no batch writes to it.
            found.ranks.degrees = reader.rows("out").degree
        if self._own is None:
            self._ranks = RankLink(found)
        else:
            # The bound is known last: once it is, other streams may read the ranks.
            if callable(found.error_bound):
                found = found._replace(error_bound=found.error_bound())
            self._own.put(found)
            self._ranks = self._own
        self._is_stale = False

    def _repaired(self, reader: Reader, before: Ranks | None, residuals: Any) -> Ranks:
        """Ranks found by pushes, or by steps, from those before."""
        trials = PushTrials() if before is None else before.ranks.push_trials
        gave_up = False
        if before is not None and trials.is_tried and _can_push(reader, self.tol, residuals):
            found = self._pushed(reader, before, residuals)
            if found is not None:
                return self._ranks_of(reader, trials, found)
            gave_up = True
        adjacencies = adjacencies_of(reader)
        start, estimate = None, np.zeros(2)
        if before is not None or not adjacencies.directed:
            start, estimate = _twin(reader).start_at(
                reader.workspace, adjacencies.out, before and before.ranks, self.alpha
            )
        goes_further = gave_up and not trials.is_further
        made = make_steps(
            reader, adjacencies, start, Surfer(self.alpha),
            threshold=self.tol * (FURTHER if goes_further else 1), max_iter=self.max_iter,
        )  # fmt: skip
        isolated, edge = estimate.tolist()
        mean_field = MeanField(isolated, edge, adjacencies.out.num_entries, reader.num_vertices)
        made.ranks.push_trials = trials.after_steps(
            made.ranks.first_residual, mean_field, gave_up=gave_up
        )
        return made

    def _pushed(self, reader: Reader, before: Ranks, residuals: Any) -> PushedRanks | None:
        """Push; None: that would take too long."""
        twin: PushTwin = reader.algorithms.pushed_ranks
        limits = PushLimits(
            # Less the last bits of what is proven.
            tolerance=self.tol * (1 - 2.0**-30), rounding=_most_rounding(twin, reader),
            least=max(int(LEAST * self.tol * twin.WHOLE / reader.num_vertices), 1),
            most_residual=NEAR,
        )  # fmt: skip
        ids = reader.id_table()
        if residuals is not None:
            return twin.push_repaired(
                reader, ids, before.ranks, residuals, alpha=self.alpha, limits=limits
            )
        return twin.push(
            reader.workspace, adjacencies_of(reader), ids, before.ranks,
            alpha=self.alpha, limits=limits,
        )  # fmt: skip

    def _ranks_of(self, reader: Reader, trials: PushTrials, pushed: PushedRanks) -> Ranks:
        """The ranks that pushes have found, and what is proven of them."""
        twin: PushTwin = reader.algorithms.pushed_ranks
        ranks, entries = pushed.ranks, reader.arena.num_entries
        ranks.push_trials = trials.after_pushes(entries, reader.num_vertices, pushed, twin.WHOLE)
        if self._is_live and ranks.push_trials.mass:
            self._residuals = pushed.residuals
        residual, bound = exactness(entries, pushed.totals, self.alpha)

        def error_bound() -> float:
            # As after steps, the ranks are there once their bound is known.
            ranks.wait()
            return bound

        return Ranks(ranks, pushed.rounds, residual, error_bound)

    def prepare(self, engine: Engine, batch: ListedBatch) -> ListedBatch:
        """Have residuals of fresh ranks begin to follow a batch."""
        residuals, self._residuals, self._following = self._residuals, None, None
        if residuals is None or self._is_stale:
            return batch
        twin: RepairTwin = engine.algorithms.residual_repair
        batch, follows = twin.take_back(engine, batch, residuals, self.alpha)
        self._following = residuals if follows else None
        return batch

    def applied(self, engine: Engine, outcome: Outcome) -> None:
        """Have them follow it, unless vertices came or went."""
        following, self._following = self._following, None
        before = None if following is None else self._ranks.ranks()
        if before is None or outcome.vertices_created or outcome.vertices_removed:
            return
        twin: RepairTwin = engine.algorithms.residual_repair
        twin.pass_on(engine, following, before.ranks, self.alpha)
        self._residuals = following

    def settle(self, reader: Reader) -> None:
        """Make steps if the graph has changed, or if an epoch that was to make them has not."""
        if not (self._is_stale or self._ranks.is_there):
            self._ranks.ranks()
            self._is_stale = not self._ranks.is_there
        if self._is_stale:
            self.begin(reader)

    def follows(self, reader: Reader, edges: int) -> bool:
        """Never by its changed edges; residuals of small batches are `Prepared`."""
        return False

    def follow(self, reader: Reader, edges: Array, *, is_added: bool) -> None:
        """Become stale."""
        self.forget()

    def forget(self) -> None:
        """Become stale: the next question makes steps."""
        self._is_stale = True
        self._residuals = None

    def state(self, reader: Reader) -> Ranks:
        """The ranks of the graph as it is, which has a vertex."""
        self.settle(reader)
        found = self._ranks.ranks()
        assert found is not None
        return found

    def frozen(self) -> WarmPageRank:
        """Copy it for an epoch of the graph as it is."""
        self._ranks.shorten()
        frozen = copy(self)
        frozen._residuals, frozen._is_live = None, False
        return frozen

    def leave_to(self, frozen: Maintained, epoch: Pinned) -> None:
        """Have the epoch make the steps; ``frozen`` is the copy that it was given."""
        assert isinstance(frozen, WarmPageRank)
        if not self._is_stale:
            return
        if epoch.num_vertices == 0:
            # As `begin` has it: the ranks before are of a graph that has gone.
            self._ranks = frozen._ranks = RankLink()
            return
        self._residuals = None
        frozen._own = RankLink.left_to(epoch, self._ranks)
        self._ranks, self._is_stale = frozen._own, False

    def arrays(self, reader: Reader) -> dict[str, npt.NDArray[np.generic]]:
        """Ranks by vertex index, stale or not, the degrees then, and how exact they are."""
        arrays: dict[str, npt.NDArray[np.generic]] = {}
        arrays[RANKS] = ranks = np.zeros(reader.vertex_count)
        residual = bound = 0.0
        steps, before = 0, self._ranks.ranks()
        if before is not None:
            kept, steps, residual, bound_of = before
            found, degrees = kept.by_index(), kept.degrees_by_index()
            ranks[: found.size] = found
            bound = bound_of() if callable(bound_of) else bound_of
            if degrees is not None:
                arrays[DEGREES] = np.zeros(ranks.size, np.uint32)
                arrays[DEGREES][: degrees.size] = degrees
        is_stale = self._is_stale or not self._ranks.is_there
        trials = PushTrials() if before is None else before.ranks.push_trials
        numbers = self._numbers((residual, bound), (int(is_stale), 0, steps, *trials.numbers))
        return arrays | {NUMBERS: numbers}

    def restore(self, reader: Reader, arrays: Mapping[str, npt.NDArray[np.generic]]) -> bool:
        """Take the ranks of a checkpoint, or a start from the masses of another engine's."""
        if NUMBERS not in arrays or not (RANKS in arrays or MASS in arrays):
            return False
        reals, whole = self._take_numbers(arrays)
        degrees, trials = None, PushTrials()
        if RANKS in arrays:
            ranks = np.array(arrays[RANKS], np.float64)
            (residual, bound), (is_stale, _, steps, *numbers) = reals, whole
            # Those of an older graphtide have none.
            if numbers:
                trials = PushTrials.of_numbers(numbers)
        else:
            ranks = np.maximum(arrays[MASS].astype(np.float64), 0.0)
            ranks /= max(float(ranks.sum()), 1.0)
            residual, bound, is_stale, steps = 0.0, 0.0, 1, 0
        # Of directed graphs, and of an older graphtide, there are none.
        if DEGREES in arrays:
            degrees = np.array(arrays[DEGREES], np.uint32)
        if ranks.any():
            kept = _twin(reader).kept_at(reader.workspace, reader.id_table(), ranks, degrees)
            kept.push_trials = trials
            self._ranks = RankLink(Ranks(kept, steps, residual, bound))
            self._is_stale = bool(is_stale)
        return True

    def audited(self, reader: Reader) -> dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
        """Residuals as they were kept, and from nothing; other steps would find other ranks."""
        kept, before = self._residuals, self._ranks.ranks()
        if kept is None or before is None:
            return {}
        twin: PushTwin = reader.algorithms.pushed_ranks
        pair = twin.audited(
            reader.workspace, adjacencies_of(reader), before.ranks, kept, alpha=self.alpha
        )
        if not np.array_equal(*pair):
            self.forget()
        return {"residual": pair}


def _can_push(reader: Reader, tol: float, residuals: Any) -> bool:
    """Whether rounding leaves room for what batches add, and rows can be read so."""
    twin: PushTwin = reader.algorithms.pushed_ranks
    if _most_rounding(twin, reader) > MOST_ROUNDING * tol * twin.WHOLE:
        return False
    return residuals is not None or twin.can_push(adjacencies_of(reader))


def _most_rounding(twin: PushTwin, reader: Reader) -> float:
    """`rounding_of` of masses twice those that pushes begin with."""
    return rounding_of(reader.arena.num_entries, ResidualTotals(0, 0, int(2 * twin.WHOLE), 0))


def _twin(reader: Reader) -> WarmTwin:
    twin: WarmTwin = getattr(reader.algorithms, WarmPageRank.twin)
    return twin
