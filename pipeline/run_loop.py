"""The loop of a run: executes instructions, and reports their outcome as events.

It is small on purpose. Whatever ends (a task, a write, the graph) puts an event into one queue; the
loop takes it, asks `Lifecycle.handle` what to do, and does it. All of that happens in the calling
thread, except that files are written in a thread of their own (``writer.py``). If anything ends the
run (an error, Ctrl-C), the write in progress is finished, all others are dropped, and the cluster
is closed; the state is whole up to its newest checkpoint.

Not here: what is decided (``lifecycle.py``), what runs on workers (``tasks.py``, ``actor.py``), how
tasks are asked for and answered (``in_flight.py``, ``answers.py``), which files there are
(``run_files.py``), and how a graph is brought back (``generation_spec.py``, ``recovery.py``).
"""

import queue
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

from distributed import Future

from ..config.settings import RunSettings
from ..gpu_core.errors import ClusterError, UpdateLogError
from ..io.log.update_log import LogListing
from . import tasks
from .answers import Answer, explain
from .graph_worker.batch_results import BatchResults, SharedResults
from .graph_worker.exit_reasons import ExitReasons
from .graph_worker.generation_spec import newest_spec
from .graph_worker.graph_status import GraphStatus, GraphStoppedError
from .graph_worker.pinned import Arrays, Copy, PinAnswer
from .graph_worker.recovery import Generation, GraphLostError, start_generation
from .graph_worker.shared_arrays import ArraysAddress, open_arrays
from .in_flight import TasksInFlight, span_of_run
from .log_watch import Follow, LogWatch
from .monitoring.limit_watch import LimitWatch
from .monitoring.picture import RunMonitor
from .monitoring.progress import Progress, initial_progress
from .pending_loads import PendingLoads
from .run_files import RunFiles
from .state_machine import events
from .state_machine.apply_progress import ApplyProgress
from .state_machine.events import Event
from .state_machine.instructions import (
    Apply,
    Capture,
    Discard,
    Finish,
    Instruction,
    Load,
    Pin,
    StartGraph,
    WriteCheckpoint,
    WriteResults,
)
from .state_machine.lifecycle import Lifecycle
from .workers.cluster import Cluster
from .writer import Writer

#: Seconds between two looks at the clock and at the graph's life, where nothing else happens.
_TICK_SECONDS = 0.05

#: Seconds between two answers that are fetched for the numbers in them, while batches are applied.
_STATUS_SECONDS = 0.1

#: Seconds without any event after which the workers are recounted.
_QUIET_SECONDS = 5.0

#: Takes what a task has brought: generation, number of the task, result; returns an event, or None.
Answered = Callable[[int, int, Any], Event | None]


class RunLoop:
    """Performs the instructions of one lifecycle on one cluster."""

    def __init__(
        self,
        cluster: Cluster,
        machine: Lifecycle,
        files: RunFiles,
        settings: RunSettings,
        on_progress: Callable[[Progress], None],
        follow: Follow | None = None,
    ) -> None:
        self._cluster = cluster
        self._machine = machine
        self._files = files
        self._settings = settings
        #: Whether arrays come here through shared memory.
        self._shares = settings.handover != "dask"
        self._on_progress = on_progress
        self._follow = follow
        log = replace(files.log, time_unit=files.listing.time_unit)
        self._watch = LogWatch(log, files.names(), self._found, self._log_failed)
        #: What ended, as a function that says which event that is. Filled by many threads.
        self._ended: queue.SimpleQueue[Callable[[], Event | None]] = queue.SimpleQueue()
        #: Of the generation that there is; None: there is no graph.
        self._tasks: TasksInFlight | None = None
        self._loads = PendingLoads(self._report)
        self._applies = ApplyProgress(machine.applied)
        #: What Pin brought, by boundary, and Capture, until it is given to the writer.
        self._results: dict[int, BatchResults] = {}
        self._copy: Copy | None = None
        self._arrays: Arrays | None = None
        #: The newest status of this generation that was fetched, and when the next one is due.
        self._status: GraphStatus | None = None
        self._status_due = 0.0
        self._limits = LimitWatch(files, settings)
        self._monitor = RunMonitor(machine, is_alone=settings.scheduler is None)
        #: Where this run began.
        self._first = machine.applied
        self._exit_reasons = ExitReasons(cluster.client)
        self._writer = Writer(self._report)
        self._stage = "start"
        self._run_id = uuid.uuid4().hex[:12]
        self._annotation = span_of_run(files.state.name)
        self._start_seconds = self._heard_seconds = time.monotonic()
        #: For how long it waited for files of a log that it follows.
        self._idle_seconds = 0.0
        self.seconds = self.ingest_seconds = 0.0
        self.waits, self.wait_seconds = 0, 0.0

    def run(self) -> None:
        """Perform until Finish; raise what ended the run before its end."""
        if self._follow is not None and self._follow.waits:
            self._watch.start()
        try:
            finish = self._handle(events.RunStarted())
            while finish is None:
                finish = self._handle(self._next_event())
                if finish is None and self._tasks is not None:
                    finish = self._look_after(self._tasks.generation)
        except BaseException:
            # Workers that do not answer are not waited for any more.
            self._cluster.hurry()
            raise
        finally:
            self._watch.stop()
            self._writer.close()
            self._discard()
        self.seconds = time.monotonic() - self._start_seconds
        self.waits, self.wait_seconds = self._monitor.waits, self._monitor.wait_seconds
        self._progress("end")
        if finish.error is not None:
            self._cluster.hurry()
            raise finish.error

    def _report(self, event: Event) -> None:
        self._ended.put(lambda: event)

    # -- a log that is followed; the first two are called by its thread

    def _found(self, listing: LogListing) -> None:
        self._ended.put(partial(self._plan_more, listing))

    def _log_failed(self, error: UpdateLogError) -> None:
        self._report(events.LogFailed(error))

    def _plan_more(self, listing: LogListing) -> Event:
        try:
            return events.BatchesPlanned(self._files.extend(listing))
        except UpdateLogError as error:
            return events.LogFailed(error)

    def _next_event(self) -> Event:
        if self._follow is not None and self._follow.is_stopped:
            self._follow = None
            return events.StopRequested()
        is_idle, start = self._machine.is_waiting, time.monotonic()
        try:
            answered = self._ended.get(timeout=_TICK_SECONDS)
        except queue.Empty:
            answered = None
        if is_idle:
            self._idle_seconds += time.monotonic() - start
        if answered is None:
            self._progress("waiting" if is_idle else self._stage)
            return events.ClockTicked()
        event = answered()
        self._heard_seconds = time.monotonic()
        return event or events.ClockTicked()

    def _look_after(self, generation: Generation) -> Finish | None:
        """Notice the loss of the graph, or of workers that tasks wait for: no event reports it."""
        reason = None
        if not generation.is_alive:
            reason = self._why_lost(f"worker {generation.roles.graph_name} died")
        elif time.monotonic() - self._heard_seconds > _QUIET_SECONDS:
            # A batch may take longer than this; a task for workers that are gone takes for ever.
            try:
                if not self._cluster.roles().same_workers(generation.roles):
                    reason = "workers left"
            except ClusterError as error:
                return self._handle(events.GraphFailed(generation.number, error))
            self._heard_seconds = time.monotonic()
        return self._handle(events.GraphLost(generation.number, reason)) if reason else None

    def _why_lost(self, reason: str) -> str:
        """Exit reason that the graph's worker reported, else ``reason``."""
        words = self._exit_reasons.newest()
        return f"its worker ended itself: {words}" if words else reason

    def _handle(self, event: Event) -> Finish | None:
        pending: list[Instruction] = self._machine.handle(event, time.monotonic())
        self._monitor.sample()
        for kind, group in groupby(pending, type):
            if kind is Load:
                self._load([each.batch_id for each in group if isinstance(each, Load)])
            elif kind is Apply:
                self._apply([each for each in group if isinstance(each, Apply)])
            else:
                for instruction in group:
                    if isinstance(instruction, Finish):
                        return instruction
                    self._perform(instruction, event)
        return None

    def _perform(self, instruction: Instruction, event: Event) -> None:
        match instruction:
            case StartGraph(generation):
                self._report(self._start_graph(generation))
            case Pin(_, boundary, results, epoch=epoch):
                if results and not epoch:
                    self._progress("analytics")
                requests = self._files.result_requests(results, boundary)
                pin = partial(tasks.pin_graph, share=self._shares)
                kind = "analytics" if results else "pin"
                self._ask(
                    kind, boundary, pin, instruction, requests, answered=self._pinned,
                    executor="default",
                )  # fmt: skip
            case Capture(_, boundary):
                self._progress("checkpoint")
                copy = partial(tasks.copy_pinned, share=self._shares)
                self._ask(
                    "checkpoint", boundary, copy, boundary, answered=self._copy_made,
                    executor="default",
                )  # fmt: skip
            case WriteResults(boundary):
                write = self._files.write_results
                self._writer.write(partial(write, boundary - 1, self._results.pop(boundary)))
            case WriteCheckpoint(first, boundary):
                assert self._copy is not None
                assert self._arrays is not None
                assert [batch.report.batch_id for batch in self._copy.batches] == list(
                    range(first, boundary)
                ), "the actor's batches are not those of the checkpoint"
                write_checkpoint = self._files.write_checkpoint
                job = partial(write_checkpoint, boundary - 1, self._copy, self._arrays)
                self._writer.write(job)
                self._copy = self._arrays = None
            case Discard():
                assert isinstance(event, events.GraphLost)
                self._monitor.lost(event.reason)
                self._discard()

    # -- the graph

    def _start_graph(self, number: int) -> Event:
        self._progress("start" if number == 0 else "recover")
        if self._settings.scheduler is None:
            self._files.leftovers.note()
        rules = self._machine.rules
        spec = newest_spec(self._files, self._settings, rules.window, rules.max_loads)
        try:
            generation = start_generation(
                self._cluster,
                number,
                f"graph-{number}-{self._run_id}",
                spec,
                self._settings.start_timeout_seconds,
            )
        except GraphLostError as error:
            return events.GraphLost(number, self._why_lost(str(error)))
        except Exception as error:
            return events.GraphFailed(number, error)
        self._tasks = TasksInFlight(
            self._cluster.client, self._run_id, generation, self._annotation
        )
        if number == 0:
            self._start_seconds = time.monotonic()
        self._applies = ApplyProgress(spec.arguments.boundary)
        self._status = generation.initial_status
        self._limits.start(generation.initial_status, on_host=not generation.form.on_gpu)
        self._monitor.started(generation.initial_status, generation.roles.cpu_workers)
        return events.GraphStarted(number, spec.arguments.boundary)

    def _discard(self) -> None:
        """Forget a generation; Dask drops the tasks that are not held."""
        self._loads.release_all()
        self._results.clear()
        self._copy = self._arrays = self._status = None
        self._applies = ApplyProgress(self._machine.applied)
        if self._tasks is not None:
            self._tasks.discard()
            self._tasks.generation.close(self._cluster.client)
        self._tasks = None

    # -- batches

    def _load(self, batches: list[int]) -> None:
        assert self._tasks is not None
        generation = self._tasks.generation
        meaning = self._settings.graph.row_meaning()
        loads = self._tasks.load(
            batches,
            [self._files.rows_of(batch_id) for batch_id in batches],
            meaning,
            [generation.slots.take(batch_id) for batch_id in batches],
            generation.form,
        )
        for batch_id, load in zip(batches, loads, strict=True):
            self._loads.watch(load, events.BatchLoaded(generation.number, batch_id))

    def _apply(self, applies: list[Apply]) -> None:
        assert self._tasks is not None
        generation = self._tasks.generation.number
        batches = [each.batch_id for each in applies]
        behind = [each.behind for each in applies]
        for batch_id, task in zip(batches, self._tasks.apply(batches, behind), strict=True):
            ended = partial(self._apply_ended, generation, batch_id)
            task.add_done_callback(lambda task, ended=ended: self._ended.put(partial(ended, task)))

    def _apply_ended(self, generation: int, batch_id: int, task: Future) -> Event | None:
        """Take an apply for done without its answer, but for one now and then, and for errors."""
        if self._tasks is None or self._tasks.generation.number != generation:
            return None
        is_taken = task.status == "finished"
        if is_taken and time.monotonic() < self._status_due:
            self._tasks.drop("apply", batch_id)
        else:
            self._status_due = time.monotonic() + _STATUS_SECONDS
            self._fetch("apply", batch_id, self._apply_answered)
        return self._taken(generation, batch_id) if is_taken else None

    def _apply_answered(self, generation: int, batch_id: int, status: GraphStatus) -> Event:
        self._update_status(status)
        return self._taken(generation, batch_id)

    def _taken(self, generation: int, batch_id: int) -> Event:
        """The actor has a batch; so the graph has all before the first that it has not."""
        event = self._applied(generation, self._applies.end(batch_id))
        self._progress("apply")
        return event

    def _applied(self, generation: int, boundary: int) -> Event:
        """The graph has all batches before a boundary, maybe no more than were known of."""
        assert self._tasks is not None
        if boundary > self._machine.applied:
            self._tasks.generation.slots.give_back(boundary)
            self.ingest_seconds = self._busy_seconds
        return events.BatchesApplied(generation, boundary)

    # -- what the graph is asked for

    def _ask(
        self,
        kind: str,
        boundary: int,
        task: Callable[..., Any],
        *arguments: Any,
        answered: Answered,
        executor: str = "actor",
    ) -> None:
        """Run a task beside the actor; ``answered`` makes an event of what it brings."""
        assert self._tasks is not None
        self._tasks.submit(kind, boundary, task, *arguments, executor=executor)
        self._fetch(kind, boundary, answered)

    def _fetch(self, kind: str, number: int, answered: Answered) -> None:
        """Have the loop call ``answered`` with the result of a task, when that has ended."""
        assert self._tasks is not None
        generation = self._tasks.generation.number
        ended = partial(self._graph_task_ended, generation, kind, number, answered)
        self._tasks.fetch(kind, number, lambda answer: self._ended.put(partial(ended, answer)))

    def _graph_task_ended(
        self, generation: int, kind: str, number: int, answered: Answered, answer: Answer
    ) -> Event | None:
        if self._tasks is None or self._tasks.generation.number != generation:
            return None
        self._tasks.drop(kind, number)
        if answer.cancelled():
            return events.GraphLost(generation, "the scheduler went away")
        error = answer.exception()
        if error is None:
            return answered(generation, number, answer.result())
        if isinstance(error, GraphStoppedError):
            return self._stopped(generation, error.status)
        file = self._files.shown(number) if kind == "apply" else ""
        error = explain(error, self._tasks.key("load", number), file)
        if isinstance(error, GraphLostError):
            return events.GraphLost(generation, self._why_lost(str(error)))
        if kind == "apply":
            return events.BatchFailed(generation, number, error)
        return events.GraphFailed(generation, error)

    def _update_status(self, status: GraphStatus) -> None:
        """Take note of how the graph stands; two of them may be on their way at once."""
        if self._status is None or status.boundary >= self._status.boundary:
            self._status = status
            self._monitor.update(status)

    def _stopped(self, generation: int, status: GraphStatus) -> Event:
        """A batch could not be applied; all before it are."""
        assert status.error is not None
        assert status.failed_batch is not None
        if status.is_broken:
            return events.GraphFailed(generation, status.error)
        self._report(events.BatchFailed(generation, status.failed_batch, status.error))
        return events.BatchesApplied(generation, status.boundary)

    def _pinned(self, generation: int, boundary: int, answer: PinAnswer) -> None:
        """A graph was pinned, unless it never stood there, and results were computed of it."""
        if answer.kept == "missed":
            return
        self._report(self._applied(generation, self._applies.reach(boundary)))
        is_epoch = answer.kept == "epoch"
        self._report(events.GraphPinned(generation, boundary, is_epoch, answer.room))
        if (results := answer.results) is not None:
            self._ended.put(partial(self._computed, generation, boundary, results))

    def _computed(
        self, generation: int, boundary: int, results: BatchResults | SharedResults
    ) -> Event | None:
        if self._tasks is None or self._tasks.generation.number != generation:
            return None
        if isinstance(results, SharedResults):
            return self._opened(generation, boundary, results)
        return self._analyzed(generation, boundary, results)

    def _opened(self, generation: int, boundary: int, shared: SharedResults) -> Event | None:
        """Take columns to us; None where they have to be sent."""
        try:
            results = shared.opened()
        except OSError:
            answered = partial(self._analyzed, is_shared=True)
            self._ask("results", boundary, tasks.send_results, boundary, answered=answered)
            return None
        return self._analyzed(generation, boundary, results, is_shared=True)

    def _analyzed(
        self, generation: int, boundary: int, results: BatchResults, *, is_shared: bool = False
    ) -> Event:
        """Results are here; ``is_shared``: the graph worker keeps memory that they came through."""
        assert self._tasks is not None
        if is_shared:
            release = tasks.release_columns
            self._tasks.submit_and_forget("release_columns", boundary, release)
        self._results[boundary] = results
        self._monitor.failed(results.failures(boundary - 1))
        return events.Analyzed(generation, boundary, results.has_columns)

    def _copy_made(self, generation: int, boundary: int, copy: Copy) -> Event | None:
        self._copy = copy
        if copy.status is not None:
            # Of the last batches before it no answer may have been fetched.
            self._update_status(copy.status)
        return self._copied(generation, boundary, copy.arrays)

    def _copied(
        self, generation: int, boundary: int, arrays: Arrays | ArraysAddress
    ) -> Event | None:
        """Take the arrays of a copy to us; None where they have to be sent."""
        assert self._tasks is not None
        if isinstance(arrays, ArraysAddress):
            try:
                arrays = open_arrays(arrays)
            except OSError:
                self._ask("arrays", boundary, tasks.send_copy, boundary, answered=self._copied)
                return None
        self._arrays = arrays
        self._tasks.submit_and_forget("release_copy", boundary, tasks.release_copy)
        return events.Captured(generation, boundary)

    # -- progress

    @property
    def _busy_seconds(self) -> float:
        return time.monotonic() - self._start_seconds - self._idle_seconds

    def _progress(self, stage: str) -> None:
        self._stage = stage
        boundary = self._applies.boundary
        rows = self._files.rows_before(boundary) - self._files.rows_before(self._first)
        elapsed = self._busy_seconds
        size = self._status or GraphStatus(boundary, *self._files.newest_size())
        self._limits.look(size)
        self._on_progress(
            replace(
                initial_progress(self._files),
                batches_done=boundary,
                rows_done=rows,
                rows_per_second=rows / elapsed if elapsed > 0 else 0.0,
                num_vertices=size.num_vertices,
                num_edges=size.num_edges,
                rows_total=self._files.rows_before(self._files.batches)
                - self._files.rows_before(self._first),
                stage=stage,
                dashboard=self._cluster.dashboard,
                limits=self._limits.now,
                picture=self._monitor.picture(self._files.results.newest),
            )
        )
