"""``graphtide bench pipeline``: from Parquet files to committed edges, and what takes the time.

A log is generated once, and applied on a new cluster, into a new state, in every case and repeat.
A case is a value for each setting that is to be compared; cases take turns. There are no analytics
and no checkpoint but the last. With several passes the files come again under other names: the
graph changes little then, and rates of the first pass and of the later ones are distinguished.

After every run the graph is compared with a replay by NumPy: vertices, edges, state hash.

Not here: what a rate includes and what the time goes into (``run_figures.py``).
"""

import itertools
import os
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from ...config.settings import GraphSettings, RunSettings
from ...gpu_core.errors import GraphtideError, SettingsError
from ...gpu_core.generators.rmat import rmat_edges
from ...gpu_core.generators.uniform import uniform_edges
from ...gpu_core.generators.update_streams import UpdateMix
from ...gpu_core.printable import counted
from ...io.durable import check_new_file
from ...pipeline.ingest import run
from ...pipeline.workers.local_cluster import default_cpu_workers
from ..commands.generate import write_log
from ..flag_settings import settings_from_options
from .measuring.arm import Arm
from .measuring.replay import Expected, replay
from .measuring.report import given, machine
from .measuring.run_figures import Figures, Stopwatch, figures
from .measuring.run_tables import print_tables, print_workers

#: What a run is measured with, where nothing else is asked for.
_PLAIN = ("ids=dense", "reverse=false")


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
        if not (min(self.repeated, self.deletes) >= 0 and self.repeated + self.deletes < 1):
            msg = (
                f"--repeated {self.repeated} and --deletes {self.deletes} leave no fresh inserts; "
                f"each is 0 or more, and their sum below 1"
            )
            raise SettingsError(msg)

    def options(self) -> dict[str, object]:
        """Options of the command that has such a log."""
        return {f"--{name.replace('_', '-')}": value for name, value in vars(self).items()}

    @property
    def files(self) -> int:
        """Files of a pass."""
        return -(-self.rows // self.file_rows)


class LogBench:
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
            mix=UpdateMix(shape.repeated, shape.deletes), properties=shape.properties, seed=0,
            quiet=True,
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
            # Reads reports of the state.
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
    if folder is not None:
        if not Path(folder).is_dir():
            msg = f"--folder {folder} is no folder; make it, or name another"
            raise SettingsError(msg)
        check_new_file(Path(folder) / "log", SettingsError)
    cases = dict(cases_of(assignments, compared))
    checked: set[bool] = set()
    if is_checked:
        for settings in cases.values():
            _check_replayable(settings.graph)
            checked.add(settings.graph.directed)
    measured: dict[str, list[Figures]] = {name: [] for name in cases}
    with tempfile.TemporaryDirectory(dir=folder, prefix="graphtide-bench-") as made:
        _report("generating and replaying the log")
        bench = LogBench(Path(made), shape, is_cold=is_cold, checked=checked)
        for name, settings in cases.items():
            _report(f"warming up, {name}")
            bench.warm_up(settings)
        for repeat in range(1, repeats + 1):
            for name, settings in cases.items():
                found = bench.measure(settings)
                first = "" if found.later_passes is None else f", first pass {found.first_pass:.1f}"
                _report(f"round {repeat} of {repeats}, {name}: {found.all:.1f} M updates/s{first}")
                measured[name].append(found)
    engine = next(iter(cases.values())).graph.engine
    options = {
        "--set": assignments, "--compare": compared, "--repeats": repeats, "--cold": is_cold,
        "--no-check": not is_checked,
    }  # fmt: skip
    click.echo(f"{given('bench pipeline', shape.options() | options)}.")
    _print_conditions(shape, engine, bench.log_bytes, repeats, is_cold, is_checked)
    print_tables(measured)
    for name, rounds in measured.items():
        print_workers(name, rounds[-1].by_worker)


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
    click.echo(
        f"{machine(Arm(engine))}, {len(os.sched_getaffinity(0))} cores.\n"
        f"{shape.rows:,} rows, {log_bytes / shape.rows:.1f} bytes each, in "
        f"{counted(shape.files, 'file')}, {counted(shape.passes, 'pass')};\n"
        f"{shape.edges}, 2^{shape.scale} vertices, {shape.repeated:.0%} repeats, "
        f"{shape.deletes:.0%} deletes; files {'cold' if is_cold else 'hot'}.\n"
        f"Median of {counted(repeats, 'run')} (quartiles), by worker of the last one; "
        f"{'each compared with a replay' if is_checked else 'not compared with a replay'}.\n"
    )


def _report(what: str) -> None:
    """Tell who waits how far it is."""
    click.echo(f"{what} …", err=True)
