"""``graphtide bench pipeline``: from Parquet files to committed edges, and what takes the time.

A log is generated once, and applied on a new cluster, into a new state, in every case and repeat.
A case is a value for each setting that is to be compared; cases take turns. There are no analytics
and no checkpoint but the last. With several passes the files come again under other names: the
graph changes little then, and rates of the first pass and of the later ones are told apart.

What a rate includes. *All*: from the moment when the first batch is asked for, with workers started
and the graph there, until the client hears that the last one is applied. *First pass* ends with the
last distinct row, *later passes* is what follows, *kept* goes on until the graph is on disk, and
*from start* also begins before the cluster is started.

What the time goes into. Stages are sums over all batches, in nanoseconds a row: ``read`` and
``convert`` on CPU workers, ``transfer`` on the CPU worker that writes (ring) or the graph worker
that receives (dask), ``apply`` on the graph worker. *Busy* is the share of that time of all cores
of CPU workers, of the graph worker's thread, and, by the system's clock, of the process of client
and scheduler and of the least and the most busy worker process. What is busiest is the limit. *By
worker* splits the time of each worker into stages, in the newest run; the rest is *idle*: it waited
for a batch to read, or for one to apply.

After every run the graph is compared with a replay by NumPy: vertices, edges, state hash.
"""

import datetime
import itertools
import os
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import psutil

from ...config.settings import GraphSettings, RunSettings
from ...gpu_core.errors import GraphtideError, SettingsError
from ...gpu_core.generators.rmat import rmat_edges
from ...gpu_core.generators.uniform import uniform_edges
from ...gpu_core.report import STAGES
from ...pipeline.cluster import default_cpu_workers
from ...pipeline.ingest import run
from ...pipeline.monitoring import Progress
from ...pipeline.run_files import RunSummary
from ..generate import write_log
from ..run import settings_from_options
from ..text import counted
from .arm import Arm
from .clock import spread
from .replay import Expected, replay
from .report import machine

#: What a run is measured with, where nothing else is asked for.
_PLAIN = ("ids=dense", "reverse=false")

#: A busy share from which on something counts as the limit.
_FULL = 0.85


@dataclass(frozen=True)
class LogShape:
    """The log to be generated."""

    rows: int
    file_rows: int
    passes: int
    #: ``uniform`` or ``rmat``.
    edges: str
    #: 2**scale vertices.
    scale: int
    repeated: float
    deletes: float
    properties: bool

    def __post_init__(self) -> None:
        if min(self.rows, self.file_rows, self.passes) < 1 or not 1 <= self.scale <= 31:
            msg = "--rows, --file-rows and --passes are 1 or more, --scale is from 1 to 31"
            raise SettingsError(msg)
        if self.edges not in ("uniform", "rmat"):
            msg = f"--edges {self.edges} is unknown; use uniform or rmat"
            raise SettingsError(msg)

    @property
    def files(self) -> int:
        """Files of a pass."""
        return -(-self.rows // self.file_rows)


@dataclass(frozen=True)
class Reading:
    """Clocks at one moment of a run."""

    seconds: float
    #: Rows applied.
    rows: int
    #: Processor time of this process, and of each worker process by its number.
    own: float
    workers: dict[int, float]


class Stopwatch:
    """Listens to the progress of a run, and reads the clocks at three commits."""

    def __init__(self, distinct_rows: int) -> None:
        self._distinct_rows = distinct_rows
        #: They are there before the first batch is asked for. To look for them takes longer than
        #: many a batch.
        self._workers: list[psutil.Process] = []
        #: At the first commit, at the end of the first pass, and at the last commit.
        self.first: Reading | None = None
        self.distinct: Reading | None = None
        self.last: Reading | None = None
        #: Seconds until the last commit; the run itself keeps that clock.
        self.seconds = 0.0

    def __call__(self, progress: Progress) -> None:
        """Note a commit."""
        if progress.stage == "start":
            self._workers = _worker_processes()
        if progress.stage != "apply" or progress.updates_done == 0 or self.last is not None:
            return
        rows = progress.updates_done
        if self.first is None:
            self.first = self._reading(rows)
        if self.distinct is None and rows >= self._distinct_rows:
            self.distinct = self._reading(rows)
        if progress.batches_done == progress.batches_total:
            self.last = self._reading(rows)
            self.seconds = rows / progress.updates_per_second

    def _reading(self, rows: int) -> Reading:
        now, own = time.monotonic(), time.process_time()
        used = {}
        for process in self._workers:
            with suppress(psutil.Error):  # it has ended
                times = process.cpu_times()
                used[process.pid] = times.user + times.system
        return Reading(now, rows, own, used)


def _worker_processes() -> list[psutil.Process]:
    this = psutil.Process()
    # Python's own helpers are children, too; workers are forked from one of them.
    helpers = this.children()
    return [process for process in this.children(recursive=True) if process not in helpers]


@dataclass(frozen=True)
class Figures:
    """What one run came to."""

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

    @property
    def limit(self) -> str:
        """The busiest, if it is busy enough to be what all others wait for."""
        name = max(("CPU workers", "graph", "client"), key=lambda each: self.busy[each])
        return name if self.busy[name] >= _FULL else "none is full"


def figures(summary: RunSummary, watch: Stopwatch, seconds: float, cpu_workers: int) -> Figures:
    """Work out the figures of a run that took so many seconds, its cluster's start included."""
    first, distinct, last = watch.first, watch.distinct, watch.last
    assert first is not None
    assert distinct is not None
    assert last is not None
    begin = last.seconds - watch.seconds
    sums = {
        stage: sum(report.seconds.get(stage, 0.0) for report in summary.reports) for stage in STAGES
    }
    # From commit to commit: a run of one batch has no such time.
    span = last.seconds - first.seconds or float("nan")
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
            "CPU workers": (sums["read"] + sums["convert"] + sums["transfer"])
            / (cpu_workers * watch.seconds),
            "graph": sums["apply"] / watch.seconds,
            "client": (last.own - first.own) / span,
            "least": shares[0],
            "most": shares[-1],
        },
        by_worker=by_worker(summary, watch.seconds),
    )


def by_worker(summary: RunSummary, seconds: float) -> dict[str, dict[str, float]]:
    """Shares of so many seconds that each worker spent in each stage; the graph comes last."""
    shares = {name: dict.fromkeys(STAGES, 0.0) for name in sorted(set(summary.readers), key=_order)}
    graph = dict.fromkeys(STAGES, 0.0)
    for report, reader in zip(summary.reports, summary.readers, strict=True):
        for stage, spent in report.seconds.items():
            owner = graph if stage == "apply" else shares[reader]
            owner[stage] += spent / seconds
    return {**shares, "graph": graph}


def _order(worker: str) -> tuple[int, str]:
    """``cpu-10`` after ``cpu-9``."""
    return len(worker), worker


class Bench:
    """A log on disk, and runs over it.

    Parameters
    ----------
    checked
        Directions, as in the setting ``directed``, of the graphs that are compared with a replay.
    """

    def __init__(
        self, folder: Path, shape: LogShape, *, is_cold: bool, checked: Collection[bool]
    ) -> None:
        self._folder = folder
        self._shape = shape
        self._is_cold = is_cold
        self._log = folder / "log"
        vertices = 1 << shape.scale
        edges: Any = (
            partial(uniform_edges, num_vertices=vertices)
            if shape.edges == "uniform"
            else partial(rmat_edges, scale=shape.scale)
        )
        write_log(
            str(self._log), edges, shape.rows, files=shape.files,
            repeats=shape.repeated, deletes=shape.deletes, vertex_deletes=0.0,
            properties=shape.properties, seed=0, quiet=True,
        )  # fmt: skip
        files = sorted(self._log.iterdir())
        self._first_file = files[0]
        self.log_bytes = sum(file.stat().st_size for file in files)
        # The last rows of each edge are those of the last pass: more passes, the same graph.
        self._expected = {
            directed: replay(files, vertices, directed=directed) for directed in checked
        }
        for number, file in itertools.product(range(2, shape.passes + 1), files):
            # A letter sorts after the digits of the first pass.
            os.link(file, self._log / f"updates-pass-{number:04d}-{file.name}")

    def warm_up(self, settings: RunSettings) -> None:
        """Run one file of the log, so that all is compiled."""
        with tempfile.TemporaryDirectory(dir=self._folder) as state:
            run(str(self._first_file), state, settings)

    def measure(self, settings: RunSettings) -> Figures:
        """Run the log through a new cluster into a new state."""
        shape = self._shape
        if self._is_cold:
            for file in self._log.iterdir():
                with file.open("rb") as opened:
                    os.fsync(opened.fileno())
                    os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        watch = Stopwatch(shape.rows)
        with tempfile.TemporaryDirectory(dir=self._folder) as state:
            begin = time.perf_counter()
            summary = run(str(self._log), state, settings, watch)
            seconds = time.perf_counter() - begin
        if summary.rows != shape.rows * shape.passes:
            msg = f"{summary.rows:,} of {shape.rows * shape.passes:,} rows were applied"
            raise GraphtideError(msg)
        found = Expected(summary.num_vertices, summary.num_edges, str(summary.state_hash))
        expected = self._expected.get(settings.graph.directed, found)
        if found != expected:
            msg = f"the graph is {found}, but {expected} is expected; please report this"
            raise GraphtideError(msg)
        workers = settings.workers or default_cpu_workers(settings.handover)
        return figures(summary, watch, seconds, workers)


def cases_of(
    assignments: Sequence[str], compared: Sequence[str]
) -> Iterator[tuple[str, RunSettings]]:
    """Name and settings of each case: every combination of ``KEY=VALUE,VALUE`` in ``compared``."""
    lists = []
    for text in compared:
        key, equals, values = text.partition("=")
        if not key or not equals:
            msg = f"--compare {text} names no values; write --compare key=value,value"
            raise SettingsError(msg)
        lists.append([f"{key}={value}" for value in values.split(",")])
    for chosen in itertools.product(*lists):
        options: Mapping[str, Any] = {
            "assignments": (*_PLAIN, *assignments, *chosen),
            "analytics": "none",
        }
        settings = replace(
            settings_from_options(options),
            checkpoint_seconds=None,
            checkpoint_batches=None,
            dashboard=False,
        )
        if settings.scheduler is not None:
            msg = "bench pipeline starts clusters of its own; leave the setting scheduler out"
            raise SettingsError(msg)
        yield ", ".join(chosen) or "as set", settings


def bench_pipeline(
    shape: LogShape,
    assignments: Sequence[str],
    compared: Sequence[str],
    *,
    repeats: int,
    folder: str | None,
    is_cold: bool,
    is_checked: bool,
) -> None:
    """Generate the log, measure all cases, and print the tables.

    Raises
    ------
    SettingsError
        A flag, or a setting, that cannot be.
    GraphtideError
        A graph is not what the log comes to.
    """
    if repeats < 1:
        msg = "--repeats is 1 or more"
        raise SettingsError(msg)
    cases = dict(cases_of(assignments, compared))
    checked: set[bool] = set()
    if is_checked:
        for settings in cases.values():
            _check_replayable(settings.graph)
            checked.add(settings.graph.directed)
    measured: dict[str, list[Figures]] = {name: [] for name in cases}
    with tempfile.TemporaryDirectory(dir=folder, prefix="graphtide-bench-") as made:
        _tell("generating and replaying the log")
        bench = Bench(Path(made), shape, is_cold=is_cold, checked=checked)
        for name, settings in cases.items():
            _tell(f"warming up, {name}")
            bench.warm_up(settings)
        for repeat in range(1, repeats + 1):
            for name, settings in cases.items():
                found = bench.measure(settings)
                first = "" if found.later_passes is None else f", first pass {found.first_pass:.1f}"
                _tell(f"round {repeat} of {repeats}, {name}: {found.all:.1f} M updates/s{first}")
                measured[name].append(found)
    engine = next(iter(cases.values())).graph.engine
    _print_conditions(shape, engine, bench.log_bytes, repeats, is_cold, is_checked)
    _print_tables(measured)
    for name, rounds in measured.items():
        _print_workers(name, rounds[-1].by_worker)


def _check_replayable(graph: GraphSettings) -> None:
    kind = (graph.records, graph.self_loops, graph.create_vertices)
    if kind != ("simple", "drop", True):
        msg = (
            "a graph is compared with a replay only with records: simple, self_loops: drop and "
            "create_vertices: true; use --no-check"
        )
        raise SettingsError(msg)


def _print_conditions(
    shape: LogShape, engine: str, log_bytes: int, repeats: int, is_cold: bool, is_checked: bool
) -> None:
    date = datetime.datetime.now(datetime.UTC)
    click.echo(
        f"{date:%Y-%m-%d}, {machine(Arm(engine))}, {len(os.sched_getaffinity(0))} cores.\n"
        f"{shape.rows:,} rows, {log_bytes / shape.rows:.1f} bytes each, in "
        f"{counted(shape.files, 'file')}, {counted(shape.passes, 'pass', 'passes')};\n"
        f"{shape.edges}, 2^{shape.scale} vertices, {shape.repeated:.0%} repeats, "
        f"{shape.deletes:.0%} deletes; files {'cold' if is_cold else 'hot'}.\n"
        f"Median of {counted(repeats, 'run')} (quartiles); "
        f"{'each compared with a replay' if is_checked else 'not compared with a replay'}.\n"
    )


def _print_tables(measured: Mapping[str, Sequence[Figures]]) -> None:
    def median(values: Sequence[float | None]) -> str:
        known = [value for value in values if value is not None]
        return spread(known).split(" ")[0] if known else ""

    _print_table(
        ("M updates/s", "all", "first pass", "later passes", "kept", "from start"),
        [
            (
                name,
                spread([each.all for each in found]),
                *(
                    median([getattr(each, part) for each in found])
                    for part in ("first_pass", "later_passes", "kept", "from_start")
                ),
            )
            for name, found in measured.items()
        ],
    )
    _print_table(
        ("ns a row", *STAGES),
        [
            (name, *(median([each.stages[stage] for each in found]) for stage in STAGES))
            for name, found in measured.items()
        ],
    )
    names = ("CPU workers", "graph", "client", "least", "most")
    _print_table(
        ("busy", *names, "limit"),
        [
            (
                name,
                *(f"{_middle([each.busy[who] for each in found]):.0%}" for who in names),
                found[-1].limit,
            )
            for name, found in measured.items()
        ],
    )


def _print_workers(name: str, by_worker: Mapping[str, Mapping[str, float]]) -> None:
    _print_table(
        (f"by worker, {name}", *STAGES, "idle"),
        [
            (
                worker,
                *(f"{shares[stage]:.0%}" if shares[stage] else "" for stage in STAGES),
                f"{max(1 - sum(shares.values()), 0):.0%}",
            )
            for worker, shares in by_worker.items()
        ],
    )


def _tell(what: str) -> None:
    """Tell who waits how far it is."""
    click.echo(f"{what} …", err=True)


def _middle(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Markdown, its columns padded: readable on a terminal too."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    for line in (header, rule, *rows):
        others = (cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))
        click.echo("| " + " | ".join((line[0].ljust(widths[0]), *others)) + " |")
    click.echo()
