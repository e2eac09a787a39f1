"""``python -m torture``, in the folder ``tests``: cases of all kinds in turn, until time is up.

Prints a line for each failure, with the command that repeats it, and in the end a line for each
kind with its counts. A report is a file of JSON that later runs add to: without ``--seed`` they go
on with the seeds after those in it. It is kept up after each case, also where ``--stop`` cuts cases
short. The exit status is 1 where anything failed.
"""

import argparse
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))

from . import (
    alone,
    crash_points,
    damage,
    environment,
    following,
    full_rate,
    fuzz,
    kills,
    repeated_kills,
)
from .cases import ENGINES, Bench, Failure
from .logs import KINDS as LOGS
from .reports import (
    count,
    count_failures,
    counts_of,
    name_of,
    print_report,
    read_report,
    write_report,
)
from .side_by_side import end_marked_processes, mark_processes, side_by_side

#: What cases give: what was tried, or that and how often.
Tried = str | dict[str, int]

KINDS: dict[str, Callable[[Bench, int], Tried]] = {
    "kills": kills.case,
    "repeated_kills": repeated_kills.case,
    "full_rate": full_rate.case,
    "crash_points": crash_points.case,
    "damage": damage.case,
    "fuzz": fuzz.case,
    "environment": environment.case,
    "alone": alone.case,
    "following": following.case,
}


def main() -> None:
    """Parse the command line, run, print."""
    given = _parse()
    KINDS["alone"] = partial(alone.case, count=given.points)
    KINDS["following"] = partial(following.case, seconds=given.grow)
    kinds = given.kinds or [*KINDS]
    folder = Path(tempfile.mkdtemp(prefix="torture-", dir=given.folder))
    report = given.report or folder / "report.json"
    before = count_failures(read_report(report))
    is_first, is_in_order = mark_processes(), True
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, given.stop)
    try:
        if given.jobs > 1:
            names = {kind: name_of(kind, given.engine) for kind in kinds}
            is_in_order = side_by_side(
                given.jobs, _words(given), folder, names, report, first_seed=given.seed
            )
        else:
            _run(kinds, given, folder, report)
    except KeyboardInterrupt:
        pass  # what it has come to is in the report
    finally:
        failures = count_failures(read_report(report)) - before
        if is_first:
            ended = end_marked_processes()
            print(f"{ended} processes were left, and are ended", flush=True)
            print_report(read_report(report))
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failures or not is_in_order else 0)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="some of " + ", ".join(KINDS))
    parser.add_argument("--seconds", type=float, default=7200.0, help="begin no case afterwards")
    parser.add_argument("--stop", type=float, default=0.0, help="cut cases short afterwards")
    parser.add_argument("--count", type=int, help="cases of each kind at most, of each process")
    parser.add_argument("--jobs", type=int, default=1, help="processes that try cases")
    parser.add_argument("--engine", choices=sorted(ENGINES), default="host", help="of clusters")
    parser.add_argument("--logs", nargs="+", choices=sorted(LOGS), default=sorted(LOGS))
    parser.add_argument("--seed", type=int, help="of the first case of each kind")
    parser.add_argument("--step", type=int, default=1, help="between the seeds of two cases")
    parser.add_argument("--report", type=Path, help="file to add the counts to")
    parser.add_argument("--folder", type=Path, help="where cases are made; a new folder below it")
    parser.add_argument(
        "--grow", type=float, default=following.GROW_SECONDS, help="seconds that a log is followed"
    )
    parser.add_argument(
        "--points", type=int, default=alone.POINTS, help="of a case of what a process does alone"
    )
    given = parser.parse_args()
    for name in {*given.kinds} - {*KINDS}:
        parser.error(f"there is no kind {name}")
    return given


def _words(given: argparse.Namespace) -> list[str]:
    """What processes side by side are told, as this one was."""
    words = []
    for name in ("seconds", "engine", "grow", "points", "count"):
        if getattr(given, name) is not None:
            words += [f"--{name}", str(getattr(given, name))]
    return [*words, "--logs", *given.logs]


def _run(kinds: list[str], given: argparse.Namespace, folder: Path, report: Path) -> None:
    """Run cases, one of each kind after the other."""
    deadline, number = time.monotonic() + given.seconds, 0
    total = read_report(report)
    bench = Bench(folder, given.logs, given.engine)
    try:
        while given.count is None or number < given.count:
            for kind in kinds:
                if time.monotonic() > deadline:
                    return
                counts = counts_of(total, name_of(kind, given.engine))
                seed = given.seed
                seed = counts["next_seed"] if seed is None else seed + number * given.step
                counts["next_seed"] = max(counts["next_seed"], seed + given.step)
                try:
                    _try(bench, kind, seed, counts)
                finally:
                    write_report(report, total)
            number += 1
    finally:
        bench.close()


def _try(bench: Bench, kind: str, seed: int, counts: dict[str, Any]) -> None:
    """Run one case and count it."""
    started = time.monotonic()
    tried: Tried
    bench.sentences.clear()
    try:
        tried = KINDS[kind](bench, seed)
    except Exception as failure:
        tried = "failed"
        counts["failures"].append({"seed": seed, "message": str(failure) or repr(failure)})
        is_expected = isinstance(failure, Failure)
        count(counts, "wrong", {failure.wrong if is_expected else "an error of the test itself": 1})
        if not is_expected:
            traceback.print_exc()
        again = f"python -m torture {kind} --seed {seed} --count 1 --engine {bench.engine}"
        print(f"{kind} {seed} failed: {failure}\n  again: cd tests && {again}", flush=True)
        # Whatever it has done to the cluster.
        bench.drop_cluster()
    except KeyboardInterrupt:
        counts["cut"] += 1
        raise
    counts["cases"] += 1
    count(counts, "ended_by_sentence", bench.sentences)
    counts["seconds"] = round(counts["seconds"] + time.monotonic() - started, 1)
    count(counts, "tried", {tried: 1} if isinstance(tried, str) else tried)


if __name__ == "__main__":
    main()
