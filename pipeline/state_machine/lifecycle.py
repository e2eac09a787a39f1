"""State machine of a run: the decisions of the pipeline, without Dask, files or clocks.

Events go in (``events.py``), instructions come out (``instructions.py``), and `Lifecycle.handle` is
the one place where anything changes. Its caller (`run_loop.py`) performs the instructions and
reports what became of them::

    event                             instruction
    RunStarted      ClockTicked       StartGraph        restore the graph, as a new generation
    GraphStarted    GraphLost         Load              read and convert a batch on a CPU worker
    BatchLoaded                       Apply             hand a batch to the graph
    BatchesApplied  BatchFailed       Pin               keep the graph of a boundary for its results
    GraphPinned     GraphFailed       Capture           copy a pinned graph
    Analyzed        Captured          WriteResults, WriteCheckpoint
    Written         WriteFailed       Discard           forget what a lost generation was asked for
                                      Finish            the run is over, with or without an error

Batches are counted by *boundaries*: boundary ``b`` lies after the batches ``0 … b - 1``. A graph at
boundary b is the graph of a log that ends there.

Order is kept by the actor, which applies batches by number, not here. Here it is decided how far it
may go: applies are held back at the next boundary where something is due between batches (a result,
a checkpoint, a batch that cannot be applied, the end), while loads go on to the window's end.

At such a boundary the graph is *pinned*: an epoch (`gpu_core.epoch`) keeps it as it is, and batches
go on. A question and its answer take longer than a batch, so none is waited for: a pin is asked for
together with the last batch before it, and the batches behind it, which name it, at once. The graph
worker makes it when the graph stands there, before it goes on. Epochs are read one after the other,
in the order of their boundaries: results are computed from each, as the pin says, then it is copied
for the checkpoint, whichever of them are due, and then it is released. There are at most
``epochs`` of them, made or about to be. While there are so many, batches wait at the next boundary
where something is due. They also wait while the graph itself is pinned, which it is at the end of
the log, or if there is no room for any epoch; after that they are not asked for beyond the next
pin before that is answered. Where there is room for fewer epochs than are allowed, the graph worker
waits until one is released, and that is how many there are from then on.

Writes happen in the order in which they were asked for, which is that of the boundaries. So a
checkpoint on disk says that the results due before it are on disk too, and a run that goes on from
it owes nothing for the past. Columns of results and copies of the graph are arrays in memory until
they are written. So nothing is copied while `MOST_WRITES` of them wait for the disk, and no other
graph is pinned while those that wait, and the pinned ones, are ``epochs`` more. Results of which
only the values in the summary are kept may be any number.

Two numbers bound the loads: the *window* those that are not applied, which is memory, and
``max_loads`` those that are not done. More of them would wait at workers that happen to be slow,
and all batches after them for their turn, while other workers have nothing to do.

A run that *follows* its log does not end there: when all that is planned is applied and kept, it
waits for more, with the graph in memory, until it is asked to stop. Being up to date is the end of
the log for it, again and again: there are results then, unless they are due by number, and a
checkpoint.

A *generation* is one life of the graph. When its worker dies, everything that it was asked for is
discarded, and the next generation starts from the newest checkpoint once the writes in progress
have ended. Events of an older generation are ignored.

Invariants
----------
* ``checkpointed <= applied <= apply_next <= load_next <= applied + window``, and, unless a batch
  has failed, ``apply_next <= barrier``
* no more than ``max_loads`` loads are being performed
* a Pin is asked for after all batches before its boundary, and before any behind it
* at most one Capture is being performed, of the oldest pin
* no more than ``epochs`` graphs are pinned, and ``epochs + MOST_WRITES`` writes of arrays wait
* after Finish nothing is asked for

Not here: how a load, an apply or a write is done (``tasks.py``, ``actor.py``, ``writer.py``), or
where a graph is restored from (``recovery.py``).

Source: the worker state machine of dask.distributed, which separates decisions from I/O likewise.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...gpu_core.errors import ClusterError
from .events import (
    Analyzed,
    BatchesApplied,
    BatchesPlanned,
    BatchFailed,
    BatchLoaded,
    Captured,
    ClockTicked,
    Event,
    GraphFailed,
    GraphLost,
    GraphPinned,
    GraphStarted,
    LogFailed,
    RunStarted,
    StopRequested,
    WriteFailed,
    Written,
)
from .instructions import (
    Apply,
    Discard,
    Finish,
    Instruction,
    Load,
    Pin,
    StartGraph,
    WriteCheckpoint,
    WriteResults,
)
from .pin_queue import PinQueue

#: ``idle``: not started. ``down``: there is no graph; one is started when no write is in progress.
#: ``starting``: waits for GraphStarted. ``applying``: batches flow. ``holding``: the graph itself
#: is pinned, or about to be, and no more batches are asked for. ``ending``: all is done but the
#: last writes. ``finished``.
State = Literal["idle", "down", "starting", "applying", "holding", "ending", "finished"]

#: Writes of arrays that may wait for the disk, beyond which nothing is copied.
MOST_WRITES = 4


@dataclass(frozen=True)
class RunRules:
    """Limits of a run's concurrency, and when results and checkpoints are due."""

    #: Batches that may be asked for beyond those applied, ``>= 1``.
    window: int
    #: Batches that may be loaded at once, ``>= 1``; None: as many as the window has.
    max_loads: int | None = None
    #: Name of each result -> batches between two of it; None: at the end only.
    analytics: Mapping[str, int | None] = field(default_factory=dict)
    #: Graphs that may be pinned at once, ``>= 1``.
    epochs: int = 1
    #: Longest time or number of batches between two checkpoints; None: no bound. There is always
    #: one at the end.
    checkpoint_seconds: float | None = None
    checkpoint_batches: int | None = None
    #: Generations that may be lost in a row without a new checkpoint between them.
    graph_restarts: int = 3
    #: Whether a new generation computes results again that a lost one has computed beyond the
    #: newest checkpoint. What is maintained has the bits that it would have had only if it is
    #: asked for after the same batches.
    repeats_results: bool = False


class Lifecycle:
    """Decides what is read, applied, analyzed and checkpointed next.

    Parameters
    ----------
    rules
        What holds for the whole run.
    batches
        Batches planned, ``>= 0``; they are numbered from 0.
    checkpointed
        Boundary of the newest checkpoint, 0 where there is none.
    results_missing
        Whether the results of the newest checkpoint are not there. They are computed where that
        is all that is left to do.
    follows
        Whether it waits for more batches until it is asked to stop.
    """

    def __init__(
        self,
        rules: RunRules,
        *,
        batches: int,
        checkpointed: int = 0,
        results_missing: bool = False,
        follows: bool = False,
    ) -> None:
        self.rules = rules
        self.batches = batches
        self.state: State = "idle"
        #: The life of the graph that events must name; -1 before the first.
        self.generation = -1
        #: Boundary up to which the graph of this generation has its batches.
        self.applied = checkpointed
        #: Next batches to be asked for.
        self.load_next = checkpointed
        self.apply_next = checkpointed
        #: Batches that are being loaded.
        self.loading: set[int] = set()
        #: Boundary of the newest checkpoint that was captured (by this generation) or restored.
        self.checkpointed = checkpointed
        #: What is pinned or about to be, each until all that it is for is at hand.
        self.pins = PinQueue(rules.epochs)
        #: Boundary up to which all results that are due have been computed.
        owes_results = results_missing and checkpointed == batches > 0
        self.analyzed = checkpointed - 1 if owes_results else checkpointed
        #: Writes asked for that are not on disk yet, the oldest first: whether each is of arrays.
        self._writes: deque[bool] = deque()
        self._follows = follows
        #: Boundary where the run was asked to stop; None: it was not.
        self._stop: int | None = None
        #: Boundary of a checkpoint that has fallen due by the clock.
        self._clock_boundary: int | None = None
        self._last_checkpoint_seconds = 0.0
        self._lost_in_a_row = 0
        #: First batch that failed; nothing at or beyond it is applied. None: none failed.
        self._failed_batch: int | None = None
        self._error: BaseException | None = None

    @property
    def writing(self) -> int:
        """Writes asked for that are not on disk yet."""
        return len(self._writes)

    # -- what is due

    @property
    def nothing_to_do(self) -> bool:
        """Whether nothing is left: all batches are applied, all results computed."""
        is_done = self.applied >= self.end and not self._results_due(self.applied)
        return is_done and not self._follows

    @property
    def is_waiting(self) -> bool:
        """Whether it is up to date, and waits for more batches."""
        is_idle = self.state == "applying" and not self.pins and self.writing == 0
        return self._follows and is_idle and self.applied == self.batches

    @property
    def end(self) -> int:
        """Boundary where this run ends."""
        ends = (self.batches, self._failed_batch, self._stop)
        return min(each for each in ends if each is not None)

    @property
    def barrier(self) -> int:
        """Boundary that applies may not cross yet, because something is due there."""
        boundaries = [self.end, self._next_analysis()]
        if self._clock_boundary is not None:
            boundaries.append(self._clock_boundary)
        if self.rules.checkpoint_batches is not None:
            boundaries.append(self._caught + self.rules.checkpoint_batches)
        return min(boundaries)

    @property
    def held_by(self) -> Literal["analytics", "disk"] | None:
        """Reason why batches wait, though workers may have time: results, or a checkpoint.

        None: they flow, or there is no graph that they could wait for.
        """
        is_held = self._is_held
        if is_held and self.pins and not self._disk_is_behind:
            return "analytics" if self.pins.waits_for_results else "disk"
        waits_for_writes = is_held or self.state in ("down", "ending")
        return "disk" if self.writing and waits_for_writes else None

    @property
    def waits_for_pins(self) -> bool:
        """Whether batches wait until a pinned graph is released."""
        # That the graph is pinned at the end may be heard of before its last batch is.
        if max(self.applied, self.pins.newest_boundary) >= self.end:
            return False
        at_barrier = self.state == "applying" and self.applied == self.barrier
        return self.state == "holding" or (at_barrier and not self._may_pin)

    @property
    def _is_held(self) -> bool:
        """Whether all batches are applied that may be before something is done at a boundary."""
        held = self.pins.held_boundary if self.state == "holding" else None
        at_barrier = self.state == "applying" and self.applied == self.barrier
        return at_barrier or (held is not None and self.applied >= held)

    @property
    def pinned(self) -> int:
        """Graphs that are pinned."""
        return self.pins.kept(self.applied)

    @property
    def _disk_is_behind(self) -> bool:
        """Whether what waits to be written, or will, takes as much memory as it may."""
        return len(self.pins) + sum(self._writes) >= self.pins.most + MOST_WRITES

    @property
    def _may_pin(self) -> bool:
        """Whether there is room for another pinned graph, and for what is read of it."""
        return not self.pins.is_full and not self._disk_is_behind

    @property
    def _caught(self) -> int:
        """Boundary of the newest checkpoint that is captured, or will be."""
        pinned = self.pins.newest_checkpoint()
        return self.checkpointed if pinned is None else pinned

    @property
    def _found(self) -> int:
        """Boundary up to which all results that are due are computed, or will be."""
        pinned = self.pins.newest_results()
        return self.analyzed if pinned is None else max(pinned, self.analyzed)

    def _next_analysis(self) -> int:
        """First boundary whose results are due and neither computed nor about to be."""
        found, cadences = self._found, self.rules.analytics.values()
        return min((self._next_result(each, found) for each in cadences), default=self.batches)

    def _next_result(self, every: int | None, done: int) -> int:
        """First boundary after ``done`` where a result of this cadence is due."""
        if every is None:
            return self.batches
        by_number = (done // every + 1) * every
        return by_number if self._follows else min(self.batches, by_number)

    def _results_due(self, boundary: int) -> tuple[str, ...]:
        """Names of the results that are due at a boundary, and not about to be computed."""
        if boundary <= self._found:
            return ()
        return tuple(
            name
            for name, every in self.rules.analytics.items()
            if boundary == self._next_result(every, boundary - 1)
        )

    def _checkpoint_due(self, boundary: int) -> bool:
        every = self.rules.checkpoint_batches
        return boundary > self._caught and (
            boundary in (self.end, self._clock_boundary)
            or (every is not None and boundary == self._caught + every)
        )

    # -- the one mutator

    def handle(self, event: Event, now: float) -> list[Instruction]:
        """Take in an event at time ``now`` (seconds of any steady clock); say what to do."""
        if self.state == "finished":
            return []
        instructions: list[Instruction] = []
        match event:
            case RunStarted():
                self._last_checkpoint_seconds = now
                self.state = "down"
            case Written():
                self._writes.popleft()
            case WriteFailed():
                # Nothing is asked for any more: a later checkpoint would say that this was written.
                self.state = "finished"
                return [Finish(self._error or event.error)]
            case ClockTicked():
                pass
            case BatchesPlanned():
                self.batches = event.batches
            case StopRequested():
                self._follows = False
                self._stop = max(self.apply_next, self._stop or 0)
            case LogFailed():
                self._follows = False
                self._error = self._error or event.error
            case _ if event.generation != self.generation or self.state in ("down", "ending"):
                return []
            case GraphStarted():
                self.applied = self.load_next = self.apply_next = event.boundary
                self.checkpointed = event.boundary
                self.loading.clear()
                self.state = "applying"
            case GraphLost():
                instructions += self._lose(event)
            case BatchLoaded():
                self.loading.discard(event.batch_id)
            case BatchesApplied():
                self.applied = max(self.applied, event.boundary)
            case BatchFailed():
                # The batches before the first one that failed are still applied and checkpointed.
                if self._failed_batch is None or event.batch_id < self._failed_batch:
                    self._failed_batch = event.batch_id
                    self._error = event.error
                    self.pins.missed(event.batch_id)
            case GraphFailed():
                # No checkpoint: it would say that results are there that are not, or keep a wreck.
                self._error = event.error
                self.state = "ending"
            case GraphPinned():
                self.pins.pinned(event)
            case Analyzed():
                instructions += self._write_results(self.pins.analyzed(event))
            case Captured():
                instructions.append(WriteCheckpoint(self.checkpointed, event.boundary))
                self.checkpointed = event.boundary
                self._lost_in_a_row = 0
                self._writes.append(True)
                instructions += self._write_results(self.pins.captured())
        if self.state in ("applying", "holding"):
            self.state = "applying" if self.pins.held_boundary is None else "holding"
        return instructions + self._proceed(now)

    def _write_results(self, at_hand: list[Analyzed]) -> list[Instruction]:
        instructions: list[Instruction] = []
        for each in at_hand:
            self.analyzed = each.boundary
            self._writes.append(each.has_columns)
            instructions.append(WriteResults(each.boundary))
        return instructions

    def _lose(self, event: GraphLost) -> list[Instruction]:
        self._lost_in_a_row += 1
        self.applied = self.load_next = self.apply_next = self.checkpointed
        if self.rules.repeats_results:
            self.analyzed = min(self.analyzed, self.checkpointed)
        self._clock_boundary = None
        self.pins.forget()
        self.state = "down"
        if self._lost_in_a_row > self.rules.graph_restarts:
            msg = (
                f"the graph was lost {self._lost_in_a_row} times in a row without a checkpoint in "
                f"between, at last because {event.reason}; look at the memory of its worker, or "
                f"raise graph_restarts. The state is whole up to its newest checkpoint"
            )
            self._error = ClusterError(msg)
            self.state = "ending"
        return [Discard(event.generation)]

    def _proceed(self, now: float) -> list[Instruction]:
        """Instructions that can be performed now, in the state as it is."""
        if self.state == "down" and self.writing == 0:
            if self.nothing_to_do:
                self.state = "ending"
            else:
                self.generation += 1
                self.state = "starting"
                return [StartGraph(self.generation)]
        if self.state == "ending" and self.writing == 0:
            self.state = "finished"
            return [Finish(self._error)]
        if self.state not in ("applying", "holding"):
            return []
        instructions = self._loads()
        if sum(self._writes) < MOST_WRITES and (capture := self.pins.capture()):
            instructions.append(capture)
        if self.state == "applying":
            self._look_at_the_clock(now)
        while self.state == "applying":
            while self.apply_next < min(self.barrier, self.load_next):
                behind = self.pins.unanswered(self.apply_next)
                instructions.append(Apply(self.generation, self.apply_next, behind))
                self.apply_next += 1
            more = self._between_batches(now) if self.apply_next >= self.barrier else []
            if not more:
                break
            instructions += more
        return instructions

    def _loads(self) -> list[Instruction]:
        instructions: list[Instruction] = []
        most = self.rules.window if self.rules.max_loads is None else self.rules.max_loads
        last = min(self.end, self.applied + self.rules.window)
        while self.load_next < last and len(self.loading) < most:
            instructions.append(Load(self.generation, self.load_next))
            self.loading.add(self.load_next)
            self.load_next += 1
        return instructions

    def _look_at_the_clock(self, now: float) -> None:
        if self.rules.checkpoint_seconds is None or self._clock_boundary is not None:
            return
        is_time = now - self._last_checkpoint_seconds >= self.rules.checkpoint_seconds
        if is_time and self.apply_next > self._caught:
            # Where results are computed, it would have to wait for them.
            is_pinned = self.pins.unanswered(self.apply_next) is not None
            self._clock_boundary = self.apply_next + int(is_pinned)

    def _between_batches(self, now: float) -> list[Instruction]:
        """All before a boundary is asked for, and something is due there."""
        boundary = self.barrier
        results, checkpoint = self._results_due(boundary), self._checkpoint_due(boundary)
        if not (results or checkpoint):
            # The end waits until all is at hand that was pinned for.
            goes_on = self._follows and self._failed_batch is None
            if self.pins or self.applied < boundary or goes_on:
                return []
            self.state = "ending"
            return self._proceed(now)
        if not self._may_pin or self.pins.unanswered(boundary):
            return []
        if checkpoint:
            self._clock_boundary = None
            self._last_checkpoint_seconds = now
        follow = boundary < self.end or self._follows
        pin = Pin(self.generation, boundary, results, checkpoint, epoch=follow)
        self.pins.ask(pin)
        if not follow:
            self.state = "holding"
        return [pin]
