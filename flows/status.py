"""``graphtide status``: what is applied, what is in the graph, how memory stands.

Reads the state as it lies on the disk and takes no lock, so it can be asked at any time: while a
run goes on, after one was killed, before the first checkpoint. *Applied* means what a run would go
on from: the newest whole checkpoint.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from ..gpu_core.report import BatchReport
from ..io.checkpoint import Checkpoint, newest_checkpoint
from ..io.results import read_reports, result_files
from ..io.state import StateDirectory
from .summary import FATES, fates, graph_text, result_lines
from .text import amount, counted, line


def show_status(state: str, *, as_json: bool) -> None:
    """Print the status of a state directory, for people or for programs."""
    status = Status(StateDirectory(state))
    if as_json:
        click.echo(json.dumps(status.values(), indent=1))
        return
    for text in status.lines():
        click.echo(text)


class Status:
    """A state directory at one moment."""

    def __init__(self, state: StateDirectory) -> None:
        self._state = state
        self._settings = state.settings()
        self._plan = state.read_plan()
        self._notes: list[str] = []
        self._checkpoint = newest_checkpoint(state, self._notes)
        # A run may have got further meanwhile; what counts is the checkpoint.
        self._reports = read_reports(state)[: self._boundary]
        self._holder = state.holder()

    @property
    def _boundary(self) -> int:
        return 0 if self._checkpoint is None else self._checkpoint.boundary

    @property
    def _newest_results(self) -> int | None:
        ids = [batch_id for batch_id in self._state.result_ids() if batch_id < self._boundary]
        return ids[-1] if ids else None

    def _count(self, name: str) -> int:
        manifest = self._checkpoint.manifest if self._checkpoint else {}
        return int(manifest.get(name, 0))

    def values(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        results = self._newest_results
        files = {} if results is None else result_files(self._state, results)
        return {
            "state": str(self._state.path),
            "log": self._settings.log_address,
            **self._settings.identity,
            "is_running": self._holder is not None,
            "batches_planned": len(self._plan.batches),
            "batches_applied": self._boundary,
            "rows_planned": self._plan.rows,
            "rows_applied": sum(report.rows for report in self._reports),
            **{name: sum(getattr(r, name) for r in self._reports) for name, _ in FATES},
            "num_vertices": self._count("num_vertices"),
            "num_edges": self._count("num_edges"),
            "state_hash": self._checkpoint.manifest["state_hash"] if self._checkpoint else None,
            "checkpoint": str(self._checkpoint.path) if self._checkpoint else None,
            "results": {name: str(path) for name, path in files.items()},
            "handover": self._checkpoint.manifest.get("handover") if self._checkpoint else None,
            "memory": memory_values(self._reports[-1]) if self._reports else None,
            "notes": self._notes,
        }

    def lines(self) -> list[str]:
        """Lines for people."""
        values = self.values()
        left = values["batches_planned"] - values["batches_applied"]
        applied = (
            f"{values['batches_applied']:,} of "
            f"{counted(values['batches_planned'], 'batch', 'batches')}, "
            f"{values['rows_applied']:,} of {counted(values['rows_planned'], 'row')}"
        )
        lines = [
            line("state", values["state"], wrap=False),
            line("log", values["log"], wrap=False),
            line("running", self._holder or "no"),
            line("applied", applied),
        ]
        if self._reports:
            lines.append(line("rows", fates(self._reports)))
        size = graph_text(
            values["num_vertices"],
            values["num_edges"],
            directed=values["directed"],
            records=values["records"],
        )
        lines.append(line("graph", size))
        lines += result_lines(list(map(Path, values["results"].values())))
        if self._reports:
            lines.append(line("memory", memory_text(self._reports[-1])))
        if values["handover"]:
            lines.append(line("handover", handover_text(values["handover"])))
        if self._checkpoint:
            lines.append(line("checkpoint", str(self._checkpoint.path), wrap=False))
            lines.append(line("", f"written {written(self._checkpoint)}"))
        lines += [line("note", note) for note in self._notes]
        if left and not self._holder:
            lines.append(
                line("next", f"graphtide run {values['log']} --state {values['state']}", wrap=False)
            )
        return lines


def handover_text(ways: Mapping[str, int]) -> str:
    """How the batches since the checkpoint before came to the graph worker."""
    told = [f"{counted(count, 'batch', 'batches')} by {way}" for way, count in sorted(ways.items())]
    return ", ".join(told)


def memory_values(report: BatchReport) -> dict[str, int]:
    """How memory stood after a batch."""
    return {
        "pages_used": report.pages_used,
        "pages_free": report.pages_free,
        "largest_free_run": report.largest_free_run,
    }


def memory_text(report: BatchReport) -> str:
    """How memory stood after a batch, in words."""
    return (
        f"{counted(report.pages_used, 'page')} in use, {report.pages_free:,} free, "
        f"the largest free run has {report.largest_free_run:,}"
    )


def written(checkpoint: Checkpoint) -> str:
    """When a checkpoint came into its place, in local time, and its size."""
    when = datetime.fromtimestamp(checkpoint.path.stat().st_mtime, UTC).astimezone()
    size = sum(entry["bytes"] for entry in checkpoint.manifest["files"].values())
    return f"{when:%Y-%m-%d %H:%M:%S}, {amount(size)}"
