"""``python -m torture``, in the folder ``tests``: cases of all kinds in turn, until time is up.

Prints a line for each failure, with the command that repeats it, and in the end a line for each
kind with its counts. A report is a file of JSON that later runs add to: without ``--seed`` they go
on with the seeds after those in it. The exit status is 1 where anything failed.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
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
    fuzz,
    kills,
    repeated_kills,
)
from .cases import Bench, Failure

#: What cases give: what was tried, or that and how often.
Tried = str | dict[str, int]

KINDS: dict[str, Callable[[Bench, int], Tried]] = {
    "kills": kills.case,
    "repeated_kills": repeated_kills.case,
    "crash_points": crash_points.case,
    "damage": damage.case,
    "fuzz": fuzz.case,
    "environment": environment.case,
    "alone": alone.case,
    "following": following.case,
}


def main() -> None:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="some of " + ", ".join(KINDS))
    parser.add_argument("--seconds", type=float, default=7200.0, help="begin no case afterwards")
    parser.add_argument("--count", type=int, help="cases of each kind at most")
    parser.add_argument("--seed", type=int, help="of the first case of each kind")
    parser.add_argument("--report", type=Path, help="file to add the counts to")
    parser.add_argument("--folder", type=Path, help="where cases are made; a new folder below it")
    parser.add_argument(
        "--grow", type=float, default=following.GROW_SECONDS, help="seconds that a log is followed"
    )
    parser.add_argument(
        "--points", type=int, default=alone.POINTS, help="of a case of what a process does alone"
    )
    given = parser.parse_args()
    KINDS["alone"] = partial(alone.case, count=given.points)
    KINDS["following"] = partial(following.case, seconds=given.grow)
    report = _read(given.report)
    folder = Path(tempfile.mkdtemp(prefix="graphtide-torture-", dir=given.folder))
    bench = Bench(folder)
    try:
        failures = _run(bench, given.kinds or [*KINDS], given, report)
    except KeyboardInterrupt:
        failures = 0
    finally:
        bench.close()
        shutil.rmtree(folder, ignore_errors=True)
    for kind, each in sorted(report.items()):
        print(f"{kind:14} {each['cases']:6,} cases, {len(each['failures'])} failures", flush=True)
        for tried, count in sorted(each["tried"].items()):
            print(f"{'':14} {count:6,} {tried}")
    sys.exit(1 if failures else 0)


def _run(bench: Bench, kinds: list[str], given: argparse.Namespace, report: dict[str, Any]) -> int:
    """Run cases, one of each kind after the other; gives the number of failures."""
    deadline, failures, number = time.monotonic() + given.seconds, 0, 0
    while given.count is None or number < given.count:
        for kind in kinds:
            if time.monotonic() > deadline:
                return failures
            counts = report.setdefault(
                kind, {"next_seed": 0, "cases": 0, "seconds": 0.0, "failures": [], "tried": {}}
            )
            seed = counts["next_seed"] if given.seed is None else given.seed + number
            failures += _try(bench, kind, seed, counts)
            if given.report is not None:
                given.report.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n")
        number += 1
    return failures


def _try(bench: Bench, kind: str, seed: int, counts: dict[str, Any]) -> bool:
    """Run one case and count it; gives whether it failed."""
    started, failed = time.monotonic(), False
    tried: Tried
    try:
        tried = KINDS[kind](bench, seed)
    except Failure as failure:
        tried, failed = "failed", True
        counts["failures"].append({"seed": seed, "message": str(failure)})
        again = f"python -m torture {kind} --seed {seed} --count 1"
        print(f"{kind} {seed} failed: {failure}\n  again: cd tests && {again}", flush=True)
        # Whatever it has done to the cluster.
        bench.drop_cluster()
    counts["next_seed"] = max(counts["next_seed"], seed + 1)
    counts["cases"] += 1
    counts["seconds"] = round(counts["seconds"] + time.monotonic() - started, 1)
    for what, times in ({tried: 1} if isinstance(tried, str) else tried).items():
        counts["tried"][what] = counts["tried"].get(what, 0) + times
    return failed


def _read(report: Path | None) -> dict[str, Any]:
    if report is None or not report.exists():
        return {}
    values: dict[str, Any] = json.loads(report.read_text())
    return values


if __name__ == "__main__":
    main()
