"""The event loop of a run: executes instructions, and reports their outcome as events.

Whatever ends (a task, a write, the graph) puts an event into one queue; the loop takes it, asks
`Lifecycle.handle` what to do, and does it. All of that happens in the calling thread, except that
files are written in a thread of their own (``writer.py``). If anything ends the run (an error,
Ctrl-C), the write in progress is finished, all others are dropped, and the cluster is closed; the
state is whole up to its newest checkpoint.

Not here: what is decided (``lifecycle.py``), what a generation of the graph is sent and answers
(``graph_client/``), and which files there are (``run_files.py``).
"""

import queue
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import groupby

from ..config.settings import RunSettings
from ..gpu_core.errors import ClusterError, UpdateLogError
from ..io.log.log_listing import LogListing
from .graph_client.client import EventMaker, GraphClient
from .graph_client.generation import Generation, GraphLostError, start_generation
from .graph_client.generation_spec import newest_spec
from .graph_client.in_flight import TasksInFlight, span_of_run
from .graph_worker.exit_reasons import ExitReasons
from .graph_worker.graph_status import GraphStatus
from .log_watch import Follow, LogWatch
from .monitoring.limit_watch import LimitWatch
from .monitoring.picture import RunMonitor
from .monitoring.progress import Progress, initial_progress
from .run_files import RunFiles
from .state_machine import events
from .state_machine.events import Event
from .state_machine.instructions import (
    Apply,
    CopyGraph,
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

#: Seconds without any event after which the workers are recounted.
_QUIET_SECONDS = 5.0


class RunLoop:
    """Performs the instructions of one lifecycle on one cluster."""

    def __init__(
        self,
        cluster: Cluster,
        machine: Lifecycle,
        files: RunFiles,
        settings: RunSettings,
        on_progress: Callable[[Progress], None],
        follow: Follow,
    ) -> None:
        self._cluster = cluster
        self._machine = machine
        self._files = files
        self._settings = settings
        self._on_progress = on_progress
        self._follow = follow
        #: Whether the lifecycle knows that the run was asked to end.
        self._is_stopping = False
        self._watch = LogWatch(
            files.log.update_log,
            files.log.names(),
            self._found,
            self._log_failed,
            planned=files.log.listing.files,
            quarantines=files.log.quarantines,
        )
        #: Makers of the events of what has ended. Filled by many threads.
        self._ended: queue.SimpleQueue[EventMaker] = queue.SimpleQueue()
        #: The current generation; None: there is no graph.
        self._current: GraphClient | None = None
        self._limits = LimitWatch(files, settings)
        self._monitor = RunMonitor(machine, is_alone=settings.scheduler is None)
        #: Where this run began.
        self._first = machine.applied
        self._exit_reasons = ExitReasons(cluster.client)
        self._writer = Writer(self._report)
        self._stage = "start"
        self._run_id = uuid.uuid4().hex[:12]
        self._annotation = span_of_run(files.state.name)
        self._start_seconds = self._last_event_seconds = time.monotonic()
        #: For how long it waited for files of a log that it follows.
        self._idle_seconds = 0.0
        self.seconds = self.ingest_seconds = 0.0
        self.waits, self.wait_seconds = 0, 0.0

    def run(self) -> None:
        """Perform until Finish; raise what ended the run before its end."""
        if self._follow.waits:
            self._watch.start()
        try:
            finish = self._handle(events.RunStarted())
            while finish is None:
                finish = self._handle(self._next_event())
                if finish is None and self._current is not None:
                    finish = self._check_workers(self._current.generation)
        except BaseException:
            # Do not wait for workers that do not answer.
            self._cluster.hurry()
            raise
        finally:
            self._watch.stop()
            self._writer.close()
            self._discard()
        self.seconds = self._busy_seconds
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
            return events.BatchesPlanned(self._files.log.extend(listing))
        except UpdateLogError as error:
            return events.LogFailed(error)

    def _next_event(self) -> Event:
        if self._follow.is_stopped and not self._is_stopping:
            self._is_stopping = True
            return events.StopRequested()
        is_idle, start = self._machine.is_waiting, time.monotonic()
        try:
            make_event = self._ended.get(timeout=_TICK_SECONDS)
        except queue.Empty:
            make_event = None
        if is_idle:
            self._idle_seconds += time.monotonic() - start
        if make_event is None:
            self._progress("waiting" if is_idle else self._stage)
            return events.ClockTicked()
        event = make_event()
        self._last_event_seconds = time.monotonic()
        return event or events.ClockTicked()

    def _check_workers(self, generation: Generation) -> Finish | None:
        """Detect the loss of the graph, or of workers that tasks wait for: no event reports it."""
        reason = None
        if not generation.is_alive:
            reason = self._exit_reasons.newest_or(f"worker {generation.roles.graph_name} died")
        elif time.monotonic() - self._last_event_seconds > _QUIET_SECONDS:
            # A batch may take longer than this; a task for workers that are gone takes for ever.
            try:
                if not self._cluster.roles().same_workers(generation.roles):
                    reason = "workers left"
            except ClusterError as error:
                return self._handle(events.GraphFailed(generation.number, error))
            self._last_event_seconds = time.monotonic()
        return self._handle(events.GraphLost(generation.number, reason)) if reason else None

    def _handle(self, event: Event) -> Finish | None:
        applied = self._machine.applied
        pending: list[Instruction] = self._machine.handle(event, time.monotonic())
        if isinstance(event, events.BatchesApplied) and self._machine.applied > applied:
            self.ingest_seconds = self._busy_seconds
        self._monitor.sample()
        # Loads, and applies, that come together are sent together.
        for kind, group in groupby(pending, type):
            if kind is Load:
                self._graph.load([each.batch_id for each in group if isinstance(each, Load)])
            elif kind is Apply:
                self._graph.apply([each for each in group if isinstance(each, Apply)])
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
            case Pin():
                if instruction.results and not instruction.epoch:
                    self._progress("analytics")
                self._graph.pin(instruction)
            case CopyGraph(_, boundary):
                self._progress("checkpoint")
                self._graph.copy(boundary)
            case WriteResults(boundary):
                results = self._graph.take_results(boundary)
                self._writer.write(partial(self._files.write_results, boundary - 1, results))
            case WriteCheckpoint(first, boundary):
                copy, arrays = self._graph.take_copy()
                assert [batch.report.batch_id for batch in copy.batches] == list(
                    range(first, boundary)
                ), "the actor's batches are not those of the checkpoint"
                write = self._files.write_checkpoint
                self._writer.write(partial(write, boundary - 1, copy, arrays))
            case Discard():
                assert isinstance(event, events.GraphLost)
                self._monitor.lost(event.reason)
                self._discard()

    # -- the graph

    @property
    def _graph(self) -> GraphClient:
        """The generation that instructions are for; there is one then."""
        assert self._current is not None
        return self._current

    def _start_graph(self, number: int) -> Event:
        self._progress("start" if number == 0 else "recover")
        if self._settings.scheduler is None:
            self._files.leftovers.note()
        spec = newest_spec(self._files, self._settings, self._machine.rules)
        try:
            generation = start_generation(
                self._cluster,
                number,
                f"graph-{number}-{self._run_id}",
                spec,
                self._settings.start_timeout_seconds,
            )
        except GraphLostError as error:
            return events.GraphLost(number, self._exit_reasons.newest_or(str(error)))
        except Exception as error:
            return events.GraphFailed(number, error)
        client = self._cluster.client
        self._current = GraphClient(
            TasksInFlight(client, self._run_id, generation, self._annotation),
            self._files,
            self._settings,
            self._ended.put,
            self._monitor,
            self._exit_reasons,
            partial(self._progress, "apply"),
        )
        if number == 0:
            self._start_seconds = time.monotonic()
        status = generation.initial_status
        self._limits.start(status, on_host=not generation.form.on_gpu)
        self._monitor.started(status, generation.roles.cpu_workers)
        return events.GraphStarted(number, spec.arguments.boundary)

    def _discard(self) -> None:
        """Release the current generation, with all its tasks."""
        if self._current is not None:
            self._current.close()
            self._current.generation.close(self._cluster.client)
        self._current = None

    # -- progress

    @property
    def _busy_seconds(self) -> float:
        return time.monotonic() - self._start_seconds - self._idle_seconds

    def _progress(self, stage: str) -> None:
        self._stage = stage
        graph, log = self._current, self._files.log
        boundary = graph.boundary if graph else self._machine.applied
        rows_at_start = log.rows_before(self._first)
        rows_done, elapsed = log.rows_before(boundary) - rows_at_start, self._busy_seconds
        size = graph.status if graph else GraphStatus(boundary, *self._files.newest_size())
        self._limits.look(size)
        self._on_progress(
            replace(
                initial_progress(self._files),
                batches_done=boundary,
                rows_done=rows_done,
                rows_per_second=rows_done / elapsed if elapsed > 0 else 0.0,
                num_vertices=size.num_vertices,
                num_edges=size.num_edges,
                rows_total=log.rows_before(log.batches) - rows_at_start,
                stage=stage,
                dashboard=self._cluster.dashboard,
                limits=self._limits.now,
                picture=self._monitor.picture(self._files.results.newest),
            )
        )
