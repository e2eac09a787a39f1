"""The page of ``graphtide report``: how it begins, and how it is put together.

It is made of what the state holds, as ``graphtide status`` is (`Status`): no run, cluster or log is
needed, no lock is taken, and what is damaged is reported on the page. It is one file without
scripts and links, so that it can be mailed, printed and kept.

A state has no clock of its runs: seconds are those that batches took in each stage, and dates are
those of files.

Not here: sections on batches (``batches.py``), results (``results.py``) and what the state keeps
besides (``kept.py``), how a plot is drawn (``plots.py``), how the page looks (``report.html``).
"""

import importlib.resources
from collections.abc import Iterator

import click
from jinja2 import Environment

from .... import __version__
from ....config.settings import GraphSettings
from ....gpu_core.printable import amount, counted, noun_of, rate
from ....io.file_systems import new_file_at
from ....io.log.paths.addresses import address_text
from ....io.state.directory import StateDirectory
from ...plots import matplotlib_for
from ...printing.summary import FATES, graph_text
from ...printing.text import line
from ..output_files import check_outputs_of_state
from ..status import Status, handover_text
from .batches import OverBatches
from .kept import checkpoints_section, damage_section, left_out_section
from .page import MOST_ROWS, HtmlTable, Section, moment_text, more_text, written_text
from .results import results_section

#: Setting ``records`` -> what an edge has besides its end points.
_CARRIED = {"simple": "nothing", "weighted": "a weight", "semantic": "a weight, a type, times"}


def write_report(state: str, output: str) -> None:
    """Write the report on a state into a file, in the place of one that is there.

    Raises
    ------
    SettingsError
        matplotlib is not installed, or the file would be one of the state or of its log.
    StateError
        There is no state, its plan is damaged, or the file cannot be written.
    """
    check_outputs_of_state(state, output)
    matplotlib_for("a report")
    text = StatePage(Status(StateDirectory(state))).html()
    with new_file_at(output) as temporary:
        # A path need not be UTF-8.
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
    click.echo(line("report", output, wrap=False))


class StatePage:
    """The page on a state.

    Parameters
    ----------
    status
        The state at one moment.
    """

    def __init__(self, status: Status) -> None:
        self._status = status
        self._values = status.values()
        self._batches = OverBatches(status.reports, self._graph_settings().kind())

    def html(self) -> str:
        """The page, whole."""
        template = importlib.resources.files(__package__).joinpath("report.html")
        status, values = self._status, self._values
        sections = [
            self._what_ran(), *self._batches.sections(), results_section(status, values),
            left_out_section(status), checkpoints_section(status), damage_section(status, values),
        ]  # fmt: skip
        page = Environment(autoescape=True).from_string(template.read_text(encoding="utf-8"))
        return page.render(
            name=self._status.state.path.resolve().name,
            about=f"{self._status.state.path.resolve()}, as it was at {moment_text()}; "
            f"by graphtide {__version__}",
            story=self._story(),
            figures=self._figures(),
            sections=sections,
        )

    def _story(self) -> str:
        values = self._values
        if not self._status.boundary:
            return (
                "No batch is applied yet: there is no checkpoint. graphtide keeps a graph that "
                "changes in memory, by batches of inserts and deletes from an update log."
            )
        done, planned = values["batches_applied"], values["batches_planned"]
        more = planned - done
        left = f"{more:,} {'is' if more == 1 else 'are'} left" if more else "all of them"
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
        values, seconds = self._values, self._batches.seconds("apply").sum()
        batches, rows = values["batches_applied"], values["rows_applied"]
        yield f"{noun_of(batches, 'batch')} applied", f"{batches:,}"
        yield f"{noun_of(rows, 'row')} applied", rate(rows)
        for noun, number in (("vertex", values["num_vertices"]), ("edge", values["num_edges"])):
            yield noun_of(number, noun), f"{number:,}"
        if seconds:
            speed = self._batches.counts("rows").sum() / seconds
            yield "rows a second, while applying", rate(speed)
        used = self._batches.bytes_used()
        if used.size:
            yield "memory in use", amount(used[-1])

    def _what_ran(self) -> Section:
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
            facts.append(("newest checkpoint", written_text(checkpoint.path)))
        if self._values["handover"]:
            facts.append(("hand-over", handover_text(self._values["handover"])))
        totals = self._status.totals
        # Edges that left by themselves are no rows, but gone all the same.
        shown = (*FATES, ("expired", "no rows: edges older than the window"))
        fates = [(text, f"{totals[name]:,}") for name, text in shown if totals[name]]
        files, firsts = self._status.plan.files, 0
        rows = []
        for file in files[:MOST_ROWS]:
            rows.append((file.name, f"{file.rows:,}", f"{firsts:,}", f"{file.batches:,}"))
            firsts += file.batches
        return Section(
            "What ran",
            tables=[
                HtmlTable(facts, "the graph"),
                HtmlTable(fates, "what became of the rows", numbers=(1,)),
                HtmlTable(
                    rows, "files of the log", ("file", "rows", "first batch", "batches"),
                    (1, 2, 3), more_text(len(files), "file"),
                ),
            ],
        )  # fmt: skip
