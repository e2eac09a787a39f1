"""Tasks of one generation of the graph: submitted to Dask, and held until they have ended.

Dask drops a task whose Future is not held, so Futures are held here by kind and number, and
released together when their generation is discarded.

Keys begin with what a task does, then with its batch: ``load-batch-12-0-1f0c9a…``. Dask's pages put
tasks together that have the same words before the first number, under these words. The scheduler
keeps each such name for good, with the mean time that its tasks take: so the batch is none of the
words. All tasks of a run are one span of Dask's, named ``graphtide`` and by the state, which is
kept small by ``monitoring/span_groups.py``.

Tasks that are submitted at one moment go to the scheduler as one Dask graph: each graph takes it
about a millisecond, for which the first batches would wait.

No two tasks beside the actor have the same key, though a boundary may be pinned twice: for results,
and then for a checkpoint that has fallen due by the clock. With one key Dask would not run the
second task, but return the answer of the first, until the client has released that.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, Final

import dask
from distributed import Client, Future, span

from ...gpu_core.kind import RowMeaning
from ...io.log.bad_rows import RowsToRead
from .. import tasks
from ..batch_form import BatchForm
from ..graph_worker.handover import RingSlot
from ..state_machine.instructions import Pin
from ..workers.unheld_tasks import run_and_forget
from .answers import Answer, Answers
from .generation import Generation

#: Keyword arguments of ``dask.annotate``.
Annotation = Mapping[str, Any]

#: Kind of a task -> what it is called on Dask's pages.
_NAMES = {
    "load": "load-batch",
    "apply": "apply-batch",
    "pin": "pin-graph",
    "analytics": "compute-results",
    "results": "send-results",
    "release_columns": "drop-results",
    "checkpoint": "copy-graph",
    "arrays": "send-copy",
    "release_copy": "drop-copy",
}

#: Tasks have keys of ours: Dask need not hash their arguments to make one.
_NAMED: Final[Mapping[str, Any]] = {"pure": False}


def span_of_run(state: str) -> Annotation:
    """The annotation that puts tasks into the span of a run; one for all of them."""
    with span("graphtide", state):
        return {"span": dask.get_annotations()["span"]}


class TasksInFlight:
    """Tasks of one generation.

    Parameters
    ----------
    client
        Client of the cluster.
    run_id
        Keys of an earlier run on the same scheduler must never be met again.
    generation
        Where the graph is.
    annotation
        Of all tasks of the run; from `span_of_run`.
    """

    def __init__(
        self, client: Client, run_id: str, generation: Generation, annotation: Annotation
    ) -> None:
        self._client = client
        self._run_id = run_id
        self._annotation = annotation
        self.generation = generation
        #: (kind, number) -> task.
        self._futures: dict[tuple[str, int], Future] = {}
        self._answers = Answers(client)
        #: In the keys of tasks beside the actor.
        self._submitted = count()

    def key(self, kind: str, number: int) -> str:
        """Key of a load; what keys of other tasks begin with."""
        return f"{_NAMES[kind]}-{number}-{self.generation.number}-{self._run_id}"

    def load(
        self,
        numbers: Sequence[int],
        rows: Sequence[RowsToRead],
        meaning: RowMeaning,
        slots: Sequence[RingSlot | None],
        form: BatchForm,
    ) -> list[Future]:
        """Have CPU workers read and convert batches, in this order; as `tasks.load_batch`."""
        with dask.annotate(**self._annotation):
            loads = self._client.map(
                tasks.load_batch,
                rows,
                [meaning] * len(rows),
                slots,
                [form] * len(rows),
                key=[self.key("load", number) for number in numbers],
                **_NAMED,
                **self.generation.roles.cpu_pin,
            )
        return self._hold("load", numbers, loads)

    def apply(self, numbers: Sequence[int], behind: Sequence[Pin | None]) -> list[Future]:
        """Hand batches to the graph, each behind a pin or none.

        A load lives on as long as the apply that depends on it.
        """
        loads = [self._futures.pop(("load", number)) for number in numbers]
        keys = [load.key for load in loads]
        return self._submit("apply", numbers, tasks.apply_batch, keys, numbers, loads, behind)

    def submit(
        self,
        kind: str,
        number: int,
        task: Callable[..., Any],
        *arguments: Any,
        executor: str = "actor",
    ) -> Future:
        """Run a task beside the actor: on its thread, unless ``executor`` names others."""
        columns = [[argument] for argument in arguments]
        [future] = self._submit(kind, [number], task, *columns, executor=executor)
        return future

    def _submit(
        self,
        kind: str,
        numbers: Sequence[int],
        task: Callable[..., Any],
        *arguments: Sequence[Any],
        executor: str = "actor",
    ) -> list[Future]:
        """Run a task for each number; each of ``arguments`` has one for each."""
        generation = self.generation
        # The graph worker has one slot. Tasks beside the actor leave it at once (they secede), so
        # they go before batches, or they would wait for all that queue.
        priority = int(executor != "actor")
        with dask.annotate(executor=executor, priority=priority, **self._annotation):
            futures = self._client.map(
                task,
                [generation.actor_key] * len(numbers),
                *arguments,
                key=[f"{self.key(kind, number)}-{next(self._submitted)}" for number in numbers],
                **_NAMED,
                **generation.roles.graph_pin,
            )
        return self._hold(kind, numbers, futures)

    def _hold(self, kind: str, numbers: Sequence[int], futures: list[Future]) -> list[Future]:
        for number, future in zip(numbers, futures, strict=True):
            self._futures[kind, number] = future
        return futures

    def submit_and_forget(self, kind: str, number: int, task: Callable[..., Any]) -> None:
        """Run a task of a number on the actor's thread, without waiting for its answer."""
        run_and_forget(self._client, partial(self.submit, kind, number, task, number))
        self.drop(kind, number)

    def fetch(self, kind: str, number: int, ended: Callable[[Answer], None]) -> None:
        """Have ``ended`` called with the answer of a task."""
        self._answers.fetch(self._futures[kind, number], ended)

    def drop(self, kind: str, number: int) -> None:
        """Release a task that has ended."""
        del self._futures[kind, number]

    def discard(self) -> None:
        """Release all; Dask drops the tasks that are not held elsewhere."""
        for future in self._futures.values():
            future.release()
        self._answers.forget()
        self._futures.clear()
