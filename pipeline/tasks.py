"""Tasks on the workers: loads on CPU workers, graph tasks beside the actor.

A graph task runs on the thread of the actors of the graph worker and calls the actor there as a
plain object (`local_actor`). So what it depends on travels from worker to worker, it is seen in
Dask's task stream, and it takes its turn with all else that the actor does. It gets the actor's
*key*, never its Future: a Future among the arguments would draw every task to the actor's worker.

Tasks may be run again by Dask after a worker has died. A load gives the same batch again; a graph
task is either ignored by the actor or finds that its actor is gone (`GraphGoneError`).

Source: the hand-over was chosen by measurement among method calls, chains of tasks and this.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from distributed import Worker, get_worker, secede

from ..gpu_core.errors import GraphtideError
from ..gpu_core.kind import RowMeaning
from ..io.log.bad_rows import RowsToRead
from ..io.log.batch_times import InsertTimes, batch_source
from .batch_form import HOST_FORM, BatchForm, convert_to_form
from .graph_worker.actor import GraphActor
from .graph_worker.actor_holder import ActorHolder
from .graph_worker.batch_results import BatchResults, ResultRequest
from .graph_worker.batches import LoadedBatch
from .graph_worker.graph_status import GraphStatus, GraphStoppedError, forget_frames
from .graph_worker.handover import RingSlot, hand_over
from .graph_worker.pinned import Arrays, Copy, PinAnswer
from .graph_worker.ring import RingAddress
from .state_machine.instructions import Pin

#: States of a task that a worker has begun with. It may go on with one that was taken from it, when
#: it was too busy to answer, and given back.
_BEGUN = frozenset({"executing", "long-running", "cancelled", "resumed", "memory", "error"})


class GraphGoneError(GraphtideError):
    """The actor that a task was made for is not on this worker any more."""


def load_batch(
    rows: RowsToRead, meaning: RowMeaning, slot: RingSlot | None = None, form: BatchForm = HOST_FORM
) -> LoadedBatch:
    """Read the rows of a batch and convert them; leave the batch in its slot, if it has one."""
    start = time.perf_counter()
    found, unread = rows.read()
    middle = time.perf_counter()
    times = InsertTimes()
    convert = partial(convert_to_form, form=form, times=times)
    batch, applied, bad = rows.convert(found, convert, meaning=meaning)
    end = time.perf_counter()
    payload = hand_over(batch, rows.planned.batch_id, slot)
    seconds = {
        "read": middle - start,
        "convert": end - middle,
        "transfer": time.perf_counter() - end,
    }
    source = batch_source(rows.planned, applied, rows.log.time_unit)
    left_out = unread or bad
    return LoadedBatch(payload, found.sums, source, seconds, _worker_name(), left_out, times.seen)


def apply_batch(
    actor_key: str,
    load_key: str,
    batch_id: int,
    loaded: LoadedBatch,
    behind: Pin | None = None,
) -> GraphStatus:
    """Hand a batch to the actor; the pin that it comes ``behind`` is made before.

    Raises
    ------
    GraphStoppedError
        This batch, or one before it, cannot be applied. An error, because Dask reports these to the
        client at once; results of tasks are fetched only now and then.
    """
    seconds = dict(loaded.seconds)
    seconds["transfer"] += _transfer_seconds(load_key)
    with _errors_forget_the_graph():
        timed = replace(loaded, seconds=seconds)
        status = local_actor(actor_key).apply(batch_id, timed, behind, secede)
    if status.failed_batch is not None:
        raise GraphStoppedError(status)
    return status


def pin_graph(
    actor_key: str, pin: Pin, requests: Mapping[str, ResultRequest], *, share: bool = False
) -> PinAnswer:
    """Pin the graph, and compute the results that the pin names, beside the actor.

    Parameters
    ----------
    requests
        What to compute: ``pin.results``, without those that are on disk already.
    share
        As of `PinnedReads.analyze`.
    """
    with _errors_forget_the_graph():
        actor = _actor_beside(actor_key)
        answer = actor.pin(pin)
        if answer.kept == "missed" or not pin.results:
            return answer
        return replace(answer, results=actor.reads.analyze(pin.boundary, requests, share=share))


def send_results(actor_key: str, boundary: int) -> BatchResults:
    """Send results by Dask, with all columns."""
    with _errors_forget_the_graph():
        return local_actor(actor_key).reads.results(boundary)


def release_columns(actor_key: str, boundary: int) -> None:
    """Release the shared memory of columns; processes that have mapped it keep it."""
    with _errors_forget_the_graph(), suppress(GraphGoneError):
        local_actor(actor_key).reads.release_columns(boundary)


def copy_pinned(actor_key: str, boundary: int, *, share: bool) -> Copy:
    """Copy the oldest graph that is pinned, beside the actor."""
    with _errors_forget_the_graph():
        return _actor_beside(actor_key).copy_pinned(boundary, share=share)


def send_copy(actor_key: str, boundary: int) -> Arrays:
    """Send the arrays of a copy by Dask."""
    with _errors_forget_the_graph():
        return local_actor(actor_key).reads.copied_arrays(boundary)


def release_copy(actor_key: str, boundary: int) -> None:
    """Release the shared memory of a copy; processes that have mapped it keep it."""
    with _errors_forget_the_graph(), suppress(GraphGoneError):
        local_actor(actor_key).reads.release_copy(boundary)


def connect(ready: list[None]) -> None:
    """Do nothing: transferring the arguments opens a connection to every CPU worker.

    Batches use these connections. Opening one takes milliseconds on both sides, and the first
    batches all come at once.
    """


def has_begun(key: str, dask_worker: Worker) -> bool:
    """Whether this worker is at work on a task, or done with it; called outside of tasks."""
    task = dask_worker.state.tasks.get(key)
    return task is not None and task.state in _BEGUN


def initial_status(actor_key: str, dask_worker: Worker) -> tuple[str, GraphStatus]:
    """Engine of a graph, ``host`` or ``cuda``, and its first status; called outside of tasks."""
    actor = local_actor(actor_key, dask_worker)
    return actor.engine, actor.status()


def close_graph(actor_key: str, actor: Any) -> None:
    """Release a graph; ``actor`` is its Future, which keeps it to be found until then."""
    del actor
    local_actor(actor_key).close()


def ring_of_graph(actor_key: str, dask_worker: Worker) -> RingAddress | str:
    """Address of the ring of a graph, or why there is none; called outside of tasks."""
    return local_actor(actor_key, dask_worker).ring


def local_actor(key: str, worker: Worker | None = None) -> GraphActor:
    """The actor of this key on this worker, as the plain object that it is.

    The one place that knows where Dask keeps actors; it has no public name for that.
    """
    actors = (worker or get_worker()).state.actors
    if key not in actors:
        msg = f"there is no graph {key} on this worker"
        raise GraphGoneError(msg)
    holder: ActorHolder = actors[key]
    return holder.actor


def _actor_beside(actor_key: str) -> GraphActor:
    """The actor, for a task on a thread of its own, while batches are applied on the actor's."""
    actor = local_actor(actor_key)
    # The worker has one thread for tasks: it goes on with others.
    secede()
    return actor


@contextmanager
def _errors_forget_the_graph() -> Iterator[None]:
    """Strip errors of references to the graph: Dask keeps the error of a task, in a cycle."""
    try:
        yield
    except Exception as error:
        forget_frames(error)
        raise


def _worker_name() -> str:
    with suppress(ValueError):
        return str(get_worker().name)
    return ""


def _transfer_seconds(key: str) -> float:
    """Seconds that the newest transfer of a key to this worker took; 0 where it did not travel."""
    for transfer in reversed(get_worker().transfer_incoming_log):
        if key in transfer["keys"]:
            return float(transfer["stop"] - transfer["start"])
    return 0.0
