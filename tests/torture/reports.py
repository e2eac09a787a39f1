"""What cases have come to: a file of JSON that later runs add to, and runs side by side add up."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: Kind of cases -> its counts.
Report = dict[str, dict[str, Any]]


def read_report(path: Path | None) -> Report:
    """Read a report; an empty one where there is none."""
    if path is None or not path.exists():
        return {}
    report: Report = json.loads(path.read_text())
    return report


def write_report(path: Path, report: Report) -> None:
    """Write a report, which is whole whenever this process ends."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n")
    temporary.replace(path)


def name_of(kind: str, engine: str) -> str:
    """What cases of a kind are called in reports."""
    return kind if engine == "host" else f"{kind}, {engine}"


def counts_of(report: Report, kind: str) -> dict[str, Any]:
    """The counts of a kind, to be added to."""
    nothing: dict[str, Any] = {
        "next_seed": 0, "cases": 0, "seconds": 0.0, "cut": 0, "failures": [], "tried": {},
        "wrong": {}, "ended_by_sentence": {},
    }  # fmt: skip
    counts = report.setdefault(kind, {})
    for name, value in nothing.items():
        counts.setdefault(name, value)
    return counts


def count(counts: dict[str, Any], name: str, what: dict[str, int]) -> None:
    """Add numbers to a table of the counts."""
    for each, times in what.items():
        counts[name][each] = counts[name].get(each, 0) + times


def count_failures(report: Report) -> int:
    """How many cases have failed."""
    return sum(len(each.get("failures", ())) for each in report.values())


def added_up(reports: Iterable[Report]) -> Report:
    """The sum of several reports."""
    total: Report = {}
    for report in reports:
        for kind in report:
            found, counts = counts_of(report, kind), counts_of(total, kind)
            counts["next_seed"] = max(counts["next_seed"], found["next_seed"])
            for name in ("cases", "cut", "failures"):
                counts[name] += found[name]
            counts["seconds"] = round(counts["seconds"] + found["seconds"], 1)
            for name in ("tried", "wrong", "ended_by_sentence"):
                count(counts, name, found[name])
    return total


def print_report(report: Report) -> None:
    """Print a line for each kind, and what was tried of it."""
    for kind, each in sorted(report.items()):
        tried = sum(each["tried"].values())
        print(
            f"{kind:14} {each['cases']:6,} cases, {tried:,} tried, {len(each['failures'])} "
            f"failures, {each['cut']} cut short",
            flush=True,
        )
        for name in ("tried", "wrong", "ended_by_sentence"):
            told = "ended by a sentence: " if name == "ended_by_sentence" else ""
            for what, times in sorted(each.get(name, {}).items()):
                print(f"{'':14} {times:6,} {told}{what}")
