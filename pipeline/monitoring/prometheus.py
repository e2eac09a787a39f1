"""Metrics for Prometheus: of runs on the scheduler's ``/metrics``, of the graph on its worker's.

Both are collectors in the registry that Dask's own pages print, and are asked when they are
scraped. On the scheduler a plugin receives what runs publish (`run_feed.py`), by ``state``, the
folder of the run; on the graph worker there are the numbers that the actor publishes
(`worker_metrics.py`).

Light: ``prometheus_client`` is imported where a collector is registered. Without it Dask has no
``/metrics`` either.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from distributed import Scheduler, SchedulerPlugin

from .dashboard_plugin import TOPIC
from .listeners import say_listening
from .run_history import ENDED

#: Most runs with metrics, the newest of each state.
_STATES = 32

#: Name without ``graphtide_``, help, and key among the values of `Progress`.
_OF_PROGRESS = (
    ("batches_applied", "Batches of the log that are in the graph.", "batches_done"),
    ("batches_planned", "Batches of the log, as far as it is known.", "batches_total"),
    ("batches_kept", "Batches of the newest checkpoint.", "batches_checkpointed"),
    ("vertices", "Vertices of the graph.", "num_vertices"),
    ("edges", "Edges of the graph.", "num_edges"),
)

#: The same, among the values of `Picture`.
_OF_PICTURE = (
    ("cpu_workers", "Workers that read the log.", "cpu_workers"),
    ("window_batches", "Batches that may be under way beyond those applied.", "window"),
    ("batches_loading", "Batches that are being read or converted.", "loading"),
    ("batches_waiting", "Batches that wait for those before them.", "waiting"),
    ("arena_limit_bytes", "Bytes that the arena may grow to.", "limit_bytes"),
    ("pinned_bytes", "Bytes of epochs beside the arena.", "pinned_bytes"),
    ("epochs_kept", "Graphs of earlier batches that are kept for results and copies.", "epochs"),
    ("epochs_limit", "How many of them there may be.", "most_epochs"),
)

#: Name without ``graphtide_graph_``, help, and key among the numbers of the actor.
_OF_GRAPH = (
    ("batches_applied", "Batches that are in the graph of this process.", "batches"),
    ("batches_early", "Batches that wait for those before them, beside the graph.", "early"),
    ("vertices", "Vertices of the graph of this process.", "vertices"),
    ("edges", "Edges of the graph of this process.", "edges"),
    ("arena_bytes", "Bytes of the arena.", "arena_bytes"),
    ("pinned_bytes", "Bytes of epochs beside the arena.", "pinned_bytes"),
)


class RunMetrics(SchedulerPlugin):
    """Keeps the newest word of each run for those who scrape the scheduler."""

    name = "graphtide-metrics"
    #: A second run on the scheduler finds the collector of the first.
    idempotent = True

    def __init__(self) -> None:
        #: State -> what its newest run published last.
        self._newest: dict[str, Mapping[str, Any]] = {}
        #: State -> rows that its newest run has applied, those of lost graphs included.
        self._rows: dict[str, int] = {}
        self._forget: Callable[[], None] | None = None

    async def start(self, scheduler: Scheduler) -> None:
        """Register the collector, where ``prometheus_client`` is installed."""
        with suppress(ImportError):
            self._forget = register(self)
        say_listening(scheduler, self.name, is_listening=self._forget is not None)

    async def close(self) -> None:
        """Take it out: another scheduler of this process has its own."""
        if self._forget is not None:
            self._forget()

    def log_event(self, topic: str, msg: Any) -> None:
        """Take in what a run publishes."""
        if topic != TOPIC:
            return
        state = msg["state"]
        before = self._newest.pop(state, None)
        is_same = before is not None and before["run"] == msg["run"]
        rows = msg["rows_done"] - before["rows_done"] if is_same and before else msg["rows_done"]
        self._rows[state] = max(rows, 0) + (self._rows.get(state, 0) if is_same else 0)
        self._newest[state] = msg
        while len(self._newest) > _STATES:
            oldest = next(iter(self._newest))
            del self._newest[oldest], self._rows[oldest]

    def collect(self) -> Iterable[Any]:
        """Metrics of all runs, as of now."""
        pictured = {state: each["picture"] for state, each in self._newest.items()}
        pictured = {state: picture for state, picture in pictured.items() if picture}
        yield from self._of_runs()
        yield from _gauges(_OF_PROGRESS, self._newest)
        yield from _gauges(_OF_PICTURE, pictured)
        yield from _of_waits(pictured)
        yield from _of_stages(pictured)
        yield from _of_arena_and_results(pictured)

    def _of_runs(self) -> Iterable[Any]:
        """Whether each run goes on, when it was heard, and its rows."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        active = GaugeMetricFamily(
            "graphtide_run_active", "1 while a run goes on, 0 when it has ended.", labels=["state"]
        )
        heard = GaugeMetricFamily(
            "graphtide_run_heard_timestamp_seconds",
            "When the client last reported on the run, in seconds since 1970.",
            labels=["state"],
        )
        rows = CounterMetricFamily(
            "graphtide_rows_applied",
            "Rows that the run has applied, those applied again after a recovery included.",
            labels=["state"],
        )
        for state, each in self._newest.items():
            active.add_metric([state], each["stage"] not in ENDED)
            heard.add_metric([state], each["time"])
            rows.add_metric([state], self._rows[state])
        return active, heard, rows


#: State -> what the newest run of it says of itself.
_Runs = Mapping[str, Mapping[str, Any]]


def _gauges(names: Iterable[tuple[str, str, str]], runs: _Runs) -> Iterable[Any]:
    """A gauge for each of the names: its own, its help, and the key of its value."""
    from prometheus_client.core import GaugeMetricFamily

    for name, about, key in names:
        gauge = GaugeMetricFamily(f"graphtide_{name}", about, labels=["state"])
        for state, each in runs.items():
            gauge.add_metric([state], each[key])
        yield gauge


def _of_waits(pictured: _Runs) -> Iterable[Any]:
    """Recoveries, and waits of batches for epochs."""
    from prometheus_client.core import CounterMetricFamily

    recoveries = CounterMetricFamily(
        "graphtide_recoveries", "Times that the graph was brought back.", labels=["state"]
    )
    waits = CounterMetricFamily(
        "graphtide_epoch_waits",
        "Times that batches waited for results and copies of earlier ones.",
        labels=["state"],
    )
    waited = CounterMetricFamily(
        "graphtide_epoch_wait",
        "Time for which batches waited for results and copies of earlier ones.",
        labels=["state"],
        unit="seconds",
    )
    for state, picture in pictured.items():
        recoveries.add_metric([state], picture["recoveries"])
        waits.add_metric([state], picture["waits"])
        waited.add_metric([state], picture["wait_seconds"])
    return recoveries, waits, waited


def _of_stages(pictured: _Runs) -> Iterable[Any]:
    """Seconds by stage."""
    from prometheus_client.core import CounterMetricFamily

    seconds = CounterMetricFamily(
        "graphtide_stage",
        "Time of all batches by stage; of analytics and disk, for which batches waited; of "
        "cores, for which a core of the client's machine was at work, in the mean.",
        labels=["state", "stage"],
        unit="seconds",
    )
    for state, picture in pictured.items():
        for stage, spent in picture["seconds"].items():
            seconds.add_metric([state, stage], spent)
    return (seconds,)


def _of_arena_and_results(pictured: _Runs) -> Iterable[Any]:
    """Regions of the arena, and the newest values of each result."""
    from prometheus_client.core import GaugeMetricFamily

    regions = GaugeMetricFamily(
        "graphtide_arena_bytes", "Bytes of the arena by region.", labels=["state", "region"]
    )
    results = GaugeMetricFamily(
        "graphtide_result",
        "Values of the newest result of each name, such as iterations of pagerank; "
        "batch: the batch that it is of.",
        labels=["state", "result", "value"],
    )
    for state, picture in pictured.items():
        for region, size in picture["regions"].items():
            regions.add_metric([state, region], size)
        for name, values in picture["findings"].items():
            for key, value in values.items():
                if isinstance(value, int | float):
                    results.add_metric([state, name, key], value)
    return regions, results


class GraphCollector:
    """Metrics of the graph in this process, if there is one.

    Parameters
    ----------
    numbers
        Its numbers; empty where there is none.
    """

    def __init__(self, numbers: Callable[[], Mapping[str, int]]) -> None:
        self._numbers = numbers

    def collect(self) -> Iterable[Any]:
        """The metrics, as of now."""
        from prometheus_client.core import GaugeMetricFamily

        numbers = self._numbers()
        for name, about, key in _OF_GRAPH:
            if key in numbers:
                yield GaugeMetricFamily(f"graphtide_graph_{name}", about, value=numbers[key])


def register(collector: RunMetrics | GraphCollector) -> Callable[[], None]:
    """Add a collector to the metrics of this process; returns what removes it.

    Raises
    ------
    ImportError
        ``prometheus_client`` is not installed.
    """
    from prometheus_client import REGISTRY

    REGISTRY.register(collector)
    return lambda: REGISTRY.unregister(collector)
