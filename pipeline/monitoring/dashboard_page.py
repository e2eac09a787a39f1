"""The page ``/graphtide`` of Dask's dashboard: one run at a time, drawn by Bokeh.

Colors are of middle brightness on no background, so that one drawing does for light and dark: which
of them is up to the browser (``prefers-color-scheme``).

Each browser that looks has a `_Page` of its own, which is brought up to date each second, and only
where the run has published something new. A page that is not open is not drawn. A figure is there
as soon as each of its axes has a value, or two where a line is to be seen over time: without one
Bokeh would complain in the browser's console.

Not here: what is published (``run_feed.py``), kept (``run_history.py``), and the page's text
(``page_text.py``).
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bokeh.document import Document
from bokeh.layouts import column, row
from bokeh.models import (
    ColumnDataSource,
    CustomJSTickFormatter,
    DataRange1d,
    Div,
    FactorRange,
    HoverTool,
    InlineStyleSheet,
    LinearAxis,
    Select,
)
from bokeh.plotting import figure
from distributed import Scheduler
from distributed.dashboard.core import BokehApplication
from distributed.dashboard.scheduler import template_variables
from jinja2 import Environment, FileSystemLoader

from ...gpu_core.algorithms.analytic import Analytic
from ...gpu_core.algorithms.registry import ANALYTICS
from ...gpu_core.report import STAGES
from . import page_text as words
from .busy import LOAD_STAGES
from .dashboard import PATH
from .run_history import RunHistory, series

#: Milliseconds between two looks at what a run has published.
_LOOK_MILLISECONDS = 1000

_BLUE, _ORANGE, _GREEN, _RED, _VIOLET = "#3b82c4", "#e08a2e", "#45a05a", "#d0505a", "#8b6fc0"
_GRAY, _GRID = "#808890", "rgba(128, 136, 144, 0.25)"
_OF_STAGE = dict(zip(STAGES, (_BLUE, _ORANGE, _VIOLET, _GREEN), strict=True))

_TEXT = """
:host { color: #24292f; font: 14px Helvetica, Arial, sans-serif; }
h2 { font-size: 21px; margin: 4px 0; } h3 { font-size: 14px; margin: 4px 0; color: #808890; }
p { margin: 2px 0; } td { padding: 1px 14px 1px 0; } .wrong { color: #d0505a; }
@media (prefers-color-scheme: dark) { :host { color: #d5dae0; } }
"""

#: Dask's own page around ours, which is also dark where the browser wants that. Its tabs would lie
#: over the first line of the page where they take two lines.
_TEMPLATE = """{% extends "simple.html" %}
{% block extra_resources %}<style>
body { padding-top: 0; } .navbar { position: sticky; margin: 0 -10px; }
@media (prefers-color-scheme: dark) {
  html { background: #16191d; } .navbar ul { background-color: #262b31; }
  .navbar li a { color: #d5dae0; } .dropdown-content { background-color: #262b31; }
}</style>{% endblock %}"""

#: Figures in a row share its width.
_HEIGHT = 230


def application(runs: Mapping[str, RunHistory], scheduler: Scheduler, prefix: str) -> Any:
    """Make the Bokeh application, and a tab for it on Dask's pages.

    Parameters
    ----------
    runs
        Histories of runs, the newest last; read whenever the page is drawn.
    scheduler
        Whose dashboard it is.
    prefix
        Of the paths of that dashboard.
    """
    # Dask's pages share this list.
    variables = template_variables(scheduler)
    tab = PATH.strip("/")
    if tab not in variables["pages"]:
        variables["pages"].insert(0, tab)
    pages = {PATH: partial(_open, runs)}
    return BokehApplication(pages, scheduler, prefix=prefix, template_variables=variables)


def _open(
    runs: Mapping[str, RunHistory], _scheduler: Scheduler, extra: dict[str, Any], doc: Document
) -> None:
    """Fill the document of a browser that has come."""
    from distributed import http

    page = _Page(runs)
    page.look()
    doc.add_root(page.root)
    doc.add_periodic_callback(page.look, _LOOK_MILLISECONDS)
    doc.title = "graphtide"
    templates = Environment(
        loader=FileSystemLoader([f"{each}/templates" for each in http.__path__])
    )
    doc.template = templates.from_string(_TEMPLATE)
    doc.template_variables.update(extra)


class _Page:
    """Page of one browser."""

    def __init__(self, runs: Mapping[str, RunHistory]) -> None:
        self._runs = runs
        #: Run and number of its message that are drawn.
        self._shown: tuple[str, int] | None = None
        self._choice = Select(title="run", visible=False, width=420)
        self._head, self._troubles = _text(), _text()
        self._facts, self._results, self._memory = _text(), _text(), _text()
        self._over_time = ColumnDataSource(series([]))
        self._regions = ColumnDataSource({"region": [], "bytes": [], "text": []})
        #: Analytic, and name of a value of its results -> the values over batches.
        self._found = {
            (analytic.name, name): ColumnDataSource({"batch": [], "value": []})
            for analytic, values in _PLOTS
            for name in values
        }
        #: Figure -> the columns that its axes go by.
        self._axes: dict[Any, list[tuple[ColumnDataSource, str]]] = {}
        self._arena = figure(
            title="arena by region", y_range=FactorRange(), height=_HEIGHT, **_FIGURE
        )
        self._arena.hbar(
            y="region", right="bytes", height=0.7, source=self._regions, color=_BLUE, alpha=0.8
        )
        self._arena.xaxis.formatter = CustomJSTickFormatter(code=_BYTE_TICKS)
        self._arena.add_tools(HoverTool(tooltips=[("@region", "@text")]))
        _dress(self._arena)
        self._axes[self._arena] = [(self._regions, "bytes")]
        results = [self._result(analytic, left, right) for analytic, (left, right) in _PLOTS]
        #: Rows of the page, each with what may stand in it.
        self._rows = [
            (row(sizing_mode="stretch_width"), each)
            for each in (
                [self._rate(), self._size(), self._latency()],
                [self._window(), self._arena, self._memory],
                [*results, self._results],
            )
        ]
        rows = [each for each, _ in self._rows]
        self.root = column(
            self._choice, self._head, self._troubles, self._facts, *rows,
            sizing_mode="stretch_width", name="graphtide",
        )  # fmt: skip

    # -- the drawings

    def _drawn_over_time(self, title: str, value: str) -> Any:
        drawn = _over_time(title)
        self._axes[drawn] = [(self._over_time, value)]
        return drawn

    def _rate(self) -> Any:
        drawn = self._drawn_over_time("rows a second", "rate")
        drawn.line("seconds", "rate", source=self._over_time, color=_BLUE, line_width=2)
        return _with_hover(drawn, [("rows/s", "@rate{0,0}")])

    def _size(self) -> Any:
        drawn = self._drawn_over_time("edges (left), vertices (right)", "edges")
        edges = drawn.line(
            "seconds", "edges", source=self._over_time, color=_BLUE, line_width=2, name="edges"
        )
        drawn.y_range.renderers = [edges]
        _second_axis(drawn, "vertices", _GREEN)
        vertices = drawn.line(
            "seconds", "vertices", source=self._over_time, color=_GREEN, line_width=2,
            y_range_name="vertices",
        )  # fmt: skip
        drawn.extra_y_ranges["vertices"].renderers = [vertices]
        return _with_hover(
            drawn, [("edges", "@edges{0,0}"), ("vertices", "@vertices{0,0}")], on=[edges]
        )

    def _latency(self) -> Any:
        drawn = self._drawn_over_time("seconds a batch, by stage", STAGES[-1])
        for stage in STAGES:
            drawn.line(
                "seconds", stage, source=self._over_time, color=_OF_STAGE[stage], line_width=2,
                legend_label=LOAD_STAGES.get(stage, stage),
            )  # fmt: skip
        _put_legend_below(drawn)
        return _with_hover(drawn, [(stage, f"@{stage}{{0.0000}} s") for stage in STAGES])

    def _window(self) -> Any:
        drawn = self._drawn_over_time("batches under way", "loading")
        for name, color, text in (
            ("loading", _BLUE, "being read"),
            ("waiting", _ORANGE, "waiting for their turn"),
        ):
            drawn.line(
                "seconds", name, source=self._over_time, color=color, line_width=2,
                legend_label=text,
            )  # fmt: skip
        _put_legend_below(drawn)
        return _with_hover(drawn, [("being read", "@loading"), ("waiting", "@waiting")])

    def _result(self, analytic: Analytic, left: str, right: str) -> Any:
        drawn = figure(
            title=analytic.title,
            height=_HEIGHT,
            x_axis_label="batch",
            y_axis_label=left.replace("_", " "),
            y_range=DataRange1d(),
            **_FIGURE,
        )
        drawn.yaxis.formatter = _counts()
        _dress(drawn)
        drawn.yaxis.axis_label_text_color = _BLUE
        _second_axis(drawn, right, _GREEN, label=right.replace("_", " "))
        for name, color, more in ((left, _BLUE, {}), (right, _GREEN, {"y_range_name": right})):
            source = self._found[analytic.name, name]
            line = drawn.line("batch", "value", source=source, color=color, line_width=2, **more)
            dots = drawn.scatter("batch", "value", source=source, color=color, size=5, **more)
            range_ = drawn.extra_y_ranges[right] if more else drawn.y_range
            range_.renderers = [line, dots]
        drawn.add_tools(HoverTool(tooltips=[("batch", "@batch"), ("value", "@value{0.[000000]}")]))
        self._axes[drawn] = [(self._found[analytic.name, name], "value") for name in (left, right)]
        return drawn

    # -- what is in them

    def look(self) -> None:
        """Draw what is new."""
        run, history = self._chosen()
        if history is None:
            self._head.text = words.no_run()
            return
        self._head.text = words.headline(history)
        if self._shown == (run, history.number):
            return
        self._shown = run, history.number
        self._facts.text = words.facts(history)
        self._troubles.text = words.troubles(history)
        self._results.text = words.results(history)
        self._memory.text = words.memory(history)
        self._over_time.data = series(history.samples)
        regions = words.regions(history)
        names = [name for name, _, _ in regions]
        if self._arena.y_range.factors != names:
            self._arena.y_range.factors = names
        self._regions.data = {
            "region": names,
            "bytes": [size for _, size, _ in regions],
            "text": [text for _, _, text in regions],
        }
        for (analytic, name), source in self._found.items():
            batches, values = history.over_batches(analytic, name)
            source.data = {"batch": batches, "value": values}
        for line, members in self._rows:
            shown = [each for each in members if self._has_values(each)]
            if line.children != shown:
                line.children = shown

    def _has_values(self, member: Any) -> bool:
        """Whether each axis of a figure has enough values to show; texts have no axes."""
        return all(
            sum(map(math.isfinite, source.data[name])) >= (2 if source is self._over_time else 1)
            for source, name in self._axes.get(member, [])
        )

    def _chosen(self) -> tuple[str, RunHistory | None]:
        """The run that is to be seen: the newest, unless another was chosen."""
        names = list(self._runs)
        if not names:
            return "", None
        options = [(name, words.run_name(self._runs[name])) for name in reversed(names)]
        if self._choice.options != options:
            # Who looks at the newest is shown the next one when that begins.
            before = self._choice.options[0][0] if self._choice.options else ""
            is_on_newest = self._choice.value in ("", before)
            self._choice.options = options
            self._choice.visible = len(options) > 1
            if is_on_newest or self._choice.value not in names:
                self._choice.value = names[-1]
        return self._choice.value, self._runs[self._choice.value]


#: Analytics, and the values of their results that are drawn over batches.
_PLOTS = [(each, each.plotted) for each in ANALYTICS.values() if each.plotted]

_FIGURE: Mapping[str, Any] = {
    "tools": "pan,xwheel_zoom,reset",
    "sizing_mode": "stretch_width",
    "min_width": 300,
}

#: Counts with the units of SI, and small numbers as they are: ``1.5 M``, ``0.25``, ``4.1e-6``.
_COUNT_TICKS = """
let units = ["", "k", "M", "G", "T"], n = 0, count = tick;
while (Math.abs(count) >= 1000 && n < 4) { count /= 1000; n += 1; }
if (count != 0 && Math.abs(count) < 1e-3) { return (+count.toPrecision(3)).toExponential(); }
return (+count.toPrecision(4) + " " + units[n]).trim();"""

_BYTE_TICKS = """
let units = ["B", "kB", "MB", "GB", "TB"], n = 0, size = tick;
while (size >= 1000 && n < 4) { size /= 1000; n += 1; }
return +size.toPrecision(3) + " " + units[n];"""

#: Time since the first point, with so many decimals that no two ticks have the same text.
_TIME_TICKS = """
const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : 1;
const decimals = step < 0.1 ? 2 : step < 1 ? 1 : 0;
const whole = Math.floor(tick + 1e-6), two = (n) => String(n).padStart(2, "0");
const hours = Math.floor(whole / 3600), minutes = two(Math.floor(whole / 60) % 60);
const decimal = decimals > 0 ? (tick - whole).toFixed(decimals).slice(1) : "";
return hours + ":" + minutes + ":" + two(whole % 60) + decimal;"""


def _counts() -> Any:
    # A model of its own each time: one belongs to one browser's document.
    return CustomJSTickFormatter(code=_COUNT_TICKS)


def _text() -> Div:
    return Div(text="", stylesheets=[InlineStyleSheet(css=_TEXT)], sizing_mode="stretch_width")


def _over_time(title: str) -> Any:
    drawn = figure(
        title=title,
        height=_HEIGHT,
        x_range=DataRange1d(start=0),
        y_range=DataRange1d(start=0),
        **_FIGURE,
    )
    drawn.xaxis.formatter = CustomJSTickFormatter(code=_TIME_TICKS)
    # With more, labels such as 0:00:06 touch in a plot that has a second axis.
    drawn.xaxis.ticker.desired_num_ticks = 4
    drawn.yaxis.formatter = _counts()
    _dress(drawn)
    return drawn


def _dress(drawn: Any) -> None:
    drawn.background_fill_color = drawn.border_fill_color = drawn.outline_line_color = None
    drawn.title.text_color = _GRAY
    drawn.toolbar.logo, drawn.toolbar.autohide = None, True
    drawn.grid.grid_line_color = _GRID
    for axis in drawn.axis:
        axis.axis_label_text_color = axis.major_label_text_color = _GRAY
        axis.axis_line_color = axis.major_tick_line_color = axis.minor_tick_line_color = _GRAY


def _put_legend_below(drawn: Any) -> None:
    drawn.add_layout(drawn.legend[0], "below")
    drawn.legend.padding = 0
    drawn.legend.background_fill_alpha = drawn.legend.border_line_alpha = 0
    drawn.legend.label_text_color, drawn.legend.orientation = _GRAY, "horizontal"


def _second_axis(drawn: Any, name: str, color: str, label: str | None = None) -> None:
    drawn.extra_y_ranges = {name: DataRange1d(start=0)}
    axis = LinearAxis(y_range_name=name, formatter=_counts(), axis_label=label)
    axis.axis_label_text_color = color
    axis.major_label_text_color = axis.axis_line_color = axis.major_tick_line_color = color
    axis.minor_tick_line_color = color
    drawn.add_layout(axis, "right")


def _with_hover(
    drawn: Any, tooltips: Sequence[tuple[str, str]], on: Sequence[Any] | None = None
) -> Any:
    first = [*on] if on else drawn.renderers[:1]
    at = ("at", "@seconds{00:00:00}")
    drawn.add_tools(HoverTool(tooltips=[at, *tooltips], mode="vline", renderers=first))
    return drawn
