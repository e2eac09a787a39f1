"""The graph's numbers among a worker's metrics, where dashboard and Prometheus find them.

The actor publishes its numbers in the process that it lives in. `GraphMetrics` puts them into the
heartbeats of that worker as ``metrics["graph"]``, where the scheduler, its dashboard and
``client.scheduler_info()`` find them. A worker without a graph sends an empty table.

Not here: pages of the dashboard, and how far a run is (``progress.py``).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from distributed import Client, Worker, WorkerPlugin

from .prometheus import GraphCollector, register

#: Seconds that workers have to take out what they were given.
_UNREGISTER_SECONDS = 5.0

#: Numbers of the graph in this process; replaced whole, so a reader never sees half of them.
_published: dict[str, int] = {}


def publish(numbers_now: dict[str, int]) -> None:
    """Make these the numbers of the graph in this process."""
    global _published
    _published = numbers_now


def numbers() -> dict[str, int]:
    """The numbers of the graph in this process; empty where there is none."""
    return _published


#: Workers of this process that tell its numbers, and what takes its collector out.
_telling: set[str] = set()
_forget: list[Callable[[], None]] = []


class GraphMetrics(WorkerPlugin):
    """Sends the numbers of the graph with every heartbeat, and tells them on ``/metrics``."""

    name = "graphtide-metrics"

    def setup(self, worker: Worker) -> None:
        """Add ``graph`` to the worker's metrics."""
        worker.metrics["graph"] = _metrics
        _telling.add(worker.id)
        if not _forget:
            # A cluster may have all its workers in one process. Without prometheus_client there is
            # nothing to tell them by.
            with suppress(ImportError):
                _forget.append(register(GraphCollector(numbers)))

    def teardown(self, worker: Worker) -> None:
        """Take it away again."""
        worker.metrics.pop("graph", None)
        _telling.discard(worker.id)
        if not _telling and _forget:
            _forget.pop()()


@contextmanager
def graph_metrics(client: Client) -> Iterator[None]:
    """Send the numbers of the graph while the block runs, also from workers that come later."""
    client.register_plugin(GraphMetrics())
    try:
        yield
    finally:
        # The scheduler may be what went away; and it asks all workers, of which one may be stopped.
        with suppress(OSError, TimeoutError, RuntimeError, ValueError):
            client.sync(
                client.scheduler.unregister_worker_plugin,
                name=GraphMetrics.name,
                callback_timeout=_UNREGISTER_SECONDS,
            )


def _metrics(_worker: Any) -> dict[str, int]:
    return numbers()
