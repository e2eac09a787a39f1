"""Shared parts of benchmarks: alternating repeats, medians and quartiles, the machine, tables.

A benchmark is three callables and one driver (`drive`):

* ``bench_once(repeat)`` measures every case once, so that the repeats of all cases are interleaved
  and a busy minute is unfair to none; repeat 0 compiles and fills the caches, and is not kept;
* ``tidy_results(samples)`` makes tables of the samples;
* ``print_results(tables)`` prints them; `print_tables` prints Markdown.

Between repeats the driver times copies of a block too large for any cache, on all threads that the
kernels may use: the bandwidth of that very run, which tells a slow machine from slow code. All
samples, not only the quartiles, can be written to a CSV file.

Not here: what is measured, and on which graph.

Source: the benchmarks of dask-cuda for the form.
"""

import argparse
import csv
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from graphtide.gpu_core.errors import StateError
from graphtide.gpu_core.jit.parallel import run_all, thread_count
from graphtide.io.durable import check_new_file, new_file

#: Bytes of the block whose copy gives the bandwidth: several times the last cache.
COPIED_BYTES = 1 << 28

#: Stands in a table where there is no figure.
NOTHING = "n/a"


@dataclass(frozen=True)
class Measurement:
    """One measurement."""

    #: Which of the contenders, and what it did.
    case: str
    what: str
    #: 0 is the warm-up.
    repeat: int
    #: Rows, edges or entries that were worked on.
    work: float
    seconds: float


@dataclass(frozen=True)
class Quartiles:
    """Quarters of a set of values; ``str()`` gives ``median (low to high)``."""

    low: float
    median: float
    high: float

    def __str__(self) -> str:
        digits = 0 if self.median >= 1000 else 1 if self.median >= 10 else 2
        low, median, high = (f"{value:,.{digits}f}" for value in (self.low, self.median, self.high))
        return f"{median} ({low} to {high})"


@dataclass(frozen=True)
class NotedTable:
    """A table for people; ``note`` says how it is to be read."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def seconds_of(call: Callable[[], object]) -> float:
    """Time one call."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def quartiles(values: Iterable[float]) -> Quartiles:
    """Quarters of the values; of one value, that value three times."""
    kept = list(values)
    if len(kept) == 1:
        return Quartiles(kept[0], kept[0], kept[0])
    return Quartiles(*statistics.quantiles(kept, n=4, method="inclusive"))


def interleaved(calls: dict[Any, Callable[[], object]], repeats: int) -> dict[Any, list[float]]:
    """Seconds of each call, which take turns; each is called once before, untimed."""
    for call in calls.values():
        call()
    seconds: dict[Any, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            seconds[name].append(seconds_of(call))
    return seconds


class CopyBandwidth:
    """Times copies of a large block, cut into one part a thread."""

    def __init__(self) -> None:
        parts = thread_count()
        # Written to, so that every page is there before the first copy is timed.
        self._sources = [np.ones(COPIED_BYTES // 8 // parts) for _ in range(parts)]
        self._targets = [np.zeros_like(source) for source in self._sources]
        #: Bytes read and written, in GB/s, one value a measurement.
        self.measured: list[float] = []

    def measure(self) -> None:
        """Copy once, and remember how fast it went."""
        pairs = zip(self._targets, self._sources, strict=True)
        copies = [
            lambda target=target, source=source: np.copyto(target, source)
            for target, source in pairs
        ]
        moved = 2 * sum(source.nbytes for source in self._sources)
        self.measured.append(moved / seconds_of(lambda: run_all(copies)) / 1e9)

    def __str__(self) -> str:
        return f"copy bandwidth {quartiles(self.measured)} GB/s, read and written, all threads"


def machine_line(*packages: str) -> str:
    """The machine, the threads in use, its load, and the versions that matter."""
    model = platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    named = ("graphtide", "numpy", "numba", *packages)
    versions = ", ".join(f"{name} {version(name)}" for name in named)
    return (
        f"{model}, {os.cpu_count()} cores, {thread_count()} threads used, {memory:.0f} GiB, "
        f"load {os.getloadavg()[0]:.1f}; Python {platform.python_version()}, {versions}"
    )


def parser(description: str | None, *, with_csv: bool = True) -> argparse.ArgumentParser:
    """Make a parser that shows the module's text and knows ``--repeats`` and ``--csv``."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--repeats", type=int, default=9, help="measured repeats (default 9)")
    if with_csv:
        made.add_argument("--csv", type=_new_csv, help="write the figures here too")
    return made


def _new_csv(text: str) -> Path:
    """A file that can be written; else all that is measured would be lost at the end."""
    try:
        check_new_file(Path(text))
    except StateError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return Path(text)


def numbers(text: str) -> list[int]:
    """Read ``1000,2**20,8M``: what flags that take several sizes are given."""
    return [number(part) for part in text.split(",")]


def number(text: str) -> int:
    """Read one size: ``1000000``, ``2**20``, ``1K``, ``8M``."""
    units = {"K": 1_000, "M": 1_000_000}
    if text[-1:].upper() in units:
        return int(float(text[:-1]) * units[text[-1].upper()])
    base, power, exponent = text.partition("**")
    return int(base) ** int(exponent) if power else int(base)


def drive(
    options: argparse.Namespace,
    bench_once: Callable[[int], Iterable[Measurement]],
    tidy_results: Callable[[list[Measurement]], list[NotedTable]],
    packages: Sequence[str] = (),
) -> None:
    """Measure, and print the machine, the command, the tables and the copy bandwidth."""
    name = f"{__package__}.{Path(sys.argv[0]).stem}"
    command = " ".join(["python -m", name, *sys.argv[1:]])
    print(f"`{command}`\n\n{machine_line(*packages)}", flush=True)
    bandwidth = CopyBandwidth()
    samples: list[Measurement] = []
    for repeat in range(options.repeats + 1):
        samples += bench_once(repeat)
        bandwidth.measure()
        print(f"repeat {repeat} of {options.repeats}", file=sys.stderr, flush=True)
    if options.csv:
        with new_file(options.csv) as temporary, temporary.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([field.name for field in fields(Measurement)])
            writer.writerows(astuple(sample) for sample in samples)
    print(bandwidth)
    print_tables(tidy_results([each for each in samples if each.repeat]))


def print_tables(tables: Iterable[NotedTable]) -> None:
    """Print the tables as Markdown."""
    for table in tables:
        rule = ["---", *["---:"] * (len(table.header) - 1)]
        lines = [f"| {' | '.join(row)} |" for row in (table.header, rule, *table.rows)]
        print("\n".join(["", f"**{table.title}**", "", *lines, "", table.note]).rstrip())


def millions_per_second(samples: Iterable[Measurement], case: str, what: str) -> dict[int, float]:
    """Repeat -> million of work a second, of one case; empty where it was not measured."""
    return {
        each.repeat: each.work / each.seconds / 1e6
        for each in samples
        if (each.case, each.what) == (case, what)
    }


def shown(values: dict[int, float]) -> str:
    """Quartiles of the values, or `NOTHING` where there are none."""
    return str(quartiles(values.values())) if values else NOTHING


def ratio(values: dict[int, float], others: dict[int, float]) -> str:
    """Median of the ratios within a repeat: what was slow for both then does not count."""
    both = values.keys() & others.keys()
    if not both:
        return NOTHING
    return f"{statistics.median(values[repeat] / others[repeat] for repeat in both):.2f}"


def rotated(items: Sequence[Any], repeat: int) -> list[Any]:
    """Return the items, beginning with another one each repeat, so that none always comes first."""
    first = repeat % max(len(items), 1)
    return [*items[first:], *items[:first]]
