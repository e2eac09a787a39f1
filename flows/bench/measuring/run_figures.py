"""Figures of one run of the pipeline: rates, stages, and how busy its processes were.

What a rate includes. *All*: from the moment when the first batch is asked for, with workers started
and the graph there, until the client hears that the last one is applied. *First pass* ends with the
last distinct row, *later passes* is what follows, *kept* goes on until the graph is on disk, and
*from start* also begins before the cluster is started.

What the time goes into. Stages are sums over all batches, in nanoseconds a row: ``read`` and
``convert`` on CPU workers, ``transfer`` on the CPU worker that writes (ring) or the graph worker
that receives (dask), ``apply`` on the graph worker. *Busy* is the share of that time by the
accounting of ``pipeline/monitoring/busy.py``, with the process of client and scheduler, the cores
of the machine, and the least and the most busy worker process by the system's clock. *By worker*
splits the time of each worker into stages; the rest is *idle*: it waited for a batch to read, or
for one to apply.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import psutil

from ....gpu_core.report import STAGES, BatchReport
from ....pipeline.monitoring.busy import busiest, busy_shares, core_seconds
from ....pipeline.monitoring.progress import Progress
from ....pipeline.run_summary import RunSummary

#: Seconds of which clocks of the system, which count in hundredths, say what was busy.
_LEAST_SPAN = 0.2


@dataclass(frozen=True)
class ClockReading:
    """Clocks at one moment of a run."""

    seconds: float
    #: Rows applied.
    rows: int
    #: Processor time of this process, and of each worker process by its number.
    own: float
    workers: dict[int, float]
    #: Of a core of this machine, in the mean; NaN where that is not known.
    cores: float


class Stopwatch:
    """Listens to the progress of a run, and reads the clocks at three commits."""

    def __init__(self, distinct_rows: int) -> None:
        self._distinct_rows = distinct_rows
        #: They are there before the first batch is asked for. To look for them takes longer than
        #: many a batch.
        self._workers: list[psutil.Process] = []
        #: At the first commit, at the end of the first pass, and at the last commit.
        self.first: ClockReading | None = None
        self.distinct: ClockReading | None = None
        self.last: ClockReading | None = None
        #: Seconds until the last commit; the run itself keeps that clock.
        self.seconds = 0.0

    def __call__(self, progress: Progress) -> None:
        """Note a commit."""
        if progress.stage == "start" and not self._workers:
            self._workers = _worker_processes()
        if progress.stage != "apply" or progress.rows_done == 0 or self.last is not None:
            return
        rows = progress.rows_done
        if self.first is None:
            self.first = self._reading(rows)
        if self.distinct is None and rows >= self._distinct_rows:
            self.distinct = self._reading(rows)
        if progress.batches_done == progress.batches_total:
            self.last = self._reading(rows)
            self.seconds = rows / progress.rows_per_second

    def _reading(self, rows: int) -> ClockReading:
        now, own, cores = time.monotonic(), time.process_time(), core_seconds()
        used = {}
        for process in self._workers:
            with suppress(psutil.Error):  # it has ended
                times = process.cpu_times()
                used[process.pid] = times.user + times.system
        return ClockReading(now, rows, own, used, float("nan") if cores is None else cores)


def _worker_processes() -> list[psutil.Process]:
    this = psutil.Process()
    # Python's own helpers are children, too; workers are forked from one of them.
    helpers = this.children()
    return [process for process in this.children(recursive=True) if process not in helpers]


@dataclass(frozen=True)
class Figures:
    """Figures of one run."""

    #: Million updates a second; None where the run has no such part.
    all: float
    first_pass: float
    later_passes: float | None
    kept: float
    from_start: float
    #: Stage -> nanoseconds a row.
    stages: dict[str, float]
    #: What is busy -> share of its time.
    busy: dict[str, float]
    #: Worker -> stage -> share of the time until the last commit.
    by_worker: dict[str, dict[str, float]]


def limit_of(busy: Mapping[str, float]) -> str:
    """The busiest of `Figures.busy`, if it is busy enough to be what all others wait for."""
    shares = {part: busy[part] for part in ("CPU workers", "graph", "client", "cores")}
    return busiest(shares) or "none is full"


def figures(summary: RunSummary, watch: Stopwatch, seconds: float, cpu_workers: int) -> Figures:
    """Work out the figures of a run that took ``seconds`` seconds, its cluster's start included."""
    first, distinct, last = watch.first, watch.distinct, watch.last
    assert first is not None
    assert distinct is not None
    assert last is not None
    begin = last.seconds - watch.seconds
    reports = summary.reports
    sums = {stage: sum(each.seconds.get(stage, 0.0) for each in reports) for stage in STAGES}
    # From commit to commit: a run of one batch has no such time.
    span = last.seconds - first.seconds
    if span < _LEAST_SPAN:
        span = float("nan")
    shares = sorted(
        (used - first.workers.get(pid, used)) / span for pid, used in last.workers.items()
    )
    later_rows = last.rows - distinct.rows
    return Figures(
        all=last.rows / watch.seconds / 1e6,
        first_pass=distinct.rows / (distinct.seconds - begin) / 1e6,
        later_passes=later_rows / (last.seconds - distinct.seconds) / 1e6 if later_rows else None,
        kept=last.rows / summary.seconds / 1e6,
        from_start=last.rows / seconds / 1e6,
        stages={stage: sums[stage] / last.rows * 1e9 for stage in STAGES},
        busy={
            **busy_shares(sums, watch.seconds, cpu_workers),
            "client": (last.own - first.own) / span,
            "cores": (last.cores - first.cores) / span,
            "least": shares[0],
            "most": shares[-1],
        },
        by_worker=by_worker(reports, summary.readers, watch.seconds),
    )


def by_worker(
    reports: Sequence[BatchReport], readers: Sequence[str], seconds: float
) -> dict[str, dict[str, float]]:
    """Shares of ``seconds`` seconds that each worker spent in each stage; the graph comes last.

    ``readers``: the worker that read each batch.
    """
    shares = {name: dict.fromkeys(STAGES, 0.0) for name in sorted(set(readers), key=_order)}
    graph = dict.fromkeys(STAGES, 0.0)
    for report, reader in zip(reports, readers, strict=True):
        for stage, spent in report.seconds.items():
            owner = graph if stage == "apply" else shares[reader]
            owner[stage] += spent / seconds
    return {**shares, "graph": graph}


def _order(worker: str) -> tuple[int, str]:
    """``cpu-10`` after ``cpu-9``."""
    return len(worker), worker
