"""``graphtide report``: one HTML file on a state, for people who were not there.

It is made of what the state holds, as ``graphtide status`` is (`Status`): no run, cluster or log is
needed, no lock is taken, and what is damaged is reported on the page. It is one file without
scripts and links, so that it can be mailed, printed and kept.

A state has no clock of its runs: seconds are those that batches took in each stage, and dates are
those of files. Results are read from at most `_RESULTS` batches, evenly spread.

Not here: how a plot is drawn (``report_plots.py``), how the page looks (``report.html``).
"""

import importlib.resources
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import numpy as np
from jinja2 import Environment

from ... import __version__
from ...config.settings import GraphSettings
from ...gpu_core.algorithms.analytic import parameters_text
from ...gpu_core.algorithms.registry import ANALYTICS
from ...gpu_core.errors import StateError
from ...gpu_core.image.arena_size import page_size
from ...gpu_core.printable import counted, noun_of
from ...gpu_core.report import STAGES
from ...io.file_systems import new_file_at
from ...io.log.addresses import address_text
from ...io.state.directory import StateDirectory
from ...io.state.quarantine import Quarantine
from ...io.state.results import result_files
from ..plots import matplotlib_for
from ..printing.summary import FATES, failure_texts, graph_text, result_summaries
from ..printing.text import amount, duration, line, rate
from .output_files import refuse_outputs_in_state
from .report_plots import Plot, Values, svg_of
from .result_checks import CHECKED_BYTES
from .status import Status, handover_text, unchecked_text

#: Batches whose results are read, at most, for plots over batches.
_RESULTS = 100
#: Rows of a table, at most; the rest is counted.
_ROWS = 30
#: Files of the quarantine that are read for their reasons.
_READ = 20

#: Stage of a batch -> what happens in it, and where.
_STAGES = {
    "read": ("reading", "rows of the log, on a CPU worker"),
    "convert": ("conversion", "rows to a batch of net changes, on a CPU worker"),
    "transfer": ("hand-over", "the batch to the process that has the graph"),
    "apply": ("applying", "the batch to the graph, one after the other"),
}


#: Setting ``records`` -> what an edge has besides its end points.
_CARRIED = {"simple": "nothing", "weighted": "a weight", "semantic": "a weight, a type, a time"}


@dataclass(frozen=True)
class _Table:
    """A table of the page."""

    rows: Sequence[Sequence[str]]
    title: str = ""
    head: Sequence[str] = ()
    #: Columns that are numbers, from 0.
    numbers: tuple[int, ...] = ()
    #: What became of further rows.
    more: str = ""


@dataclass(frozen=True)
class _Section:
    """A part of the page with a title."""

    title: str
    texts: Sequence[str] = ()
    warnings: Sequence[str] = ()
    #: SVG elements.
    plots: Sequence[str] = ()
    tables: Sequence[_Table] = field(default_factory=list)


def write_report(state: str, output: str) -> None:
    """Write the report on a state into a file, in the place of one that is there.

    Raises
    ------
    SettingsError
        matplotlib is not installed, or the file would be one of the state or of its log.
    StateError
        There is no state, its plan is damaged, or the file cannot be written.
    """
    refuse_outputs_in_state(state, output)
    matplotlib_for("a report")
    text = Report(Status(StateDirectory(state))).html()
    with new_file_at(output) as temporary:
        temporary.write_text(text, encoding="utf-8")
    click.echo(line("report", output, wrap=False))


class Report:
    """The page on a state.

    Parameters
    ----------
    status
        The state at one moment.
    """

    def __init__(self, status: Status) -> None:
        self._status = status
        self._values = status.values()
        self._reports = status.reports
        self._batches = [report.batch_id for report in self._reports]

    def html(self) -> str:
        """The page, whole."""
        template = importlib.resources.files(__package__).joinpath("report.html")
        sections = [
            self._what_ran(), *self._over_batches(), self._results(), self._left_out(),
            self._checkpoints(), self._damage(),
        ]  # fmt: skip
        page = Environment(autoescape=True).from_string(template.read_text(encoding="utf-8"))
        return page.render(
            name=self._status.state.path.resolve().name,
            about=f"{self._status.state.path.resolve()}, as it was at {_when()}; "
            f"by graphtide {__version__}",
            story=self._story(),
            figures=self._figures(),
            sections=sections,
        )

    # -- the beginning

    def _story(self) -> str:
        values = self._values
        if not self._status.boundary:
            return (
                "No batch is applied yet: there is no checkpoint. graphtide keeps a graph that "
                "changes in memory, by batches of inserts and deletes from an update log."
            )
        done, planned = values["batches_applied"], values["batches_planned"]
        left = "all of them" if done == planned else f"{planned - done:,} are left"
        going = " A run goes on." if values["is_running"] else ""
        return (
            f"graphtide keeps a graph that changes in memory. It has applied {done:,} of "
            f"{counted(planned, 'batch')} of an update log ({left}): "
            f"{counted(values['rows_applied'], 'row')} with inserts and deletes of edges and "
            f"vertices. "
            f"The graph has {self._graph_text()} now.{going}"
        )

    def _graph_text(self) -> str:
        settings, identity = self._graph_settings(), self._values
        return graph_text(
            identity["num_vertices"], identity["num_edges"], directed=settings.directed,
            records=settings.record, on_repeat=settings.on_repeat,
        )  # fmt: skip

    def _graph_settings(self) -> GraphSettings:
        """Kind of the graph, and its storage in the run of the newest checkpoint."""
        checkpoint, identity = self._status.checkpoint, self._status.settings.identity
        kept = checkpoint.manifest.get("settings", {}) if checkpoint else {}
        known = GraphSettings.__dataclass_fields__
        return GraphSettings(**{k: v for k, v in {**kept, **identity}.items() if k in known})

    def _figures(self) -> Iterator[tuple[str, str]]:
        values, seconds = self._values, self._seconds("apply").sum()
        batches, rows = values["batches_applied"], values["rows_applied"]
        yield f"{noun_of(batches, 'batch')} applied", f"{batches:,}"
        yield f"{noun_of(rows, 'row')} applied", rate(rows)
        for noun, number in (("vertex", values["num_vertices"]), ("edge", values["num_edges"])):
            yield noun_of(number, noun), f"{number:,}"
        if seconds:
            yield "rows a second, while applying", rate(self._counts("rows").sum() / seconds)
        if self._reports:
            yield "memory in use", amount(self._pages("pages_used")[-1])

    def _what_ran(self) -> _Section:
        settings = self._graph_settings()
        checkpoint = self._status.checkpoint
        facts = [
            ("log", address_text(self._values["log"])),
            ("direction", "directed" if settings.directed else "undirected"),
            ("edges carry", _CARRIED.get(settings.records, settings.records)),
            ("ids of vertices", settings.ids),
            ("self loops", settings.self_loops),
            ("layout in memory", settings.layout),
            ("state made by", f"graphtide {self._status.settings.made_by}"),
        ]
        if settings.records != "simple":
            facts.insert(3, ("weight of an edge inserted again", settings.on_repeat))
        if settings.time_window:
            facts.insert(4, ("edges leave after", str(settings.time_window)))
        if checkpoint:
            facts.append(("newest checkpoint", _written(checkpoint.path)))
        if self._values["handover"]:
            facts.append(("hand-over", handover_text(self._values["handover"])))
        totals = self._status.totals
        # Edges that left by themselves are no rows, but gone all the same.
        shown = (*FATES, ("expired", "no rows: edges older than the window"))
        fates = [(text, f"{totals[name]:,}") for name, text in shown if totals[name]]
        files, firsts = self._status.plan.files, 0
        rows = []
        for file in files[:_ROWS]:
            rows.append((file.name, f"{file.rows:,}", f"{firsts:,}", f"{file.batches:,}"))
            firsts += file.batches
        return _Section(
            "What ran",
            tables=[
                _Table(facts, "the graph"),
                _Table(fates, "what became of the rows", numbers=(1,)),
                _Table(
                    rows, "files of the log", ("file", "rows", "first batch", "batches"),
                    (1, 2, 3), _more(len(files), "file"),
                ),
            ],
        )  # fmt: skip

    # -- over batches

    def _over_batches(self) -> Iterator[_Section]:
        if not self._reports:
            return
        yield self._speed()
        rows = {text: self._counts(name) for name, text in FATES if self._counts(name).any()}
        yield _Section(
            "The graph over batches",
            plots=[
                self._plot("Edges", "edges", {"": self._counts("num_edges")}, together="last"),
                self._plot(
                    "Vertices", "vertices", {"": self._counts("num_vertices")}, together="last"
                ),
                self._plot("What became of the rows", "rows a batch", rows, kind="stacked"),
                self._plot(
                    "Edges that a batch added and removed", "edges a batch",
                    {name: self._counts(f"edges_{name}") for name in ("added", "removed")},
                ),
            ],
        )  # fmt: skip
        yield self._memory()

    def _memory(self) -> _Section:
        used, free = self._pages("pages_used"), self._pages("pages_free")
        text = (
            f"The graph lies in one piece of memory, the arena, in pages of "
            f"{page_size(self._graph_settings().kind(), None)} bytes. After the last batch "
            f"{amount(used[-1])} are in use and {amount(free[-1])} are free: later batches take "
            f"them before the arena grows."
        )
        an_edge = used / np.maximum(self._counts("num_edges"), 1)
        plots = [
            self._plot("Memory in use", "bytes", {"": used}, together="last"),
            self._plot("Memory for an edge", "bytes in use an edge", {"": an_edge},
                       together="last"),
        ]  # fmt: skip
        return _Section("Memory over batches", [text], plots=plots)

    def _speed(self) -> _Section:
        seconds = {stage: self._seconds(stage) for stage in STAGES}
        rows, total_rows = [], self._counts("rows").sum()
        for stage, (name, about) in _STAGES.items():
            each = seconds[stage]
            if not each.any():
                continue
            slowest = int(each.argmax())
            rows.append(
                (
                    name, about, duration(each.sum()), rate(total_rows / each.sum()),
                    *(f"{1e3 * np.quantile(each, q):,.2f}" for q in (0.5, 0.95)),
                    f"{1e3 * each[slowest]:,.2f}", f"{self._batches[slowest]:,}",
                )
            )  # fmt: skip
        head = ("stage", "what", "in all", "rows/s", "median ms", "95 % ms", "slowest ms", "batch")
        apply = np.maximum(seconds["apply"], 1e-9)
        stages = {_STAGES[stage][0]: 1e3 * each for stage, each in seconds.items()}
        return _Section(
            "How fast",
            [
                "Seconds that batches took in each stage. Stages of different batches go on at "
                "once, so a run took less time on the clock than their sum, which is not kept."
            ],
            plots=[
                self._plot("Time of a batch", "milliseconds a batch", stages, kind="stacked"),
                self._plot("Speed of applying", "rows a second",
                           {"": self._counts("rows") / apply}),
            ],
            tables=[_Table(rows, head=head, numbers=(2, 3, 4, 5, 6, 7))],
        )  # fmt: skip

    def _plot(self, title: str, unit: str, lines: dict[str, Values], **how: Any) -> str:
        return svg_of(Plot(title, unit, self._batches, lines, **how))

    def _counts(self, name: str) -> Values:
        return np.array([getattr(report, name) for report in self._reports], np.float64)

    def _seconds(self, stage: str) -> Values:
        return np.array([report.seconds.get(stage, 0.0) for report in self._reports], np.float64)

    def _pages(self, name: str) -> Values:
        """A count of pages, in bytes."""
        return self._counts(name) * page_size(self._graph_settings().kind(), None)

    # -- what was found, left out, kept

    def _results(self) -> _Section:
        texts, tables = [], []
        failed = [f"Failed: {text}" for text in failure_texts(self._status.failures)]
        for name, summary in self._values["summary"].items():
            analytic = ANALYTICS[summary["analytic"]]
            texts.append(f"{name} ({analytic.title}): {analytic.about}")
            texts.append(f"{analytic.label or name} {analytic.text(summary)}.")
            if changed := analytic.changed(summary["parameters"]):
                texts.append(f"{name} was computed with {parameters_text(changed)}.")
            if top := summary.get("top"):
                ranks = [(str(vertex), f"{value:.6g}") for vertex, value in top]
                tables.append(_Table(ranks, f"{name}, the first", ("vertex", "value"), (1,)))
        if not texts:
            return _Section("Results", ["No analytic has a result that is whole."], failed)
        source = self._values["source"]
        if source is not None:
            texts.append(
                f"After row {source['first_row'] + source['rows'] - 1:,} of {source['file']}."
            )
        return _Section("Results", texts, failed, list(self._result_plots()), tables)

    def _result_plots(self) -> Iterator[str]:
        """Plots of the two values that each analytic names, over the batches that have results."""
        ids = self._status.result_ids
        if len(ids) > _RESULTS:
            ids = [ids[at] for at in np.linspace(0, len(ids) - 1, _RESULTS).astype(int)]
        #: Name of a result, and of a value -> batches, values.
        found: dict[tuple[str, str], tuple[list[int], list[float]]] = {}
        left = CHECKED_BYTES
        for batch_id in reversed(ids):
            paths = [*result_files(self._status.state, batch_id).values()]
            left -= sum(path.stat().st_size for path in paths)
            if left < 0:
                break
            # What is damaged is reported already.
            for name, summary in result_summaries(paths, []).items():
                for value in ANALYTICS[summary["analytic"]].plotted or ():
                    if summary.get(value) is not None:
                        batches, values = found.setdefault((name, value), ([], []))
                        batches.insert(0, batch_id)
                        values.insert(0, float(summary[value]))
        for (name, value), (batches, values) in found.items():
            words = value.replace("_", " ")
            plot = Plot(f"{name}: {words}", words, batches, {"": np.array(values)}, kind="free")
            yield svg_of(plot)

    def _left_out(self) -> _Section:
        quarantine = Quarantine(self._status.state)
        waiting = {k: v for k, v in quarantine.waiting().items() if k < self._status.boundary}
        files = quarantine.files()
        rows = self._status.totals["quarantined"]
        if not (rows or files):
            return _Section("Left out", ["No row and no file."])
        reasons: Counter[str] = Counter()
        warnings = []
        for path in list(waiting.values())[:_READ]:
            try:
                reasons.update(quarantine.read(path)["reason"].to_pylist())
            except (KeyError, StateError) as error:
                warnings.append(str(error))
        texts = [
            f"{counted(rows, 'row')} against the log's contract, and so not in the graph; those of "
            f"{counted(len(waiting), 'batch')} are in {quarantine.path}, to be corrected."
        ]
        most = [(why, f"{count:,}") for why, count in reasons.most_common(_ROWS)]
        listed = [(file.name, file.reason, "yes" if file.done else "no") for file in files[:_ROWS]]
        tables = []
        if most:
            more = "" if len(waiting) <= _READ else f"Of the first {_READ} batches."
            tables.append(_Table(most, "why", ("reason", "rows"), (1,), more))
        if listed:
            head = ("file", "why it could not be used", "in the log again, or given up")
            tables.append(_Table(listed, "files", head, more=_more(len(files), "file")))
        return _Section("Left out", texts, warnings, tables=tables)

    def _checkpoints(self) -> _Section:
        status = self._status
        if not status.kept:
            return _Section("Checkpoints", ["None yet."])
        newest = [*status.kept.items()][-_ROWS:]
        rows = [
            (f"{batch:,}", amount(size), _written(status.state.checkpoint(batch)))
            for batch, size in reversed(newest)
        ]
        head = ("after batch", "size", "written")
        text = "Copies of the whole graph on the disk. The next run goes on from the newest one."
        table = _Table(rows, head=head, numbers=(0, 1), more=_more(len(status.kept), "checkpoint"))
        return _Section("Checkpoints", [text], tables=[table])

    def _damage(self) -> _Section:
        texts = [] if self._status.damage else [
            "None. The newest checkpoint, the reports of all batches and the results were compared "
            "with the checksums that they were written with."
        ]  # fmt: skip
        if unchecked := self._values["files_without_page_checksums"]:
            texts.append(f"{unchecked_text(len(unchecked))}.")
        return _Section("Damage", [*texts, *self._status.notes], self._status.damage)


def _more(count: int, noun: str) -> str:
    return f"… and {counted(count - _ROWS, noun)} more" if count > _ROWS else ""


def _when(seconds: float | None = None) -> str:
    """A time of the file system, or now, as people here write it."""
    moment = datetime.now(UTC) if seconds is None else datetime.fromtimestamp(seconds, UTC)
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S %Z}"


def _written(path: Path) -> str:
    try:
        return _when(path.stat().st_mtime)
    except FileNotFoundError:
        return "gone: a run has removed it"
