"""``graphtide status``: what is applied, what is in the graph, how memory stands.

Reads the state as it lies on the disk and takes no lock, so it can be asked at any time: while a
run goes on, after one was killed, before the first checkpoint. *Applied* means what a run would go
on from: the newest whole checkpoint. What is damaged or missing is named, beside all else, and the
command ends with an error; a file that a run has just replaced is none of it.
"""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from ...gpu_core.errors import StateError
from ...gpu_core.printable import amount, counted, rate
from ...gpu_core.records import record_named
from ...gpu_core.report import BatchReport, totals
from ...io.log.paths.addresses import address_text
from ...io.state.checkpoint import Checkpoint, newest_checkpoint
from ...io.state.directory import StateDirectory
from ...io.state.plan_files import read_plan
from ...io.state.quarantine import Quarantine
from ...io.state.read_record import ReadRecord
from ...io.state.reports import read_reports
from ...io.state.result_changes import failed_results
from ...io.state.results import failures_by_name
from ...io.state.running import read_running
from ...pipeline.monitoring.limits import reported_limits
from ..printing.limits import LimitWarnings, limits_text
from ..printing.summary import (
    FATES,
    expired_lines,
    failure_lines,
    fates,
    graph_text,
    result_lines,
    result_summaries,
    rounded_lines,
    source_of,
    wait_lines,
)
from ..printing.text import TIED, command, duration, line
from .file_checks import CHECKED_BYTES, FileChecks, ResultChecks

#: Seconds between two looks of ``--watch``; a run publishes its progress as often (`RunningFile`).
_WATCH_SECONDS = 2.0

#: To the top left of a terminal, which is cleared from there.
_CLEAR = "\x1b[H\x1b[J"

#: Checkpoints that are listed one by one.
_LISTED = 10


def show_status(state: str, *, as_json: bool, watch: bool) -> None:
    """Print the status of a state directory; end with an error where it is damaged.

    ``as_json``: for programs. ``watch``: again and again, until Ctrl-C; on a terminal over what was
    there, and for programs an object a line.
    """
    is_screen = watch and not as_json and sys.stdout.isatty()
    checks = FileChecks()
    while True:
        status = Status(StateDirectory(state), checks)
        if as_json:
            text = json.dumps(status.values(), indent=None if watch else 1)
        else:
            text = "\n".join(status.lines())
        click.echo(_CLEAR + text if is_screen else text)
        if not watch:
            break
        if not (as_json or is_screen):
            click.echo()
        time.sleep(_WATCH_SECONDS)
    if status.damage:
        msg = f"state {state} is not whole: see what is said of its damage"
        raise StateError(msg)


class Status:
    """A state directory at one moment.

    Parameters
    ----------
    state
        The state.
    checks
        What reads its files; that of an earlier look reads only what is new.
    """

    def __init__(self, state: StateDirectory, checks: FileChecks | None = None) -> None:
        self.state = state
        self._files = checks or FileChecks()
        self.settings = state.settings()
        #: What is damaged or missing, and what else is to be known: a sentence each.
        self.damage: list[str] = []
        self.notes: list[str] = []
        self.checkpoint = newest_checkpoint(state, self.damage, check=self._files.checkpoint)
        # After it: a run may extend the plan meanwhile, and write a checkpoint of that.
        self.plan = read_plan(state)
        if self.checkpoint is not None:
            try:
                self.checkpoint.check_plan(self.plan)
            except StateError as error:
                self.damage.append(str(error))
        # A run may have got further meanwhile; what counts is the checkpoint.
        reports = read_reports(state, notes=self.damage)
        self.reports = [report for report in reports if report.batch_id < self.boundary]
        self.totals = totals(self.reports)
        self._look_for_missing_reports()
        results = ResultChecks(state, self.boundary, len(self.plan.batches), self._files)
        self.damage += results.damage
        self.notes += results.notes
        #: Batches up to the newest checkpoint after which there are results.
        self.result_ids = results.ids
        #: Name of a result -> how often it failed, where it was not computed later.
        self.failures = failures_by_name(failed_results(state, self.boundary))
        #: The newest whole result of each name, those of the newest batch first; their summaries.
        self.results = results.newest()
        self._summaries = result_summaries(self.results, self.damage, self._files.summary)
        #: Batch -> bytes of its checkpoint, of those that are there.
        self.kept = {each: _size_of(state.checkpoint(each)) for each in state.checkpoint_ids()}
        self._look_at_older_checkpoints()
        self._holder = state.holder()
        #: What is left out and not in the log again.
        quarantine = Quarantine(state)
        self.quarantine: dict[str, list[Any]] = {
            "batches": [each for each in quarantine.waiting() if each < self.boundary],
            "files": [each.name for each in quarantine.files() if not each.done],
        }
        #: Progress of the run that goes on.
        self._run = None if self._holder is None else read_running(state.path)
        self._read = ReadRecord()
        try:
            self._read = ReadRecord.of_state(state)
        except StateError as error:
            self.damage.append(str(error))

    def _look_for_missing_reports(self) -> None:
        missing = sorted(set(range(self.boundary)) - {each.batch_id for each in self.reports})
        if missing:
            self.damage.append(
                f"{self.state.batches} lacks reports of {counted(len(missing), 'batch')}, from "
                f"batch {missing[0]} to {missing[-1]}: what became of their rows is unknown; "
                f"the graph has them all"
            )

    def _look_at_older_checkpoints(self) -> None:
        """Find those that are broken among the ones before the newest whole one."""
        left = CHECKED_BYTES
        for batch_id in sorted(self.kept, reverse=True):
            if batch_id >= self.boundary - 1:
                continue
            left -= self.kept[batch_id]
            if left < 0:
                self.notes.append(
                    f"the checkpoint of batch {batch_id} and earlier ones were not checked: only "
                    f"the newest, and {amount(CHECKED_BYTES)} before it, are"
                )
                break
            _, fault = self._files.checkpoint(self.state, batch_id)
            if fault:
                self.damage.append(f"{fault}; remove it, it is not needed to go on")

    @property
    def boundary(self) -> int:
        """First batch that is not in the newest checkpoint."""
        return 0 if self.checkpoint is None else self.checkpoint.boundary

    def _count(self, name: str) -> int:
        manifest = self.checkpoint.manifest if self.checkpoint else {}
        return int(manifest.get(name, 0))

    def values(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        # Of the newest results: rows that their batch was.
        source = source_of(self.results)
        return {
            "state": str(self.state.path),
            "log": self.settings.log_address,
            **self.settings.identity,
            "is_running": self._holder is not None,
            "run": self._run,
            "batches_planned": len(self.plan.batches),
            "batches_applied": self.boundary,
            "rows_planned": self.plan.rows,
            "rows_applied": sum(batch.rows for batch in self.plan.batches[: self.boundary]),
            **{name: self.totals[name] for name, _ in FATES},
            "expired": self.totals["expired"],
            "weights_rounded": self.totals["weights_rounded"],
            "num_vertices": self._count("num_vertices"),
            "num_edges": self._count("num_edges"),
            "state_hash": self.checkpoint.manifest["state_hash"] if self.checkpoint else None,
            "checkpoint": str(self.checkpoint.path) if self.checkpoint else None,
            "checkpoints": [
                {"batch": batch_id, "bytes": size} for batch_id, size in self.kept.items()
            ],
            "files_without_page_checksums": self._read.unchecked_files,
            "quarantine": self.quarantine,
            "results": {path.stem: str(path) for path in self.results},
            "source": source._asdict() if source else None,
            "summary": self._summaries,
            "failed": {name: each.values() for name, each in self.failures.items()},
            "handover": self.checkpoint.manifest.get("handover") if self.checkpoint else None,
            "memory": memory_values(self.reports[-1]) if self.reports else None,
            "damage": self.damage,
            "notes": self.notes,
        }

    def lines(self) -> list[str]:
        """Lines for people."""
        values = self.values()
        size = graph_text(
            values["num_vertices"],
            values["num_edges"],
            directed=values["directed"],
            records=record_named(values["records"], values["weights"]).name,
            on_repeat=values["on_repeat"],
        )
        return [
            *self._lines_of_log(values),
            *self._lines_of_rows(values),
            line("graph", size),
            *result_lines(self.results, values["summary"]),
            *failure_lines(self.failures),
            *self._lines_of_checkpoint(values),
            *(line("damage", each) for each in self.damage),
            *(line("note", each) for each in self.notes),
            *self._lines_of_next_run(values),
        ]

    def _lines_of_log(self, values: Mapping[str, Any]) -> Iterator[str]:
        """What is read, and how much of it is applied."""
        yield line("state", values["state"], wrap=False)
        yield line("log", address_text(values["log"]), wrap=False)
        yield from running_lines(self._holder, self._run)
        applied = (
            f"{values['batches_applied']:,} of "
            f"{counted(values['batches_planned'], 'batch')}, "
            f"{values['rows_applied']:,} of {counted(values['rows_planned'], 'row')}"
        )
        yield line("applied", applied + (" (by the newest checkpoint)" if self._run else ""))

    def _lines_of_rows(self, values: Mapping[str, Any]) -> Iterator[str]:
        """What became of the rows, and what is to be known of them."""
        if self.reports:
            yield line("rows", fates(self.totals))
            yield from expired_lines(self.totals)
            yield from rounded_lines(self.totals, values["weights"])
        if waiting := len(self.quarantine["batches"]) + len(self.quarantine["files"]):
            what = "batch or file" if waiting == 1 else "batches and files"
            yield line("quarantine", f"{waiting:,} {what} to be corrected")
        if unchecked := values["files_without_page_checksums"]:
            yield line("checksums", unchecked_text(len(unchecked)))

    def _lines_of_checkpoint(self, values: Mapping[str, Any]) -> Iterator[str]:
        """Memory after the newest batch, and the checkpoints."""
        if self.reports:
            yield line("memory", memory_text(self.reports[-1]))
        if values["handover"]:
            yield line("handover", handover_text(values["handover"]))
        if self.checkpoint:
            yield line("checkpoint", str(self.checkpoint.path), wrap=False)
            bytes_there = self.kept.get(self.checkpoint.batch_id, 0)
            yield line("", f"written {written(self.checkpoint, bytes_there)}")
        if len(self.kept) > 1:
            yield line("kept", kept_text(self.kept))

    def _lines_of_next_run(self, values: Mapping[str, Any]) -> Iterator[str]:
        """The command that goes on, where there is more to apply."""
        if values["batches_planned"] > values["batches_applied"] and not self._holder:
            log = values["log"]
            addresses = [log] if isinstance(log, str) else log
            run = command("graphtide", "run", *addresses, "--state", values["state"])
            yield line("next", run, wrap=False)


def running_lines(holder: str | None, values: Mapping[str, Any] | None) -> Iterator[str]:
    """Lines on the run that goes on, if one does, by its progress (`RunningFile`)."""
    if holder is None or values is None:
        yield line("running", holder or "no")
        return
    yield line("running", f"{holder}, for {duration(max(time.time() - values['started'], 0))}")
    done, total = values["batches_done"], values["batches_total"]
    at = f"batch {min(done + 1, total):,} of {total:,}"
    parts = [f"{values['stage']}, {at}"]
    if values["rows_done"]:
        parts += [
            f"{values['rows_done']:,} of {counted(values['rows_total'], 'row')} in this run",
            f"{rate(values['rows_per_second'])} rows/s",
        ]
    if values["seconds_left"]:
        parts.append(f"{duration(values['seconds_left'])} left")
    yield line("", ", ".join(part.replace(" ", TIED) for part in parts))
    if picture := values["picture"]:
        yield from wait_lines(picture["waits"], picture["wait_seconds"])
    if values["dashboard"]:
        yield line("dashboard", values["dashboard"])
    limits = reported_limits(values)
    if limits:
        yield line("limits", limits_text(limits))
    for _, text in LimitWarnings().new(limits):
        yield line("warning", text)


def unchecked_text(files: int) -> str:
    """Note on ``files`` files of a log that carry no checksums."""
    return (
        f"{counted(files, 'file')} without checksums: damage there is noticed only where rows "
        f"cannot be read, or differ from what was read before"
    )


def handover_text(routes: Mapping[str, int]) -> str:
    """Routes by which batches since the checkpoint before came to the graph worker."""
    values = [f"{counted(count, 'batch')} by {route}" for route, count in sorted(routes.items())]
    return ", ".join(values)


def memory_values(report: BatchReport) -> dict[str, int]:
    """Memory after a batch."""
    return {
        "pages_used": report.pages_used,
        "pages_free": report.pages_free,
        "largest_free_run": report.largest_free_run,
        "page_bytes": report.page_bytes,
    }


def memory_text(report: BatchReport) -> str:
    """Memory after a batch, as text."""
    pages = (report.pages_used, report.pages_free, report.largest_free_run)
    if report.page_bytes:
        used, free, run = (amount(each * report.page_bytes) for each in pages)
        used = f"{used} in use, in pages of {report.page_bytes} bytes"
    else:  # an older graphtide wrote it
        used, free, run = (f"{each:,}" for each in pages)
        used = f"{counted(report.pages_used, 'page')} in use"
    return f"{used}; {free} free, {run} of it in one run"


def kept_text(sizes: Mapping[int, int]) -> str:
    """Checkpoints that are kept, by the batches after which they were written."""
    ids = [f"{batch_id:,}" for batch_id in sizes]
    if len(ids) > _LISTED:
        ids = [*ids[: _LISTED - 2], "…", ids[-1]]
    total = amount(sum(sizes.values()))
    return f"{counted(len(sizes), 'checkpoint')}, {total}, after batches {', '.join(ids)}"


def _size_of(folder: Path) -> int:
    # A run may remove it meanwhile.
    with suppress(FileNotFoundError):
        return sum(path.stat().st_size for path in folder.iterdir())
    return 0


def written(checkpoint: Checkpoint, size: int) -> str:
    """When a checkpoint came into its place, in local time, and its size in bytes."""
    try:
        seconds = checkpoint.path.stat().st_mtime
    except FileNotFoundError:
        return f"{amount(size)}, replaced by a newer one meanwhile"
    return f"{datetime.fromtimestamp(seconds, UTC).astimezone():%Y-%m-%d %H:%M:%S}, {amount(size)}"
