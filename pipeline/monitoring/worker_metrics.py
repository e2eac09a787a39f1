"""Metrics of the graph among a worker's metrics, for dashboard and Prometheus.

The actor publishes its numbers in the process that it lives in. `GraphMetrics` puts them into the
heartbeats of that worker as ``metrics["graph"]``, where the scheduler, its dashboard and
``client.scheduler_info()`` find them. A worker without a graph sends an empty table.

Each batch that is applied is an event of Dask's, of the topic ``graphtide-batches``: on its page of
events, and by ``client.get_events``. The scheduler keeps the newest ones.

Not here: pages of the dashboard, and how far a run is (``progress.py``).
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from distributed import Client, Worker, WorkerPlugin, get_worker
from distributed.protocol.pickle import dumps

from ...gpu_core.report import BatchReport
from .prometheus import GraphCollector, register

#: Topic of the events of batches, and what they have of a report.
BATCHES = "graphtide-batches"
_TOLD = ("batch_id", "rows", "edges_added", "edges_removed", "num_vertices", "num_edges")

#: Seconds that workers have to take in what they are given, and to take it out.
_REGISTER_SECONDS = 5.0

#: Numbers of the graph in this process; replaced whole, so a reader never sees half of them.
_published: dict[str, int] = {}


def publish(numbers_now: dict[str, int]) -> None:
    """Make these the numbers of the graph in this process."""
    global _published
    _published = numbers_now


def count_batch(report: BatchReport, reader: str) -> None:
    """Have the scheduler log that a batch is applied; nothing outside of a worker's tasks.

    Parameters
    ----------
    report
        What became of it.
    reader
        Name of the worker that read it.
    """
    with suppress(ValueError):
        get_worker().log_event(BATCHES, batch_event(report, reader))


def batch_event(report: BatchReport, reader: str) -> dict[str, Any]:
    """The event of a batch: plain values, ``seconds`` by stage."""
    counts = {name: int(getattr(report, name)) for name in _TOLD}
    seconds = {stage: float(each) for stage, each in report.seconds.items()}
    file = None if report.source is None else report.source.file
    return {**counts, "file": file, "seconds": seconds, "reader": reader}


def numbers() -> dict[str, int]:
    """The numbers of the graph in this process; empty where there is none."""
    return _published


#: Workers of this process that publish its numbers, and what takes its collector out.
_counting: set[str] = set()
_forget: list[Callable[[], None]] = []


class GraphMetrics(WorkerPlugin):
    """Sends the numbers of the graph with every heartbeat, and serves them on ``/metrics``."""

    name = "graphtide-metrics"

    def setup(self, worker: Worker) -> None:
        """Add ``graph`` to the worker's metrics."""
        worker.metrics["graph"] = _metrics
        _counting.add(worker.id)
        if not _forget:
            # A cluster may have all its workers in one process. Without prometheus_client there is
            # nothing to serve them.
            with suppress(ImportError):
                _forget.append(register(GraphCollector(numbers)))

    def teardown(self, worker: Worker) -> None:
        """Take it away again."""
        worker.metrics.pop("graph", None)
        _counting.discard(worker.id)
        if not _counting and _forget:
            _forget.pop()()


@contextmanager
def graph_metrics(client: Client) -> Iterator[None]:
    """Send the numbers of the graph while the block runs, also from workers that come later."""
    _order_workers(client, "register_worker_plugin", plugin=dumps(GraphMetrics()), idempotent=False)
    try:
        yield
    finally:
        _order_workers(client, "unregister_worker_plugin")


def _order_workers(client: Client, order: str, **words: Any) -> None:
    """Have the scheduler call all workers, of which one may just have died, or be stopped.

    It keeps the order for workers to come in any case. Metrics hold no run up, and end none.
    """
    # The scheduler may be what went away: the client has none once it has given up.
    scheduler = client.scheduler
    with suppress(OSError, TimeoutError, RuntimeError, ValueError):
        if scheduler is not None:
            order_it = partial(getattr(scheduler, order), name=GraphMetrics.name, **words)
            client.sync(_wait_for_a_while, order_it)


async def _wait_for_a_while(order: Callable[[], Coroutine[Any, Any, object]]) -> None:
    # It goes on: where the client hung up, the scheduler would print what it could not answer.
    going_on = asyncio.create_task(order())
    going_on.add_done_callback(_drop_error)
    await asyncio.wait([going_on], timeout=_REGISTER_SECONDS)


def _drop_error(done: asyncio.Task[object]) -> None:
    if not done.cancelled():
        done.exception()


def _metrics(_worker: Any) -> dict[str, int]:
    return numbers()
