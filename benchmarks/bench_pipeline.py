"""The whole pipeline: Parquet files, Dask workers, batches, the graph.

    python benchmarks/bench_pipeline.py [--rows 20M] [--vertices 2**20] [--repeats 9]
                                        [--handovers dask,ring]

Writes a log of ``--rows`` updates with the project's own writer (zstd, delta encoding, row groups
of 250,000 rows) into a temporary folder, and applies it, on a new local cluster and into a new
state each repeat, by ``pipeline.ingest.run``. Cases take turns: dense ids in one direction, and the
defaults (any ids, with reverse adjacency), each with every hand-over that ``--handovers`` names.
Rows are fresh uniform edges, and as many repeats and deletes of what an earlier row was about as
the flags say: even rows are the hard case of memory access, and deletes that find something make
the end of a batch depend on what came before it.

What a rate includes. *First read to last commit*: from the moment when the first batch is asked
for, with workers started and the graph there, until the client hears that the last one is applied.
That a fresh worker loads its compiled kernels with its first batch is in it. *After the first
commit* is the rate of the rows behind the first batch, without that. *With the checkpoint* goes on
until the graph is on disk. There are no analytics, and no checkpoint but the last. Files lie in the
page cache; the warm-up has compiled everything.

Seconds by stage are sums over the batches, from their reports: ``read`` and ``convert`` on CPU
workers, ``transfer`` on the CPU worker that writes (``ring``) or the graph worker that receives
(``dask``), ``apply`` on the graph worker; these overlap each other.

Checked in every repeat: rows, edges, vertices and the state hash against a replay of the log by
NumPy (``--no-check`` leaves it out, where the log is too large for that).
"""

import argparse
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from measuring import Sample, Table, drive, millions_per_second, number, parser, quartiles, shown

from graphtide.config.settings import RunSettings, load_settings
from graphtide.gpu_core.generators.uniform import uniform_edges
from graphtide.gpu_core.generators.update_streams import UpdateMix, update_rows
from graphtide.gpu_core.report import STAGES
from graphtide.gpu_core.snapshot import CsrSnapshot, state_hash
from graphtide.io.update_log import write_log_file
from graphtide.pipeline.ingest import run
from graphtide.pipeline.monitoring import Progress
from graphtide.pipeline.run_files import RunSummary

#: Case -> settings that differ from the defaults.
CASES: dict[str, dict[str, Any]] = {
    "dense ids, one direction": {"ids": "dense", "reverse": False},
    "any ids, reverse (defaults)": {},
}

WHOLE, LATER, KEPT = "first read to last commit", "after the first commit", "with the checkpoint"

#: Rows drawn at a time.
BLOCK_ROWS = 1_000_000


@dataclass(frozen=True)
class Expected:
    """The graph after the log."""

    num_vertices: int
    num_edges: int
    state_hash: str


class Stopwatch:
    """Listens to the progress of a run: when the first and the last batch were in the graph."""

    def __init__(self) -> None:
        #: ``(clock, rows applied)`` when the first commit was heard of.
        self.first: tuple[float, int] | None = None
        self.last: tuple[float, int] | None = None
        #: From the first batch asked for to the last commit; the run itself keeps that clock.
        self.seconds = 0.0

    def __call__(self, progress: Progress) -> None:
        """Note the time of a commit."""
        if progress.stage != "apply" or self.last is not None:
            return
        now = (time.monotonic(), progress.updates_done)
        self.first = self.first or now
        if progress.batches_done == progress.batches_total:
            self.last = now
            self.seconds = progress.updates_done / progress.updates_per_second


class Pipeline:
    """A log on disk, and runs over it."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self._options = options
        self._folder = folder
        #: Case -> settings that differ from the defaults.
        self._cases = {
            case if len(options.handovers) == 1 else f"{case}, {way}": {**settings, "handover": way}
            for case, settings in CASES.items()
            for way in options.handovers
        }
        self._log = folder / "log"
        self._log.mkdir()
        self.log_bytes = 0
        self._write_log()
        self._expected = None if options.no_check else self._replay()
        #: Case -> stage -> sums of its seconds, one a repeat.
        self.stages: dict[str, dict[str, list[float]]] = {
            case: {stage: [] for stage in STAGES} for case in self._cases
        }

    def bench_once(self, repeat: int) -> Iterable[Sample]:
        """Run the log through a new cluster into a new state, in every case."""
        rows = self._options.rows
        for case, settings in self._cases.items():
            stopwatch = Stopwatch()
            with tempfile.TemporaryDirectory(dir=self._folder) as state:
                summary = run(str(self._log), state, self._settings(settings), stopwatch)
            self._check(summary)
            assert stopwatch.first is not None
            assert stopwatch.last is not None
            (begin, before), (end, _) = stopwatch.first, stopwatch.last
            yield Sample(case, WHOLE, repeat, rows, stopwatch.seconds)
            if before < rows:
                yield Sample(case, LATER, repeat, rows - before, end - begin)
            yield Sample(case, KEPT, repeat, rows, summary.seconds)
            if repeat:
                for stage, sums in self.stages[case].items():
                    sums.append(sum(each.seconds.get(stage, 0.0) for each in summary.reports))

    def tidy_results(self, samples: list[Sample]) -> list[Table]:
        """Tables: rates, and seconds by stage."""
        whats = (WHOLE, LATER, KEPT)
        rates = [
            [case, *(shown(millions_per_second(samples, case, what)) for what in whats)]
            for case in self._cases
        ]
        stages = [
            [case, *(str(quartiles(sums)) for sums in self.stages[case].values())]
            for case in self._cases
        ]
        size = f"{self._options.rows:,} rows, {self.log_bytes / 1e6:,.0f} MB of Parquet"
        checked = "not checked" if self._expected is None else "every run checked against a replay"
        return [
            Table(
                size,
                ["", *whats],
                rates,
                f"Million updates a second, median (quartiles); {checked}.",
            ),
            Table(
                "by stage",
                ["", *STAGES],
                stages,
                "Seconds, sums over the batches, median (quartiles); stages overlap.",
            ),
        ]

    def _settings(self, graph: dict[str, Any]) -> RunSettings:
        options = self._options
        flags = {"workers": options.workers, "batch_rows": options.batch_rows, "dashboard": False}
        return replace(
            load_settings({**graph, **flags, "analytics": []}),
            checkpoint_seconds=None,
            checkpoint_batches=None,
        )

    def _write_log(self) -> None:
        options = self._options
        bounds = [options.rows * file // options.files for file in range(options.files + 1)]
        mix = UpdateMix(repeats=options.repeated, deletes=options.deletes)
        parts = []
        for file, (first, last) in enumerate(pairwise(bounds)):
            tables = []
            for low in range(first, last, BLOCK_ROWS):
                rows = update_rows(
                    lambda which: uniform_edges(which, options.vertices),
                    low,
                    min(BLOCK_ROWS, last - low),
                    mix,
                )
                columns = {"op": rows.op, "src": rows.src, "dst": rows.dst}
                tables.append(pa.table(columns))
                parts.append((rows.op, rows.src, rows.dst))
            path = self._log / f"updates-{file:05d}.parquet"
            write_log_file(str(path), tables)
            self.log_bytes += path.stat().st_size
        self._rows = tuple(map(np.concatenate, zip(*parts, strict=True)))

    def _replay(self) -> Expected:
        """Row by row in effect: the last row of each edge decides."""
        op, src, dst = self._rows
        inserts = op > 0
        is_edge = src != dst
        # An insert creates its end points even where a later row deletes the edge.
        ends = [each[inserts & is_edge] for each in (src, dst)]
        vertices = np.unique(np.concatenate(ends))
        size = self._options.vertices
        keys = (src * size + dst)[is_edge]
        last, place = np.unique(keys[::-1], return_index=True)
        kept = last[op[is_edge][::-1][place] > 0]
        sources, targets = (np.searchsorted(vertices, each) for each in divmod(kept, size))
        indptr = np.searchsorted(sources, np.arange(vertices.size + 1))
        csr = CsrSnapshot(vertices, indptr, targets.astype(np.int32))
        found = state_hash(csr, records="simple")
        return Expected(vertices.size, kept.size, found)

    def _check(self, summary: RunSummary) -> None:
        assert summary.rows == self._options.rows, "rows are missing"
        if self._expected is not None:
            found = Expected(summary.num_vertices, summary.num_edges, str(summary.state_hash))
            assert found == self._expected, f"{found} is not {self._expected}"


def main() -> None:
    """Write the log, measure, and print the tables."""
    flags = parser(__doc__)
    flags.add_argument("--rows", type=number, default="20M")
    flags.add_argument("--vertices", type=number, default="2**20")
    flags.add_argument("--files", type=int, default=4)
    flags.add_argument("--repeated", type=float, default=0.05, help="share of repeats")
    flags.add_argument("--deletes", type=float, default=0.1, help="share of deletes")
    flags.add_argument("--batch-rows", type=number, help="as in the settings")
    flags.add_argument("--workers", type=int, help="as in the settings")
    flags.add_argument(
        "--handovers", type=lambda text: text.split(","), default=["auto"], help="auto, dask, ring"
    )
    flags.add_argument("--folder", type=Path, help="where the temporary folder is made")
    flags.add_argument("--no-check", action="store_true")
    options = flags.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="graphtide-bench-") as folder:
        pipeline = Pipeline(Path(folder), options)
        packages = ("dask", "distributed", "pyarrow")
        drive(options, pipeline.bench_once, pipeline.tidy_results, packages=packages)


if __name__ == "__main__":
    main()
