"""``graphtide bench start``: what a short run takes, from the command to its end, by stage.

The command runs in a process of its own, over a small log, and reports its stages as events
(`run_reports.JsonEvents`), whose arrival is timed here:

===========  ==================================================================
stage        ends when
===========  ==================================================================
imports      the command has its settings (``started``)
cluster      its workers are there (``dashboard``)
first batch  the graph is made, kernels are loaded or compiled, and the first
             tenth of the rows, or the first batch, is applied (``batch``)
rows         all else is applied and on disk (``checkpoint``)
close        the process has ended
===========  ==================================================================

*Cold* is the first run in an environment: with new cache folders, of graphtide and of CuPy.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from ...gpu_core.errors import GraphtideError, SettingsError
from ...gpu_core.generators.uniform import uniform_edges
from ...gpu_core.generators.update_streams import UpdateMix
from ...gpu_core.printable import counted
from ..commands.generate import write_log
from .measuring.report import PrintedTable, given

#: Stage -> the event that ends it; the last one ends with the process.
STAGES = {
    "imports": "started",
    "cluster": "dashboard",
    "first batch": "batch",
    "rows": "checkpoint",
    "close": None,
}
_VERTICES, _FILES = 1 << 17, 4


def bench_start(rows: int, assignments: Sequence[str], *, repeats: int) -> None:
    """Generate a log, run it cold once and warm ``repeats`` times, and print the table.

    Raises
    ------
    SettingsError
        A flag that cannot be.
    GraphtideError
        A run failed; the text is the error that it printed.
    """
    if min(rows, repeats) < 1:
        msg = "--rows and --repeats are 1 or more"
        raise SettingsError(msg)
    with tempfile.TemporaryDirectory(prefix="graphtide-bench-") as made:
        folder, log = Path(made), Path(made) / "log"
        write_log(
            str(log), partial(uniform_edges, num_vertices=_VERTICES), rows, files=_FILES,
            mix=UpdateMix(0.05, 0.1), properties=False, seed=0, quiet=True,
        )  # fmt: skip
        caches = {"XDG_CACHE_HOME": made, "CUPY_CACHE_DIR": str(folder / "cupy")}
        runs = [
            stages_of_run(log, folder / str(n), assignments, caches) for n in range(repeats + 1)
        ]
    options = {"--rows": rows, "--repeats": repeats, "--set": assignments}
    click.echo(
        f"{given('bench start', options)}, {counted(len(os.sched_getaffinity(0)), 'core')}.\n"
        f"Seconds, cold of one run, warm the median of {repeats}."
    )
    table = PrintedTable(["run"], [*STAGES, "all"])
    cold, *warm = runs
    table.row("cold", *(f"{seconds:.2f}" for seconds in (*cold, sum(cold))))
    medians = [statistics.median(stage) for stage in zip(*warm, strict=True)]
    all_seconds = statistics.median(map(sum, warm))
    table.row("warm", *(f"{seconds:.2f}" for seconds in (*medians, all_seconds)))


def stages_of_run(
    log: Path, state: Path, assignments: Sequence[str], environment: dict[str, str]
) -> list[float]:
    """Seconds of each of `STAGES` of a run in a process of its own.

    Of two stages that end with one event, such as where no dashboard can be shown, the second takes
    no time.
    """
    command = [sys.executable, "-m", "graphtide", "run", str(log), "--state", str(state)]
    command += ["--analytics", "none", "--log-format", "json", "--set", "ids=dense"]
    for assignment in assignments:
        command += ["--set", assignment]
    ended: dict[str, float] = {}
    output = []
    begin = time.perf_counter()
    with subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        for line in process.stderr:
            output.append(line)
            if line.startswith("{"):
                ended.setdefault(json.loads(line)["event"], time.perf_counter() - begin)
        status = process.wait()
    if status != 0:
        msg = f"a run ended with status {status}: {_error(output)}"
        raise GraphtideError(msg)
    times = [time.perf_counter() - begin]
    for event in reversed(list(STAGES.values())[:-1]):
        times.insert(0, ended.get(str(event), times[0]))
    return [end - start for start, end in zip([0.0, *times], times, strict=False)]


def _error(output: Sequence[str]) -> str:
    """The text of the error that a run reported; of a traceback all that it printed."""
    events = [json.loads(line) for line in output if line.startswith("{")]
    texts = [event["message"] for event in events if event["event"] == "error"]
    return texts[-1] if texts else "".join(output).strip()
