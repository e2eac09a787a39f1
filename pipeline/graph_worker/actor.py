"""The actor that owns the graph: it lives on the graph worker and applies batches in log order.

Batches come from tasks that Dask may run in any order, run again, or run on behalf of a graph that
is long gone. Three rules make each batch's effect be there exactly once, in order:

* a batch that comes early waits in a reorder buffer, and is applied with the one that it waits for;
* a batch that was applied already, or waits already, is ignored;
* an actor is one *generation*, with a key of its own, and tasks find it by that key: a task of
  another generation finds nothing (`tasks.local_actor`), and a batch in another's memory is refused
  (`inbox.Inbox`).

The window of the client bounds the buffer: no batch is sent that is further from the next one.

A batch that is refused leaves the graph as before it. The actor then keeps its graph and refuses
all later batches; what came before it can be analyzed and checkpointed. After any other error the
graph is not trusted any more (`GraphStatus.is_broken`). If this process has lost the GPU of the
graph, it ends itself (`exit_reasons.py`).

Methods run on the one thread that Dask has for actors. Exceptions are the constructor, which runs
on another thread before any method, and `pin`, `copy_pinned` and the methods of `reads`, each of
which runs on a thread of its own. `pin` is called early, and waits until the graph is at its
boundary; it and the thread that applies batches exclude each other by one lock. The next batch
names the pin, so it cannot overtake it: whichever of the two threads comes first makes the pin. If
there is no memory for it, both wait until another pinned graph is released.

Dask starts no more tasks at once than a worker has threads, and a batch that waits holds the thread
of the actor. So before `apply` waits it calls ``give_way``, which lets Dask start another thread
for methods of the actor; batches that arrive there are left to the thread that waits.

Not here: how a batch gets here (``handover.py``, ``inbox.py``), when anything is done
(``lifecycle.py``), and how pinned graphs are read (``pinned_reads.py``).
"""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Condition
from typing import Any

from ...gpu_core.errors import ArenaFullError, BatchError
from ...gpu_core.face.graph_reader import GraphReader
from ...gpu_core.graph import DynamicGraph
from ...gpu_core.maintenance import Settles
from ...gpu_core.report import BatchSource
from ...io.state.checkpoint import check_state_hash
from ..monitoring import worker_metrics as monitoring
from ..state_machine.instructions import Pin
from ..workers.warm_up import warm_graph
from .actor_arguments import ActorArguments
from .batches import AppliedBatch, LoadedBatch
from .exit_reasons import ends_with_its_device
from .graph_status import GraphStatus, pickled_error
from .inbox import Inbox
from .memory_looks import MemoryLooks
from .pin_requests import PinRequests
from .pinned import (
    Arrays,
    CopiedGraph,
    Copy,
    PinAnswer,
    PinnedAs,
    PinnedBoundary,
    PinnedQueue,
    is_copied_at_once,
)
from .pinned_reads import PinnedReads
from .ring import RingAddress

#: Errors of ``DynamicGraph.apply`` that leave the graph as before the batch.
_REFUSALS = (BatchError, ArenaFullError)

#: Batches opened before they are due: they are on their way to a GPU while others are applied.
_AHEAD = 2


@dataclass
class _WaitingBatch:
    """A batch that came before its turn, or is applied now."""

    loaded: LoadedBatch
    #: Pin that must be made before it; None: none.
    behind: Pin | None
    #: The batch for the graph, once it is opened.
    opened: Any = None

    def take_opened(self) -> Any:
        """The batch for the graph, to which nothing here refers any more."""
        opened, self.opened = self.opened, None
        return opened


class GraphActor:
    """One generation of the graph.

    Parameters
    ----------
    arguments
        What it is made of.
    checkpoint
        Arrays of the graph at its boundary; None: an empty graph.

    Raises
    ------
    StateError
        The graph made of ``checkpoint`` has another state hash than it must have.
    """

    def __init__(self, arguments: ActorArguments, checkpoint: Arrays | None = None) -> None:
        graph_arguments, boundary = arguments.graph_arguments, arguments.boundary
        window = arguments.window
        with ends_with_its_device():
            if checkpoint is None:
                self._graph = DynamicGraph(**graph_arguments)
            else:
                self._graph = DynamicGraph.from_checkpoint_arrays(checkpoint, **graph_arguments)
                if arguments.state_hash is not None:
                    check_state_hash(self._graph.state_hash(), arguments.state_hash, boundary - 1)
            maintain = arguments.maintained(self._graph.engine)
            self._graph.maintain_only(maintain)
            self._graph.compile_ahead(arguments.analytics, raw=arguments.raw)
            # Where batches have names or properties, the graph enters these, and sends the rest.
            feed = None if self._graph.kind.has_host_tables else self._graph.feed()
            self._inbox = Inbox(arguments.ring, boundary, feed)
            with self._inbox.locking():
                warm_graph(
                    {**graph_arguments, "create_vertices": True},
                    raw=arguments.raw,
                    expires=window.length is not None,
                    maintain=maintain,
                )
        self._boundary = boundary
        #: Held while a batch is applied or the graph is pinned; notified when the boundary changes.
        self._boundary_lock = Condition()
        #: Whether a thread applies what is due, or waits until it may.
        self._is_applying = False
        self._is_closed = self._is_released = False
        self._window = window
        #: The reorder buffer: batches that are not applied yet, by number.
        self._waiting: dict[int, _WaitingBatch] = {}
        self._failure: GraphStatus | None = None
        #: Graphs that results and copies are made of, the oldest first.
        self._pinned = PinnedQueue()
        #: Requests for them.
        self._pins = PinRequests(self._pinned)
        #: Computes these results, and makes the copies.
        self.reads = PinnedReads(self._pinned)
        #: Batches since the newest copy.
        self._applied: list[AppliedBatch] = []
        #: Of the newest batch.
        self._source: BatchSource | None = None
        #: Stage -> seconds of all batches applied here.
        self._seconds: Counter[str] = Counter()
        self._memory = MemoryLooks(self._graph)
        self._pages_used = self._memory.arena.pages_used
        self._publish()

    @property
    def ring(self) -> RingAddress | str:
        """Address of the ring for CPU workers of this machine, or why there is none."""
        return self._inbox.address

    @property
    def engine(self) -> str:
        """Engine of the graph: ``host`` or ``cuda``."""
        return self._graph.engine

    def apply(
        self,
        batch_id: int,
        loaded: LoadedBatch,
        behind: Pin | None = None,
        give_way: Callable[[], object] | None = None,
    ) -> GraphStatus:
        """Accept a batch, and apply all batches that are due now.

        Waits if the graph must be pinned first and there is no memory for that.

        Parameters
        ----------
        batch_id
            Its number.
        loaded
            The batch.
        behind
            Pin of the boundary before it, which it must not overtake.
        give_way
            Called once before it waits.
        """
        if self._failure is not None:
            return self._failure
        with self._boundary_lock:
            if batch_id >= self._boundary:
                self._inbox.check(loaded.payload)
                self._waiting.setdefault(batch_id, _WaitingBatch(loaded, behind))
            if self._is_applying:
                return self.status()
            self._is_applying = True
        try:
            return self._apply_due(give_way)
        except BaseException:
            self._end_apply()
            raise

    def _apply_due(self, give_way: Callable[[], object] | None) -> GraphStatus:
        """Apply the batches that are due, and those that become due meanwhile."""
        while True:
            released = self._pinned.released
            with self._boundary_lock:
                is_due = self._has_next and self._pin_before_next()
                if is_due:
                    self._apply_next()
                    self._boundary_lock.notify_all()
                if not self._has_next:
                    if self._failure is None:
                        with ends_with_its_device():
                            self._open_ahead()
                    self._publish()
                    status = self._failure or self.status()
                    self._end_apply()
                    return status
            if not is_due:
                if give_way is not None:
                    give_way()
                    give_way = None
                self._pinned.wait_for_release(released)

    @property
    def _has_next(self) -> bool:
        """Whether the next batch to be applied has arrived."""
        is_over = self._failure is not None or self._is_closed
        return self._boundary in self._waiting and not is_over

    def _pin_before_next(self) -> bool:
        """Make the pin that the next batch must not overtake; returns whether it may be applied.

        It may not where there is no memory for the pin, nor while the graph itself is pinned.
        """
        behind = self._waiting[self._boundary].behind
        is_pinned = behind is None or self._pins.make_once(behind, self._pin)
        return is_pinned and not self._pinned.has(self._graph)

    def _end_apply(self) -> None:
        with self._boundary_lock:
            self._is_applying = False
            self._boundary_lock.notify_all()

    def _apply_next(self) -> None:
        """Apply the batch that is due."""
        start = time.perf_counter()
        due = self._waiting[self._boundary]
        done = due.loaded
        try:
            with ends_with_its_device():
                self._open(self._boundary)
                self._open_ahead()
                report = self._graph.apply(due.take_opened())
                report = self._window.slide(self._graph, report, done.times)
        except Exception as error:
            self._fail(error)
            return
        del self._waiting[self._boundary]
        self._source = done.source
        self._pages_used = report.pages_used
        seconds = {**done.seconds, "apply": time.perf_counter() - start}
        self._seconds.update(seconds)
        quarantined = done.left_out.rows if done.left_out else 0
        report = report._replace(
            batch_id=self._boundary,
            rows=report.rows + quarantined,
            quarantined=quarantined,
            seconds=seconds,
            source=done.source,
        )
        self._applied.append(AppliedBatch(report, done.reader, done.sums, done.left_out))
        monitoring.count_batch(report, done.reader)
        self._boundary += 1
        self._pins.move_on()
        self._inbox.advance(self._boundary, done.payload)

    def _open(self, batch_id: int) -> None:
        waiting = self._waiting.get(batch_id)
        if waiting is not None and waiting.opened is None:
            waiting.opened = self._inbox.open(waiting.loaded.payload)

    def _open_ahead(self) -> None:
        # An error is raised when the batch is due, which opens it again.
        with suppress(Exception):
            for ahead in range(1, _AHEAD + 1):
                self._open(self._boundary + ahead)

    def status(self) -> GraphStatus:
        """Progress of the graph, and its memory."""
        memory = self._memory.seen(self._pages_used)
        size = int(self._graph.num_vertices), int(self._graph.num_edges)
        return GraphStatus(self._boundary, *size, memory, dict(self._seconds))

    def _status_between_batches(self) -> GraphStatus | None:
        """Status of the graph; None while a batch is applied, whose reply has it.

        For threads other than that of the batches; after the last batch nothing else reads it.
        """
        if not self._boundary_lock.acquire(blocking=False):
            return None
        try:
            if self._is_closed:
                return None
            self._memory.look()
            self._publish()
            return self.status()
        finally:
            self._boundary_lock.release()

    def _fail(self, error: Exception) -> None:
        self._waiting.clear()
        self._failure = replace(
            self.status(),
            failed_batch=self._boundary,
            pickled_error=pickled_error(error),
            is_broken=not isinstance(error, _REFUSALS),
        )

    def pin(self, request: Pin) -> PinAnswer:
        """Pin the graph of a boundary, beside those pinned already.

        Waits until the graph is at that boundary, and until there is memory for it.
        """
        boundary = request.boundary
        with self._boundary_lock:
            self._boundary_lock.wait_for(
                lambda: self._boundary >= boundary or self._failure is not None or self._is_closed
            )
            self._pins.start(request)
        while True:
            released = self._pinned.released
            with self._boundary_lock:
                is_there = self._boundary >= boundary and not self._is_closed
                answer = self._pins.answer(request)
                if answer is None and is_there:
                    self._pins.make_once(request, self._pin)
                    answer = self._pins.answer(request)
            if answer is not None:
                return answer
            if not is_there:
                return PinAnswer("missed")
            self._pinned.wait_for_release(released)

    def _pin(self, request: Pin) -> PinnedAs | None:
        """Pin the graph; None: there is no memory for that beside the others."""
        if request.boundary != self._boundary:
            msg = f"the graph stands before batch {self._boundary}, not {request.boundary}"
            raise AssertionError(msg)
        others = len(self._pinned)
        kept: GraphReader | CopiedGraph = self._graph
        with ends_with_its_device(), suppress(ArenaFullError):
            if request.epoch and not request.results and is_copied_at_once(self._graph):
                kept = CopiedGraph.of(self._graph)
            elif request.epoch:
                # Analytics take up to as much again for themselves.
                spare = self._graph.memory().graph_bytes if request.results else 0
                # Checkpoints come by the clock, and must not show in the bits of results. These
                # are computed in the order of batches: ranks are made there, beside later batches.
                settles: Settles = "later" if request.results else False
                kept = self._graph.pin(spare_bytes=spare, settles=settles)
        is_epoch = kept is not self._graph
        if request.epoch and not is_epoch and others:
            return None
        pinned = PinnedBoundary(
            request.boundary, kept, request.checkpoint, self._source, self._window.kept()
        )
        if request.checkpoint:
            pinned = replace(pinned, batches=self._applied, routes=self._inbox.routes())
            self._applied = []
        self._pinned.append(pinned)
        return "epoch" if is_epoch else "graph"

    def copy_pinned(self, boundary: int, *, share: bool = False) -> Copy:
        """Copy what is pinned, as `PinnedReads.copy`, with the state of the graph by then."""
        copied = self.reads.copy(boundary, share=share)
        return replace(copied, status=self._status_between_batches())

    def stop(self) -> None:
        """End all waits for the graph: nothing is asked of it any more."""
        with self._boundary_lock:
            self._is_closed = True
            self._boundary_lock.notify_all()
        self._pinned.give_up()

    def close(self) -> None:
        """Release the graph and its ring, even while something refers to this actor; once.

        The frames of an error in a reference cycle may, until the garbage collector runs, which
        may be never in an idle worker.
        """
        self.stop()
        with self._boundary_lock:
            self._boundary_lock.wait_for(lambda: not self._is_applying)
            if self._is_released:
                return
            self._is_released = True
        self._inbox.close()
        self._waiting.clear()
        self._pins.clear()
        self.reads.clear()
        self._pinned.clear()
        del self._inbox, self._memory, self._graph

    def _publish(self) -> None:
        monitoring.publish(
            {
                "batches": self._boundary,
                "early": len(self._waiting),
                "vertices": int(self._graph.num_vertices),
                "edges": int(self._graph.num_edges),
                "arena_bytes": self._memory.arena.arena_bytes,
                "pinned_bytes": self._memory.arena.pinned_bytes,
            }
        )
