"""State machine of a run: the decisions of the pipeline, without Dask, files or clocks.

Events go in (``events.py``), instructions come out (``instructions.py``), and `Lifecycle.handle` is
the one place where anything changes. Its caller (`run_loop.py`) performs the instructions and
reports what became of them::

    event                             instruction
    RunStarted      ClockTicked       StartGraph        restore the graph, as a new generation
    GraphStarted    GraphLost         Load              read and convert a batch on a CPU worker
    BatchLoaded                       Apply             hand a batch to the graph
    BatchesApplied  BatchFailed       Pin               keep the graph of a boundary for its results
    GraphPinned     GraphFailed       CopyGraph         copy a pinned graph, for a checkpoint
    Analyzed        GraphCopied       WriteResults, WriteCheckpoint
    Written         WriteFailed       Discard           release the tasks of a lost generation
                                      Finish            the run is over, with or without an error

Batches are counted by *boundaries*: boundary ``b`` lies after the batches ``0 … b - 1``. A graph at
boundary b is the graph of a log that ends there.

The actor keeps the order: it applies batches by number. Decided here is how far it may go. Applies
are held back at the *barrier*, the next boundary where something is due between batches (a result,
a checkpoint, a batch that cannot be applied, the end). Loads go on to the end of the window.

Pins
----
At the barrier the graph is *pinned*: an epoch (`gpu_core.epoch`) keeps it as it is, and batches go
on beside it. A request and its answer take longer than a batch, so no answer is waited for: a pin
is requested together with the last batch before it, and the batches behind it at once. The first of
these names the pin, and the graph worker makes it before it applies that batch.

Epochs are read one after the other, in the order of their boundaries: the results that are due are
computed, then the graph is copied if a checkpoint is due, then the epoch is released. There are at
most ``epochs`` of them, made or requested. While there are so many, batches wait at the barrier.

They also wait while the graph itself is pinned, which it is at the end of the log, and where there
is no memory for any epoch; in the latter case batches behind the next pin are not requested either
before that pin is answered. Where there is memory for fewer epochs than are allowed, the graph
worker waits until one is released, and the run has no more than that from then on.

Writes
------
Files are written in the order of the boundaries. So when a checkpoint is on disk, the results due
before it are, too, and a run that goes on from it need not write them again. Columns of results and
copies of the graph are arrays in memory until they are written. So no copy is requested while
`MOST_WRITES` of them wait for the disk, and no pin while pins and waiting writes together are
``epochs + MOST_WRITES``. Results of which only the values in the summary are kept do not count.

Loads
-----
Two numbers bound the loads: the *window* bounds batches that are loaded and not applied, which take
memory; ``max_loads`` bounds loads that have not ended. More of them would queue at slow workers,
and hold up all batches after them, while other workers are idle.

Following a log
---------------
A run that *follows* its log does not end when all planned batches are applied and checkpointed: it
waits for more, with the graph in memory, until it is asked to stop. Each time it is up to date it
computes results, unless these are due by number, and writes a checkpoint. When it is stopped there,
the log has come to its end: results by number that were not due there before are.

Generations
-----------
A *generation* is one life of the graph. When its worker dies, its tasks are discarded, and the next
generation starts from the newest checkpoint once the writes in progress have ended. Events of an
older generation are ignored.

Invariants
----------
* ``checkpointed <= applied <= apply_next <= load_next <= applied + window``, and, unless a batch
  has failed, ``apply_next <= barrier``
* at most ``max_loads`` loads are in progress
* a Pin is requested after all batches before its boundary, and before any behind it
* at most one CopyGraph is in progress, of the oldest pin
* at most ``epochs`` graphs are pinned, and ``epochs + MOST_WRITES`` writes of arrays wait
* after Finish there is no instruction

Not here: how a load, an apply or a write is done (``tasks.py``, ``actor.py``, ``writer.py``), or
where a graph is restored from (``generation_spec.py``).

Source: the worker state machine of dask.distributed, which separates decisions from I/O likewise.
"""

from collections import deque
from typing import Literal

from ...gpu_core.errors import ClusterError
from .events import (
    Analyzed,
    BatchesApplied,
    BatchesPlanned,
    BatchFailed,
    BatchLoaded,
    ClockTicked,
    Event,
    GraphCopied,
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
from .run_rules import RunRules

#: ``idle``: not started. ``down``: there is no graph; one is started when no write is in progress.
#: ``starting``: waits for GraphStarted. ``applying``: batches are applied. ``holding``: the graph
#: itself is pinned, or about to be, and no batch is requested. ``ending``: only writes are left.
#: ``finished``.
State = Literal["idle", "down", "starting", "applying", "holding", "ending", "finished"]

#: Writes of arrays that may wait for the disk, beyond which nothing is copied.
MOST_WRITES = 4


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
    lacks_last
        Of a run that follows: whether results of the newest checkpoint are not there that are due
        if the log ends there. They are computed if the run is stopped there.
    """

    def __init__(
        self,
        rules: RunRules,
        *,
        batches: int,
        checkpointed: int = 0,
        results_missing: bool = False,
        follows: bool = False,
        lacks_last: bool = False,
    ) -> None:
        self.rules = rules
        self.batches = batches
        self.state: State = "idle"
        #: The life of the graph that events must name; -1 before the first.
        self.generation = -1
        #: Boundary up to which the graph of this generation has its batches.
        self.applied = checkpointed
        #: Next batches to be requested.
        self.load_next = checkpointed
        self.apply_next = checkpointed
        #: Batches that are being loaded.
        self.loading: set[int] = set()
        #: Boundary of the newest graph that was copied (by this generation) or restored.
        self.checkpointed = checkpointed
        #: Pins that are requested or made, each until its results and its copy are here.
        self.pins = PinQueue(rules.epochs)
        #: Boundary up to which all results that are due have been computed.
        lacks_results = results_missing and checkpointed == batches > 0
        self.analyzed = checkpointed - 1 if lacks_results else checkpointed
        #: Boundary of the newest results that were requested here, and their names.
        self._requested: tuple[int, tuple[str, ...]] = (-1, ())
        #: Writes that are not on disk yet, the oldest first: whether each is of arrays.
        self._writes: deque[bool] = deque()
        self._follows = follows
        #: Boundary that lacks results which are due if the log ends there; None: there is none.
        self._lacks_last = checkpointed if lacks_last else None
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
        """Number of writes that are not on disk yet."""
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
            boundaries.append(self._newest_checkpoint + self.rules.checkpoint_batches)
        return min(boundaries)

    @property
    def held_by(self) -> Literal["analytics", "disk"] | None:
        """What batches wait for: results, or a checkpoint (``disk``).

        None: they do not wait, or there is no graph.
        """
        is_held = self._is_held
        if is_held and self.pins and not self._disk_is_behind:
            return "analytics" if self.pins.waits_for_results else "disk"
        waits_for_writes = is_held or self.state in ("down", "ending")
        return "disk" if self.writing and waits_for_writes else None

    @property
    def waits_for_pins(self) -> bool:
        """Whether batches wait until a pinned graph is released."""
        # The answer to the pin at the end may come before that to the last batch.
        if max(self.applied, self.pins.newest_boundary) >= self.end:
            return False
        is_at_barrier = self.state == "applying" and self.applied == self.barrier
        return self.state == "holding" or (is_at_barrier and not self._can_pin)

    @property
    def _is_held(self) -> bool:
        """Whether all batches are applied that may be before something is done at a boundary."""
        held = self.pins.held_boundary if self.state == "holding" else None
        is_at_barrier = self.state == "applying" and self.applied == self.barrier
        return is_at_barrier or (held is not None and self.applied >= held)

    @property
    def pinned(self) -> int:
        """Graphs that are pinned."""
        return self.pins.kept(self.applied)

    @property
    def _disk_is_behind(self) -> bool:
        """Whether what waits to be written, or will, takes as much memory as it may."""
        return len(self.pins) + sum(self._writes) >= self.pins.most + MOST_WRITES

    @property
    def _can_pin(self) -> bool:
        """Whether there is room for another pinned graph, and for what is read of it."""
        return not self.pins.is_full and not self._disk_is_behind

    @property
    def _newest_checkpoint(self) -> int:
        """Boundary of the newest graph that is copied for a checkpoint, or is to be."""
        pinned = self.pins.newest_checkpoint()
        return self.checkpointed if pinned is None else pinned

    @property
    def _newest_analysis(self) -> int:
        """Boundary up to which all results that are due are computed or requested."""
        pinned = self.pins.newest_results()
        return self.analyzed if pinned is None else max(pinned, self.analyzed)

    def _next_analysis(self) -> int:
        """First boundary whose results are due, and neither computed nor requested."""
        done, cadences = self._newest_analysis, self.rules.analytics.values()
        return min((self._next_result(each, done) for each in cadences), default=self.batches)

    def _next_result(self, every: int | None, done: int) -> int:
        """First boundary after ``done`` where a result of this cadence is due."""
        if every is None:
            return self.batches
        by_number = (done // every + 1) * every
        return by_number if self._follows else min(self.batches, by_number)

    def _results_due(self, boundary: int) -> tuple[str, ...]:
        """Names of the results that are due at a boundary, and not requested yet."""
        newest = self._newest_analysis
        # A log that was followed may have come to its end there since, where all are due.
        requested, names = self._requested
        if boundary < newest or (boundary == newest and boundary != requested):
            return ()
        return tuple(
            name
            for name, every in self.rules.analytics.items()
            if boundary == self._next_result(every, boundary - 1)
            and not (boundary == newest and name in names)
        )

    def _checkpoint_due(self, boundary: int) -> bool:
        every = self.rules.checkpoint_batches
        return boundary > self._newest_checkpoint and (
            boundary in (self.end, self._clock_boundary)
            or (every is not None and boundary == self._newest_checkpoint + every)
        )

    # -- the one mutator

    def handle(self, event: Event, now: float) -> list[Instruction]:
        """Process an event at time ``now`` (seconds of a steady clock); returns what to do."""
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
                # No later write either: a later checkpoint would say that this one was done.
                self.state = "finished"
                return [Finish(self._error or event.error)]
            case ClockTicked():
                pass
            case BatchesPlanned():
                self.batches = event.batches
            case StopRequested():
                self._follows = False
                self._stop = max(self.apply_next, self._stop or 0)
                boundary, names = self._requested
                if boundary == self.batches:
                    # The log ends there: all columns are written, also of what was computed.
                    whole = (name for name in names if self.rules.is_whole(name, boundary))
                    self._requested = boundary, tuple(whole)
                elif self._lacks_last == self.batches:
                    self.analyzed = self.batches - 1
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
                instructions += self._lose_graph(event)
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
                # No checkpoint: it would claim missing results, or keep a broken graph.
                self._error = event.error
                self.state = "ending"
            case GraphPinned():
                self.pins.pinned(event)
            case Analyzed():
                instructions += self._write_results(self.pins.analyzed(event))
            case GraphCopied():
                instructions.append(WriteCheckpoint(self.checkpointed, event.boundary))
                self.checkpointed = event.boundary
                self._lost_in_a_row = 0
                self._writes.append(True)
                instructions += self._write_results(self.pins.copied())
        if self.state in ("applying", "holding"):
            self.state = "applying" if self.pins.held_boundary is None else "holding"
        return instructions + self._proceed(now)

    def _write_results(self, results: list[Analyzed]) -> list[Instruction]:
        instructions: list[Instruction] = []
        for each in results:
            self.analyzed = each.boundary
            self._writes.append(each.has_columns)
            instructions.append(WriteResults(each.boundary))
        return instructions

    def _lose_graph(self, event: GraphLost) -> list[Instruction]:
        self._lost_in_a_row += 1
        self.applied = self.load_next = self.apply_next = self.checkpointed
        if self.rules.repeats_results:
            self.analyzed = min(self.analyzed, self.checkpointed)
        self._clock_boundary = None
        self.pins.clear()
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
        if sum(self._writes) < MOST_WRITES and (copy := self.pins.copy()):
            instructions.append(copy)
        if self.state == "applying":
            self._check_clock(now)
        while self.state == "applying":
            while self.apply_next < min(self.barrier, self.load_next):
                behind = self.pins.unanswered(self.apply_next)
                instructions.append(Apply(self.generation, self.apply_next, behind))
                self.apply_next += 1
            more = self._at_barrier(now) if self.apply_next >= self.barrier else []
            if not more:
                break
            instructions += more
        return instructions

    def _loads(self) -> list[Instruction]:
        instructions: list[Instruction] = []
        last = min(self.end, self.applied + self.rules.window)
        while self.load_next < last and len(self.loading) < self.rules.max_loads:
            instructions.append(Load(self.generation, self.load_next))
            self.loading.add(self.load_next)
            self.load_next += 1
        return instructions

    def _check_clock(self, now: float) -> None:
        if self.rules.checkpoint_seconds is None or self._clock_boundary is not None:
            return
        is_time = now - self._last_checkpoint_seconds >= self.rules.checkpoint_seconds
        if is_time and self.apply_next > self._newest_checkpoint:
            # A pin was requested there already, for results: the next boundary.
            is_pinned = self.pins.unanswered(self.apply_next) is not None
            self._clock_boundary = self.apply_next + int(is_pinned)

    def _at_barrier(self, now: float) -> list[Instruction]:
        """All batches before the barrier are requested: perform what is due there."""
        boundary = self.barrier
        results, checkpoint = self._results_due(boundary), self._checkpoint_due(boundary)
        if not (results or checkpoint):
            # The run ends when nothing is pinned any more.
            goes_on = self._follows and self._failed_batch is None
            if self.pins or self.applied < boundary or goes_on:
                return []
            self.state = "ending"
            return self._proceed(now)
        # Reads of pinned graphs go by their boundaries: one that is there is read first.
        is_there = bool(results) and self.pins.newest_boundary == boundary
        if not self._can_pin or self.pins.unanswered(boundary) or is_there:
            return []
        if checkpoint:
            self._clock_boundary = None
            self._last_checkpoint_seconds = now
        follow = boundary < self.end or self._follows
        pin = Pin(self.generation, boundary, results, checkpoint, epoch=follow)
        self.pins.request(pin)
        if results:
            earlier = self._requested[1] if self._requested[0] == boundary else ()
            self._requested = boundary, earlier + results
        if not follow:
            self.state = "holding"
        return [pin]
