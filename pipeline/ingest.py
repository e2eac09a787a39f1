"""One run, from the log to the state: performs what is decided, and tells what became of it.

The loop is small on purpose. Whatever ends (a task, a write, the graph) puts an event into one
queue; the loop takes it, asks `Lifecycle.handle` what to do, and does it. All of that happens in
the calling thread, except that files are written one after the other in a thread of their own, so
that the graph goes on meanwhile. If anything ends the run (an error, Ctrl-C), the write in progress
is finished, all others are dropped, and the cluster is closed; the state is whole up to its newest
checkpoint.

Only this process writes into the state, under its lock. So workers need not see the state
directory, and a graph worker that is cut off cannot spoil what a later run writes.

Not here: what is decided (``lifecycle.py``), what runs on workers (``tasks.py``, ``actor.py``),
which files there are (``run_files.py``), and how a graph is brought back (``recovery.py``).
"""

import asyncio
import concurrent.futures
import queue
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import dask
import pyarrow as pa
from distributed import Future, fire_and_forget

from ..config.settings import RunSettings
from ..gpu_core.errors import ClusterError
from ..gpu_core.report import BatchSource
from ..io.running import RunningFile
from . import lifecycle, tasks
from .actor import Arrays, Copy, GraphStoppedError, Notice
from .applies import Applies
from .batch_window import batch_rows, is_raw, max_loads, window_size
from .cluster import Cluster, open_cluster, uses_gpu
from .handover import RingSize, ring_size
from .last_words import LastWords
from .lifecycle import (
    Analyse,
    Apply,
    Capture,
    Discard,
    Event,
    Finish,
    Instruction,
    Lifecycle,
    Load,
    Pin,
    StartGraph,
    WriteCheckpoint,
    WriteResults,
)
from .loads import Loads
from .monitoring import graph_metrics
from .progress import Progress, beginning_of
from .recovery import Beginning, Generation, GraphLostError, explain, start_generation
from .run_files import RunFiles, RunSummary, open_files
from .shared_arrays import ArraysAddress, open_arrays

#: Seconds between two looks at the clock and at the graph's life, where nothing else happens.
_TICK_SECONDS = 0.05

#: Seconds between two answers that are fetched for the numbers in them, while batches are applied.
_NUMBERS_SECONDS = 0.1

#: Seconds without any event after which the workers are counted anew.
_QUIET_SECONDS = 10.0


class _Loop:
    """Performs the instructions of one lifecycle on one cluster."""

    def __init__(
        self,
        cluster: Cluster,
        machine: Lifecycle,
        files: RunFiles,
        settings: RunSettings,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._cluster = cluster
        self._machine = machine
        self._files = files
        self._settings = settings
        self._on_progress = on_progress
        #: What ended, as a function that says which event that is. Filled by many threads.
        self._ended: queue.SimpleQueue[Callable[[], Event | None]] = queue.SimpleQueue()
        self._generation: Generation | None = None
        self._loads = Loads(self._tell)
        self._applies = Applies(machine.applied)
        #: Keeps tasks alive until they have ended: (kind, number) -> Future.
        self._futures: dict[tuple[str, int], Future] = {}
        #: Answers of graph tasks that are under way.
        self._answers: set[concurrent.futures.Future[Any]] = set()
        #: What Analyse and Capture brought, until it is given to the writer.
        self._results: tuple[dict[str, Any], BatchSource | None] = {}, None
        self._copy: Copy | None = None
        self._arrays: Arrays | None = None
        #: The newest notice of this generation that was fetched, and when the next one is due.
        self._notice: Notice | None = None
        self._notice_due = 0.0
        #: Where this run began.
        self._first = machine.applied
        self._raw = is_raw(settings)
        self._last_words = LastWords(cluster.client)
        self._writer = concurrent.futures.ThreadPoolExecutor(
            1, thread_name_prefix="graphtide-writer"
        )
        # With its first array pyarrow loads pandas, where that is installed: 0.2 s, better now than
        # when the last batch is applied.
        self._writer.submit(pa.array, [0])
        self._write_failed = False
        self._stage = "start"
        #: Keys of an earlier run on the same scheduler must never be met again.
        self._run_id = uuid.uuid4().hex[:12]
        self._start_seconds = self._heard_seconds = time.monotonic()
        self.seconds = self.ingest_seconds = 0.0

    def run(self) -> None:
        """Perform until Finish; raise what ended the run before its end."""
        try:
            finish = self._handle(lifecycle.RunStarted())
            while finish is None:
                finish = self._handle(self._next_event())
                if finish is None and self._generation is not None:
                    finish = self._look_after(self._generation)
        except BaseException:
            # Nobody waits any more for workers that do not answer.
            self._cluster.is_ending()
            raise
        finally:
            self._writer.shutdown(wait=True, cancel_futures=True)
            self._discard()
        self.seconds = time.monotonic() - self._start_seconds
        self._progress("end")
        if finish.error is not None:
            raise finish.error

    def _tell(self, event: Event) -> None:
        self._ended.put(lambda: event)

    def _next_event(self) -> Event:
        try:
            event = self._ended.get(timeout=_TICK_SECONDS)()
        except queue.Empty:
            self._progress(self._stage)
            return lifecycle.ClockTicked()
        self._heard_seconds = time.monotonic()
        return event or lifecycle.ClockTicked()

    def _look_after(self, generation: Generation) -> Finish | None:
        """Notice what nobody tells: that the graph is gone, or the workers that tasks wait for."""
        reason = None
        if not generation.is_alive:
            reason = self._why_lost(f"worker {generation.roles.graph_name} died")
        elif time.monotonic() - self._heard_seconds > _QUIET_SECONDS:
            # A batch may take longer than this; a task for workers that are gone takes for ever.
            try:
                if not self._cluster.roles().same_places(generation.roles):
                    reason = "workers left"
            except ClusterError as error:
                return self._handle(lifecycle.GraphFailed(generation.number, error))
            self._heard_seconds = time.monotonic()
        return self._handle(lifecycle.GraphLost(generation.number, reason)) if reason else None

    def _why_lost(self, reason: str) -> str:
        """What the graph's worker said before it ended itself, else ``reason``."""
        words = self._last_words.newest()
        return f"its worker ended itself: {words}" if words else reason

    def _handle(self, event: Event) -> Finish | None:
        pending: list[Instruction] = self._machine.handle(event, time.monotonic())
        for instruction in pending:
            match instruction:
                case Finish():
                    return instruction
                case StartGraph(generation):
                    self._tell(self._start_graph(generation))
                case Load(_, batch_id):
                    self._load(batch_id)
                case Apply(_, batch_id):
                    self._apply(batch_id)
                case Pin(_, boundary, results, checkpoint, epoch):
                    pin = partial(
                        tasks.pin_graph, results=results, checkpoint=checkpoint, epoch=epoch
                    )
                    self._submit("pin", boundary, pin, boundary)
                    self._fetch("pin", boundary)
                case Analyse(_, boundary):
                    wanted = self._files.analytics
                    arguments = {name: dict(each.arguments) for name, each in wanted.items()}
                    kinds = {name: each.kind for name, each in wanted.items()}
                    self._read("analytics", tasks.analyse_pinned, boundary, arguments, kinds)
                case Capture(_, boundary):
                    share = self._settings.handover != "dask"
                    self._read("checkpoint", partial(tasks.copy_pinned, share=share), boundary)
                case WriteResults(boundary):
                    write_results = partial(self._files.write_results, boundary - 1)
                    self._write(partial(write_results, *self._results))
                    self._results = {}, None
                case WriteCheckpoint(first, boundary):
                    assert self._copy is not None
                    assert self._arrays is not None
                    assert [report.batch_id for report in self._copy.reports] == list(
                        range(first, boundary)
                    ), "the actor's reports are not those of the checkpoint"
                    write = self._files.write_checkpoint
                    self._write(partial(write, boundary - 1, self._copy, self._arrays))
                    self._copy = self._arrays = None
                case Discard():
                    self._discard()
        return None

    # -- the graph

    def _start_graph(self, number: int) -> Event:
        self._progress("start" if number == 0 else "recover")
        if self._settings.scheduler is None:
            self._files.leftovers.note()
        beginning = self._beginning()
        try:
            self._generation = start_generation(
                self._cluster,
                number,
                f"graphtide-{self._run_id}-graph-{number}",
                beginning,
                self._settings.start_timeout_seconds,
            )
        except GraphLostError as error:
            return lifecycle.GraphLost(number, self._why_lost(str(error)))
        except Exception as error:
            return lifecycle.GraphFailed(number, error)
        if number == 0:
            self._start_seconds = time.monotonic()
        self._applies = Applies(beginning.boundary)
        self._notice = Notice(beginning.boundary, *self._files.newest_size())
        return lifecycle.GraphStarted(number, beginning.boundary)

    def _beginning(self) -> Beginning:
        """The newest checkpoint, and what is to come after it."""
        graph, files = self._settings.graph, self._files
        boundary, arrays = files.newest_graph()
        return Beginning(
            graph_arguments={
                **graph.graph_arguments(),
                "expected_edges": files.most_edges(),
                "time_unit": files.log.time_unit,
            },
            meaning=graph.row_meaning(),
            boundary=boundary,
            arrays=arrays,
            batch_rows=files.largest_batch(boundary),
            ring=self._ring_size(boundary),
            must_have_ring=self._settings.handover == "ring",
            raw=self._raw,
            # Workers of another cluster may have what this machine has not.
            on_gpu=uses_gpu(self._settings) if self._settings.scheduler is None else None,
            analytics=tuple({each.kind: None for each in files.analytics.values()}),
            id_types=files.listing.id_types,
            state_hash=files.newest_hash(),
        )

    def _ring_size(self, boundary: int) -> RingSize | None:
        rows = self._files.largest_batch(boundary)
        if self._settings.handover == "dask" or rows == 0:
            return None
        window = min(self._machine.window, self._files.batches - boundary)
        loads = self._machine.max_loads or window
        graph = self._settings.graph
        is_narrow = graph.ids == "dense" or (self._raw and self._files.listing.has_narrow_ids)
        id_bytes = 4 if is_narrow else 8
        return ring_size(window, loads, rows, graph.record, id_bytes=id_bytes, raw=self._raw)

    def _discard(self) -> None:
        """Forget a generation; Dask drops the tasks that nobody holds."""
        self._loads.give_up()
        # Answers on their way end with that. If they were cancelled, Dask would leave a task of its
        # own behind, whose error nobody takes.
        for future in self._futures.values():
            future.release()
        self._answers.clear()
        self._futures.clear()
        self._results = {}, None
        self._copy = self._arrays = self._notice = None
        self._applies = Applies(self._machine.applied)
        if self._generation is not None:
            self._generation.close(self._cluster.client)
        self._generation = None

    def _key(self, kind: str, number: int) -> str:
        assert self._generation is not None
        return f"graphtide-{self._run_id}-{kind}-{self._generation.number}-{number}"

    def _load(self, batch_id: int) -> None:
        assert self._generation is not None
        future = self._cluster.client.submit(
            tasks.load_batch,
            self._files.rows_of(batch_id),
            self._settings.graph.row_meaning(),
            self._generation.places.take(batch_id),
            self._generation.form,
            key=self._key("load", batch_id),
            **self._generation.roles.cpu_pin,
        )
        self._futures["load", batch_id] = future
        self._loads.watch(future, lifecycle.BatchLoaded(self._generation.number, batch_id))

    def _apply(self, batch_id: int) -> None:
        assert self._generation is not None
        # From here on the load lives as long as the apply that depends on it.
        load = self._futures.pop(("load", batch_id))
        task = self._submit("apply", batch_id, tasks.apply_batch, load.key, batch_id, load)
        ended = partial(self._apply_ended, self._generation.number, batch_id)
        task.add_done_callback(lambda task: self._ended.put(partial(ended, task)))

    def _apply_ended(self, generation: int, batch_id: int, task: Future) -> Event | None:
        """Take an apply for done without its answer, but for one now and then, and for errors."""
        if self._generation is None or self._generation.number != generation:
            return None
        is_taken = task.status == "finished"
        if is_taken and time.monotonic() < self._notice_due:
            del self._futures["apply", batch_id]
        else:
            self._notice_due = time.monotonic() + _NUMBERS_SECONDS
            self._fetch("apply", batch_id)
        return self._taken(generation, batch_id) if is_taken else None

    def _taken(self, generation: int, batch_id: int) -> Event:
        """The actor has a batch; so the graph has all before the first that it has not."""
        assert self._generation is not None
        before = self._applies.boundary
        boundary = self._applies.end(batch_id)
        if boundary > before:
            self._generation.places.give_back(boundary)
            self.ingest_seconds = time.monotonic() - self._start_seconds
        self._progress("apply")
        return lifecycle.BatchesApplied(generation, boundary)

    def _read(self, kind: str, task: Callable[..., Any], boundary: int, *arguments: Any) -> None:
        """Have a task read what is pinned, while batches go on, and fetch what it brings."""
        self._progress(kind)
        self._submit(kind, boundary, task, boundary, *arguments, executor="default")
        self._fetch(kind, boundary)

    def _submit(
        self,
        kind: str,
        number: int,
        task: Callable[..., Any],
        *arguments: Any,
        executor: str = "actor",
    ) -> Future:
        """Run a task beside the actor: on its thread, unless ``executor`` names others."""
        generation, client = self._generation, self._cluster.client
        assert generation is not None
        with dask.annotate(executor=executor):
            future = client.submit(
                task,
                generation.actor_key,
                *arguments,
                key=self._key(kind, number),
                **generation.roles.graph_pin,
            )
        self._futures[kind, number] = future
        return future

    def _fetch(self, kind: str, number: int) -> None:
        """What a task beside the actor brings becomes an event, when it has ended."""
        assert self._generation is not None
        ended = partial(self._graph_task_ended, self._generation.number, kind, number)
        # On the client's own loop, so that nothing waits here for a worker that is dead.
        answer = asyncio.run_coroutine_threadsafe(
            _answer(self._futures[kind, number]), self._cluster.client.loop.asyncio_loop
        )
        self._answers.add(answer)
        answer.add_done_callback(lambda answer: self._ended.put(partial(ended, answer)))

    def _graph_task_ended(
        self, generation: int, kind: str, number: int, answer: "concurrent.futures.Future[Any]"
    ) -> Event | None:
        if self._generation is None or self._generation.number != generation:
            return None
        self._answers.discard(answer)
        del self._futures[kind, number]
        if answer.cancelled():
            return lifecycle.GraphLost(generation, "the scheduler went away")
        error = answer.exception()
        if error is None:
            return self._answered(generation, kind, number, answer.result())
        if isinstance(error, GraphStoppedError):
            return self._stopped(generation, error.notice)
        file = self._files.shown(number) if kind == "apply" else ""
        error = explain(error, self._key("load", number), file)
        if isinstance(error, GraphLostError):
            return lifecycle.GraphLost(generation, self._why_lost(str(error)))
        if kind == "apply":
            return lifecycle.BatchFailed(generation, number, error)
        return lifecycle.GraphFailed(generation, error)

    def _answered(self, generation: int, kind: str, number: int, answer: Any) -> Event | None:
        match kind:
            case "apply":
                # Two may be on their way at once.
                if self._notice is None or answer.boundary > self._notice.boundary:
                    self._notice = answer
                return self._taken(generation, number)
            case "analytics":
                self._results = answer
                return lifecycle.Analysed(generation, number)
            case "pin":
                return lifecycle.Pinned(generation, number, answer)
            case "checkpoint":
                self._copy = answer
                return self._copied(generation, number, answer.arrays)
            case _:
                return self._copied(generation, number, answer)

    def _stopped(self, generation: int, notice: Notice) -> Event:
        """A batch could not be applied; all before it are."""
        assert notice.error is not None
        assert notice.failed_batch is not None
        if notice.is_broken:
            return lifecycle.GraphFailed(generation, notice.error)
        self._tell(lifecycle.BatchFailed(generation, notice.failed_batch, notice.error))
        return lifecycle.BatchesApplied(generation, notice.boundary)

    def _copied(
        self, generation: int, boundary: int, arrays: Arrays | ArraysAddress
    ) -> Event | None:
        """Take the arrays of a copy to us; None where they have to be sent."""
        if isinstance(arrays, ArraysAddress):
            try:
                arrays = open_arrays(arrays)
            except OSError:
                self._submit("arrays", boundary, tasks.send_copy)
                self._fetch("arrays", boundary)
                return None
        self._arrays = arrays
        fire_and_forget(self._submit("let_go", boundary, tasks.let_go_of_copy))
        del self._futures["let_go", boundary]
        return lifecycle.Captured(generation, boundary)

    # -- files

    def _write(self, job: Callable[[], None]) -> None:
        """Do one write after the other; after one that failed, no other."""

        def write() -> None:
            if self._write_failed:
                return
            try:
                job()
            except Exception as error:
                self._write_failed = True
                self._tell(lifecycle.WriteFailed(error))
            else:
                self._tell(lifecycle.Written())

        self._writer.submit(write)

    # -- progress

    def _progress(self, stage: str) -> None:
        self._stage = stage
        boundary = self._applies.boundary
        rows = self._files.rows_before(boundary) - self._files.rows_before(self._first)
        elapsed = time.monotonic() - self._start_seconds
        size = self._notice or Notice(boundary, *self._files.newest_size())
        self._on_progress(
            replace(
                beginning_of(self._files),
                batches_done=boundary,
                rows_done=rows,
                rows_per_second=rows / elapsed if elapsed > 0 else 0.0,
                num_vertices=size.num_vertices,
                num_edges=size.num_edges,
                rows_total=self._files.rows_before(self._files.batches)
                - self._files.rows_before(self._first),
                stage=stage,
                dashboard=self._cluster.dashboard,
            )
        )


async def _answer(future: Future) -> Any:
    return await future


def run(
    log: str | tuple[str, ...],
    state: str,
    settings: RunSettings,
    on_progress: Callable[[Progress], None] | None = None,
) -> RunSummary:
    """Apply every batch of a log that is not applied yet, and write what is due.

    Parameters
    ----------
    log
        Folder, file, pattern or URL of the update log, or several of them in order.
    state
        Folder of the state; made where there is none.
    settings
        What, how and where.
    on_progress
        Called in this thread, many times a second, with how far the run is.

    Raises
    ------
    GraphtideError
        What ended the run before its end; the state is whole up to its newest checkpoint.
    """
    with open_files(log, state, settings, batch_rows(settings)) as files:
        running = RunningFile(files.state)

        def tell(progress: Progress) -> None:
            running.tell(progress.values())
            if on_progress is not None:
                on_progress(progress)

        try:
            return _run(files, settings, tell)
        finally:
            running.remove()


def _run(
    files: RunFiles, settings: RunSettings, on_progress: Callable[[Progress], None]
) -> RunSummary:
    first = files.checkpointed
    results_missing = files.results_missing()
    if first == files.batches and not results_missing:
        return files.summary(first, 0.0, 0.0, nothing_to_do=True)
    on_progress(beginning_of(files))
    with ExitStack() as stack:
        if settings.scheduler is None:
            stack.callback(files.leftovers.forget)
        cluster = stack.enter_context(open_cluster(settings))
        roles = cluster.roles()
        machine = Lifecycle(
            batches=files.batches,
            checkpointed=first,
            window=window_size(settings, roles),
            max_loads=max_loads(roles),
            analytics_every=settings.analytics_every if settings.analytics else 0,
            checkpoint_seconds=settings.checkpoint_seconds,
            checkpoint_batches=settings.checkpoint_batches,
            results_missing=results_missing,
            graph_restarts=settings.graph_restarts,
        )
        loop = _Loop(cluster, machine, files, settings, on_progress)
        stack.enter_context(graph_metrics(cluster.client))
        loop.run()
    return files.summary(first, loop.seconds, loop.ingest_seconds, nothing_to_do=False)
