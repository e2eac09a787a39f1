"""The client of one generation of the graph: sends its tasks, and makes events of their answers.

An answer comes on a thread of Dask's. It is posted to the queue of the run's loop as a function,
which the loop calls in its own thread, and which returns the event that the answer amounts to, if
any. After `close` no answer makes an event: the generation is lost, or the run is over.

Not here: which tasks are sent and when (``lifecycle.py``), what they do (``tasks.py``,
``actor.py``), how Dask gets them (``in_flight.py``) and what their errors mean (``answers.py``).
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from distributed import Future

from ...config.settings import RunSettings
from .. import tasks
from ..graph_worker.batch_results import BatchResults, SharedResults
from ..graph_worker.exit_reasons import ExitReasons
from ..graph_worker.graph_status import GraphStatus, GraphStoppedError
from ..graph_worker.pinned import Arrays, Copy, PinAnswer
from ..graph_worker.shared_arrays import ArraysAddress, open_arrays
from ..monitoring.picture import RunMonitor
from ..run_files import RunFiles
from ..state_machine import events
from ..state_machine.apply_progress import ApplyProgress
from ..state_machine.events import Event
from ..state_machine.instructions import Apply, Pin
from .answers import Answer, explain, of_file
from .generation import GraphLostError
from .in_flight import TasksInFlight
from .pending_loads import PendingLoads

#: Seconds between two applies whose answer is fetched, for the status in it.
_STATUS_SECONDS = 0.1

#: Makes the event that an answer amounts to, if any; called by the loop of the run.
EventMaker = Callable[[], Event | None]

#: The same, of the number of a task and its result.
OnAnswer = Callable[[int, Any], Event | None]


class GraphClient:
    """Requests to one generation, and what came of them.

    Parameters
    ----------
    tasks_in_flight
        Tasks of the generation.
    files
        Files of the run.
    settings
        Settings of the run.
    post
        Has the loop of the run call a function; called by any thread.
    monitor
        Gets each status of the graph, and results that failed.
    exit_reasons
        What workers reported before they ended themselves.
    on_applied
        Called by the loop when a batch is in the graph.
    """

    def __init__(
        self,
        tasks_in_flight: TasksInFlight,
        files: RunFiles,
        settings: RunSettings,
        post: Callable[[EventMaker], None],
        monitor: RunMonitor,
        exit_reasons: ExitReasons,
        on_applied: Callable[[], None],
    ) -> None:
        self.generation = tasks_in_flight.generation
        #: The newest status that was fetched, and when the next one is due.
        self.status: GraphStatus = self.generation.initial_status
        self._status_due = 0.0
        self._tasks = tasks_in_flight
        self._files = files
        self._meaning = settings.graph.row_meaning()
        #: Whether arrays come here through shared memory.
        self._shares = settings.handover != "dask"
        self._post = post
        self._monitor = monitor
        self._exit_reasons = exit_reasons
        self._on_applied = on_applied
        self._loads = PendingLoads(self._report)
        self._applies = ApplyProgress(self.status.boundary)
        #: Results by boundary, and the copy for a checkpoint with its arrays, until they are taken.
        self._results: dict[int, BatchResults] = {}
        self._copy: Copy | None = None
        self._arrays: Arrays | None = None
        self._is_closed = False

    @property
    def boundary(self) -> int:
        """The graph has all batches before this one."""
        return self._applies.boundary

    def close(self) -> None:
        """Release all tasks; Dask drops those that are not held elsewhere."""
        self._is_closed = True
        self._loads.release_all()
        self._tasks.discard()
        self._results.clear()
        self._copy = self._arrays = None

    def _report(self, event: Event) -> None:
        self._post(lambda: event)

    # -- loads and applies

    def load(self, batches: Sequence[int]) -> None:
        """Have CPU workers read and convert batches; each ends with a BatchLoaded."""
        slots = self.generation.slots
        loads = self._tasks.load(
            batches,
            [self._files.log.rows_of(batch_id) for batch_id in batches],
            self._meaning,
            [slots.take(batch_id) for batch_id in batches],
            self.generation.form,
        )
        for batch_id, load in zip(batches, loads, strict=True):
            self._loads.watch(load, events.BatchLoaded(self.generation.number, batch_id))

    def apply(self, applies: Sequence[Apply]) -> None:
        """Hand loaded batches to the graph, each behind its pin, if it has one."""
        batches = [each.batch_id for each in applies]
        behind = [each.behind for each in applies]
        for batch_id, task in zip(batches, self._tasks.apply(batches, behind), strict=True):
            ended = partial(self._on_apply_ended, batch_id)
            task.add_done_callback(lambda task, ended=ended: self._post(partial(ended, task)))

    def _on_apply_ended(self, batch_id: int, task: Future) -> Event | None:
        """Take an apply for done without its answer, except for errors, and one now and then."""
        if self._is_closed:
            return None
        has_succeeded = task.status == "finished"
        if has_succeeded and time.monotonic() < self._status_due:
            self._tasks.drop("apply", batch_id)
        else:
            self._status_due = time.monotonic() + _STATUS_SECONDS
            self._fetch("apply", batch_id, self._on_apply_answer)
        return self._actor_has(batch_id) if has_succeeded else None

    def _on_apply_answer(self, batch_id: int, status: GraphStatus) -> Event:
        self._update_status(status)
        return self._actor_has(batch_id)

    def _actor_has(self, batch_id: int) -> Event:
        """The actor has a batch; so the graph has all before the first that it has not."""
        event = self._graph_has(self._applies.end(batch_id))
        self._on_applied()
        return event

    def _graph_has(self, boundary: int) -> Event:
        """The graph has all batches before a boundary, which may have been known already."""
        self.generation.slots.give_back(boundary)
        return events.BatchesApplied(self.generation.number, boundary)

    def _update_status(self, status: GraphStatus) -> None:
        """Take a status, unless a newer one came before it."""
        if status.boundary >= self.status.boundary:
            self.status = status
            self._monitor.update(status)

    # -- requests beside the actor

    def _request(
        self,
        kind: str,
        boundary: int,
        task: Callable[..., Any],
        *arguments: Any,
        on_answer: OnAnswer,
        executor: str = "actor",
    ) -> None:
        """Send a task of a boundary; ``on_answer`` makes an event of its result."""
        self._tasks.submit(kind, boundary, task, *arguments, executor=executor)
        self._fetch(kind, boundary, on_answer)

    def _fetch(self, kind: str, number: int, on_answer: OnAnswer) -> None:
        """Have the loop call ``on_answer`` with the result of a task, when that has ended."""
        answered = partial(self._answered, kind, number, on_answer)
        self._tasks.fetch(kind, number, lambda answer: self._post(partial(answered, answer)))

    def _answered(
        self, kind: str, number: int, on_answer: OnAnswer, answer: Answer
    ) -> Event | None:
        if self._is_closed:
            return None
        generation = self.generation.number
        self._tasks.drop(kind, number)
        if answer.cancelled():
            return events.GraphLost(generation, "the scheduler went away")
        error = answer.exception()
        if error is None:
            return on_answer(number, answer.result())
        if isinstance(error, GraphStoppedError):
            return self._stopped(error.status)
        file = self._files.log.shown(number) if kind == "apply" else ""
        error = explain(error, self._tasks.key("load", number), file)
        if isinstance(error, GraphLostError):
            return events.GraphLost(generation, self._exit_reasons.newest_or(str(error)))
        if kind == "apply":
            return events.BatchFailed(generation, number, error)
        return events.GraphFailed(generation, error)

    def _stopped(self, status: GraphStatus) -> Event:
        """A batch could not be applied; all before it are."""
        assert status.error is not None
        assert status.failed_batch is not None
        generation = self.generation.number
        if status.is_broken:
            return events.GraphFailed(generation, status.error)
        error = of_file(status.error, self._files.log.shown(status.failed_batch))
        self._report(events.BatchFailed(generation, status.failed_batch, error))
        return events.BatchesApplied(generation, status.boundary)

    # -- pins and their results

    def pin(self, pin: Pin) -> None:
        """Pin the graph at a boundary, and compute the results that are due there."""
        requests = self._files.result_requests(pin.results, pin.boundary, is_last=not pin.epoch)
        self._request(
            "analytics" if pin.results else "pin",
            pin.boundary,
            partial(tasks.pin_graph, share=self._shares),
            pin,
            requests,
            on_answer=self._on_pin_answer,
            executor="default",
        )

    def _on_pin_answer(self, boundary: int, answer: PinAnswer) -> None:
        """Report a pin, unless the graph never was at its boundary, and then its results."""
        if answer.kept == "missed":
            return
        self._report(self._graph_has(self._applies.reach(boundary)))
        is_epoch = answer.kept == "epoch"
        number = self.generation.number
        self._report(events.GraphPinned(number, boundary, is_epoch, answer.most_pinned))
        if (results := answer.results) is not None:
            self._post(partial(self._open_results, boundary, results))

    def _open_results(self, boundary: int, results: BatchResults | SharedResults) -> Event | None:
        if self._is_closed:
            return None
        if not isinstance(results, SharedResults):
            return self._keep_results(boundary, results)
        try:
            opened = results.opened()
        except OSError:
            # Their memory is on another machine: Dask sends them.
            self._request(
                "results", boundary, tasks.send_results, boundary, on_answer=self._on_shared_results
            )
            return None
        return self._on_shared_results(boundary, opened)

    def _on_shared_results(self, boundary: int, results: BatchResults) -> Event:
        """Results are here whose columns the graph worker still has in shared memory."""
        self._tasks.submit_and_forget("release_columns", boundary, tasks.release_columns)
        return self._keep_results(boundary, results)

    def _keep_results(self, boundary: int, results: BatchResults) -> Event:
        self._results[boundary] = results
        self._monitor.failed(results.failures(boundary - 1))
        return events.Analyzed(self.generation.number, boundary, results.has_columns)

    def take_results(self, boundary: int) -> BatchResults:
        """Results of a boundary whose Analyzed was reported; each is taken once."""
        return self._results.pop(boundary)

    # -- copies for checkpoints

    def copy(self, boundary: int) -> None:
        """Copy the oldest pinned graph for a checkpoint."""
        self._request(
            "checkpoint",
            boundary,
            partial(tasks.copy_pinned, share=self._shares),
            boundary,
            on_answer=self._on_copy_answer,
            executor="default",
        )

    def _on_copy_answer(self, boundary: int, copy: Copy) -> Event | None:
        self._copy = copy
        if copy.status is not None:
            # Of the last batches before it no answer may have been fetched.
            self._update_status(copy.status)
        return self._keep_arrays(boundary, copy.arrays)

    def _keep_arrays(self, boundary: int, arrays: Arrays | ArraysAddress) -> Event | None:
        if isinstance(arrays, ArraysAddress):
            try:
                arrays = open_arrays(arrays)
            except OSError:
                # Their memory is on another machine: Dask sends them.
                self._request(
                    "arrays", boundary, tasks.send_copy, boundary, on_answer=self._keep_arrays
                )
                return None
        self._arrays = arrays
        self._tasks.submit_and_forget("release_copy", boundary, tasks.release_copy)
        return events.GraphCopied(self.generation.number, boundary)

    def take_copy(self) -> tuple[Copy, Arrays]:
        """The copy whose GraphCopied was reported, and its arrays; it is taken once."""
        assert self._copy is not None
        assert self._arrays is not None
        copy, arrays = self._copy, self._arrays
        self._copy = self._arrays = None
        return copy, arrays
