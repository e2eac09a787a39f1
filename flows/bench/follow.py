"""``graphtide bench follow``: seconds from a file's appearing to its checkpoint, and where they go.

Files of random edges are renamed into a log that a run follows, each when the one before has been
kept. The first one, which waits for the cluster, is not timed. For each later one the clock runs
from the renaming until its checkpoint has its name.

=========  =========================================================================================
part       from … to
=========  =========================================================================================
planned    the renaming … the plan that has the file is on the disk
applied    … the graph has its last batch: reading, conversion, hand-over, applying
copied     … reports are on the disk: the graph was copied, and the copy has come to the client
kept       … the checkpoint is on the disk, whole
=========  =========================================================================================

Not here: throughput (``pipeline.py``).
"""

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import numpy as np
import pyarrow as pa

from ...gpu_core.errors import SettingsError
from ...io.log.log_writer import write_log_file
from ...io.state.batch_names import padded_id
from ...io.state.directory import StateDirectory
from ...io.state.plan_files import read_plan
from ...pipeline.ingest import run
from ...pipeline.log_watch import Follow
from ...pipeline.monitoring.progress import Progress
from ..flag_settings import settings_from_options
from .measuring.report import PrintedTable, given

PARTS = ("planned", "applied", "copied", "kept")

#: Seconds between two looks for a file of the state.
_LOOK_SECONDS = 0.001


def bench_follow(
    rows: int, files: int, first_rows: int, scale: int, assignments: Sequence[str]
) -> None:
    """Measure, and print a table.

    Parameters
    ----------
    rows, files
        Rows of a file, and files that are timed.
    first_rows
        Rows that the log begins with; the graph that each checkpoint is of.
    scale
        Edges are among ``2**scale`` vertices.
    assignments
        Settings, ``key=value``.

    Raises
    ------
    SettingsError
        A number is too small.
    """
    if min(rows, files, first_rows) < 1 or not 1 <= scale <= 31:
        msg = "--rows, --files and --first-rows are 1 or more, --scale is from 1 to 31"
        raise SettingsError(msg)
    options = {"assignments": ("dashboard=false", *assignments), "analytics": "none"}
    settings = settings_from_options(options)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "staged").mkdir()
        (folder / "log").mkdir()
        for number in range(files + 1):
            _write(folder / "staged" / _file(number), number, rows if number else first_rows, scale)
        follow, watch = Follow(), _Watch(folder)
        feeder = threading.Thread(target=watch.feed, args=(files, follow.stop))
        feeder.start()
        try:
            summary = run(str(folder / "log"), str(folder / "state"), settings, watch.hear, follow)
        finally:
            watch.is_over.set()
            feeder.join()
    given_options = {
        "--rows": rows, "--files": files, "--first-rows": first_rows, "--scale": scale,
        "--set": assignments,
    }  # fmt: skip
    words = (
        f"{given('bench follow', given_options)}.\n"
        f"{files} files of {rows:,} rows, into a graph of {summary.num_edges:,} edges at the end; "
        f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}; seconds."
    )
    click.echo(words)
    table = PrintedTable(["part"], ["median", "least", "most"])
    for part, seconds in zip(PARTS, zip(*watch.parts, strict=True), strict=True):
        table.row(part, *_figures(seconds))
    table.row("in all", *_figures([sum(each) for each in watch.parts]))


class _Watch:
    """Renames files into a log, and takes the time of what becomes of each.

    Parameters
    ----------
    folder
        Has ``staged`` with the files, ``log`` and ``state``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state = StateDirectory(folder / "state")
        #: For each file the seconds of `PARTS`.
        self.parts: list[tuple[float, ...]] = []
        #: The run has ended, so nothing more will come.
        self.is_over = threading.Event()
        #: Batches applied, and when the last one was.
        self._progress = 0, 0.0
        self._applied = threading.Condition()

    def hear(self, progress: Progress) -> None:
        """Called by the run."""
        with self._applied:
            if progress.batches_done != self._progress[0]:
                self._progress = progress.batches_done, time.perf_counter()
                self._applied.notify()

    def feed(self, files: int, stop: Callable[[], None]) -> None:
        """Rename one file after the other into the log, then stop the run."""
        before = 0
        for number in range(files + 1):
            start = time.perf_counter()
            os.rename(self._folder / "staged" / _file(number), self._folder / "log" / _file(number))
            planned = self._appeared(self._state.path / "plan" / f"{padded_id(number)}.json")
            batches = len(read_plan(self._state).batches)
            applied = self._when_applied(batches)
            reports = f"{padded_id(before)}-{padded_id(batches - 1)}.parquet"
            copied = self._appeared(self._state.batches / reports)
            kept = self._appeared(self._state.checkpoint(batches - 1))
            if self.is_over.is_set():
                return
            before = batches
            if number:
                moments = (start, planned, applied, copied, kept)
                self.parts.append(tuple(np.diff(moments).tolist()))
        stop()

    def _appeared(self, path: Path) -> float:
        while not path.exists() and not self.is_over.wait(_LOOK_SECONDS):
            pass
        return time.perf_counter()

    def _when_applied(self, batches: int) -> float:
        with self._applied:
            while self._progress[0] < batches and not self.is_over.is_set():
                self._applied.wait(1.0)
            return self._progress[1]


def _file(number: int) -> str:
    return f"{number:06d}.parquet"


def _write(path: Path, seed: int, rows: int, scale: int) -> None:
    """Rows of which a quarter are deletes."""
    random = np.random.default_rng(seed)
    columns = {
        "op": random.choice(np.array([1, 1, 1, -1], np.int8), rows),
        "src": random.integers(0, 1 << scale, rows),
        "dst": random.integers(0, 1 << scale, rows),
    }
    write_log_file(str(path), pa.table(columns))


def _figures(seconds: Sequence[float]) -> list[str]:
    return [f"{each:.3f}" for each in (statistics.median(seconds), min(seconds), max(seconds))]
