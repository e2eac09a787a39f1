"""``graphtide report``: a page that stands alone, and tells what the state holds."""

import json
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow.parquet as pq
import pytest

from commands import fails, graphtide_here
from graphtide import DynamicGraph
from graphtide.flows.commands.report import plots
from graphtide.flows.commands.report.page import MOST_ROWS, more_text
from graphtide.flows.commands.report.plots import Plot, svg_of
from graphtide.gpu_core.algorithms.registry import ANALYTICS
from graphtide.gpu_core.image.memory import MemoryReport
from graphtide.gpu_core.kind import FIRST_BATCH
from graphtide.gpu_core.printable import amount, rate
from graphtide.io.checked_tables import FACTS_KEY, write_table
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.reports import read_reports
from graphtide.io.state.results import ResultFacts, write_result
from made_state import apply_log, random_rows, write_rows
from old_state import flip

PAGERANK = ANALYTICS["pagerank"]


class Page(HTMLParser):
    """Texts of a page, its tags, and whatever it would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.fetched: list[str] = []
        self.text = ""
        self.feed(text)
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        fetching = ("src", "href", "xlink:href", "data")
        self.fetched += [
            value or "" for name, value in attrs if name in fetching and (value or "")[:1] != "#"
        ]

    def handle_data(self, data: str) -> None:
        self.text += data


def page_of(folder: Path) -> tuple[Page, str]:
    done = graphtide_here("report", "state", "--output", "page.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "report     page.html\n"
    text = (folder / "page.html").read_text(encoding="utf-8")
    return Page(text), text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """``log``, whose second file's name is markup, and ``state`` with results after two batches."""
    write_rows(tmp_path / "log", "a.parquet", random_rows(1, 400))
    write_rows(tmp_path / "log", "b<i>$x$.parquet", random_rows(2, 300))
    graphs = {}

    def analyze(batch_id: int, graph: DynamicGraph) -> None:
        if batch_id in (1, 4):
            graphs[batch_id] = graph.pagerank(), graph.num_vertices, graph.num_edges

    apply_log(tmp_path / "log", tmp_path / "state", spoil=analyze, batch_rows=150, every=2)
    for batch_id, (ranks, _, _) in graphs.items():
        facts = ResultFacts("pagerank", {}, None, PAGERANK.figures_of(ranks))
        state = StateDirectory(tmp_path / "state")
        write_result(state, batch_id, "pagerank", PAGERANK.values(ranks), facts)
    (tmp_path / "sizes").write_text(f"{graphs[4][1]} {graphs[4][2]}")
    return tmp_path


def test_the_page_stands_alone_and_tells_what_the_state_holds(folder: Path) -> None:
    page, text = page_of(folder)
    assert page.fetched == []
    assert not {"script", "link", "img", "iframe", "object"} & {*page.tags}
    assert "@import" not in text
    assert "url(http" not in text
    num_vertices, num_edges = (folder / "sizes").read_text().split()
    assert "It has applied 5 of 5 batches of an update log (all of them): 700 rows" in page.text
    assert f"The graph has {num_vertices} vertices, {num_edges} edges (directed, simple)" in (
        page.text
    )
    # Names are text, neither markup nor formulas.
    assert "b<i>$x$.parquet" in page.text
    assert "<i>" not in text
    assert re.search(r"pagerank\s*PageRank: Rank of every vertex", page.text)
    # A file of 400 rows is three batches, so the next one begins with batch 3.
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", text)
    files = cells.index("a.parquet"), cells.index("b&lt;i&gt;$x$.parquet")
    assert [cells[at + 1 : at + 4] for at in files] == [["400", "0", "3"], ["300", "3", "2"]]
    reports = read_reports(StateDirectory(folder / "state"))
    speed = sum(each.rows for each in reports) / sum(each.seconds["apply"] for each in reports)
    assert f"<b>{rate(speed)}</b>rows a second, while applying</div>" in text
    used = amount(reports[-1].pages_used * reports[-1].page_bytes)
    assert f"<b>{used}</b>memory in use</div>" in text
    assert "inserted again" not in page.text, "edges have no weights"
    assert "No row and no file." in page.text
    assert "None. Checkpoints, the reports" in page.text
    drawn = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    titles = {ElementTree.fromstring(each).get("aria-label") for each in drawn}
    assert titles == {
        "Time of a batch", "Speed of applying", "Edges", "Vertices", "What became of the rows",
        "Edges that a batch added and removed", "Memory in use", "Memory for an edge",
        "pagerank: iterations", "pagerank: error bound",
    }  # fmt: skip


def test_damage_is_told_on_the_page(folder: Path) -> None:
    [results] = (folder / "state/results/batch=000000000004").iterdir()
    flip(results, 100)
    [reports] = (folder / "state/batches").glob("000000000000-*.parquet")
    reports.write_bytes(reports.read_bytes()[:-10])
    page, _ = page_of(folder)
    assert f"{results.relative_to(folder)} is damaged" in page.text
    assert f"{reports.relative_to(folder)} is damaged" in page.text
    assert "lacks reports of 2 batches, from batch 0 to 1" in page.text


def test_a_state_without_a_checkpoint_has_a_page(folder: Path) -> None:
    for each in (folder / "state/checkpoints").iterdir():
        (each / "manifest.json").unlink()
    page, _ = page_of(folder)
    assert "No batch is applied yet" in page.text
    assert "manifest.json is missing" in page.text
    assert "svg" not in page.tags


def test_batches_that_are_left_are_counted(folder: Path) -> None:
    shutil.rmtree(folder / "state/checkpoints/batch=000000000004")
    page, _ = page_of(folder)
    assert "It has applied 4 of 5 batches of an update log (1 is left): 550 rows" in page.text


def test_one_edge_is_no_edges(tmp_path: Path) -> None:
    row = random_rows(1, 1)[0]._replace(op=1, src=1, dst=2)
    write_rows(tmp_path / "log", "a.parquet", [row])
    apply_log(tmp_path / "log", tmp_path / "state", every=9)
    page, text = page_of(tmp_path)
    for number, noun in ((1, "batch applied"), (1, "row applied"), (2, "vertices"), (1, "edge")):
        assert f"<b>{number}</b>{noun}</div>" in text
    assert "1 of 1 batch of an update log" in page.text


def test_rows_and_files_that_were_left_out_are_told_with_reasons(tmp_path: Path) -> None:
    rows = random_rows(3, 100)
    rows[5] = rows[5]._replace(op=7)
    write_rows(tmp_path / "log", "a.parquet", rows)
    (tmp_path / "log" / "b.parquet").write_text("no Parquet")
    apply_log(tmp_path / "log", tmp_path / "state", every=9, batch_rows=50, bad_rows="quarantine")
    page, _ = page_of(tmp_path)
    assert "1 row against the log's contract" in page.text
    assert re.search(r"reason\s*rows", page.text)
    assert "b.parquet" in page.text
    assert "No row and no file." not in page.text


def test_edges_that_left_by_themselves_are_told(tmp_path: Path) -> None:
    """Else those that are there are not those inserted less those deleted."""
    rows = [row._replace(ts=100 * number) for number, row in enumerate(random_rows(3, 60))]
    write_rows(tmp_path / "log", "a.parquet", rows)
    kind = {"records": "semantic", "time_window": "1000"}
    apply_log(tmp_path / "log", tmp_path / "state", every=9, batch_rows=20, **kind)
    page, _ = page_of(tmp_path)
    assert re.search(r"no rows: edges older than the window\s*\d+", page.text)
    assert re.search(
        r"weight of an edge inserted again\s*last\s*edges leave after\s*1000\s", page.text
    )


@pytest.mark.parametrize("layout", ["runs", "chain"])
def test_memory_is_told_by_the_pages_that_the_graph_has(tmp_path: Path, layout: str) -> None:
    """Their size follows from the first batch, so the settings alone do not tell it."""
    write_rows(tmp_path / "log", "a.parquet", random_rows(3, 60))
    held: list[MemoryReport] = []
    kind = {"layout": layout, "mean_degree": FIRST_BATCH}
    apply_log(
        tmp_path / "log", tmp_path / "state", every=9, batch_rows=20, **kind,
        spoil=lambda _, graph: held.append(graph.memory()),
    )  # fmt: skip
    page, _ = page_of(tmp_path)
    assert f"pages of {held[-1].page_bytes} bytes" in page.text
    status = graphtide_here("status", "state", cwd=tmp_path).stdout
    used = amount(held[-1].pages_used * held[-1].page_bytes)
    assert f"memory     {used} in use, in pages of {held[-1].page_bytes} bytes; " in status


def test_memory_is_left_out_where_an_older_graphtide_did_not_keep_it(tmp_path: Path) -> None:
    write_rows(tmp_path / "log", "a.parquet", random_rows(3, 60))
    apply_log(tmp_path / "log", tmp_path / "state", every=9, batch_rows=20)
    [reports] = (tmp_path / "state/batches").iterdir()
    table = pq.read_table(reports)
    older = table.drop_columns(["page_bytes"])
    facts = json.loads(table.schema.metadata[FACTS_KEY])
    write_table(reports, older, facts)
    page, _ = page_of(tmp_path)
    assert "Edges that a batch added and removed" in page.text
    assert "pages of" not in page.text
    assert "memory in use" not in page.text
    pages = table["pages_used"][-1].as_py()
    status = graphtide_here("status", "state", cwd=tmp_path).stdout
    assert f"memory     {pages:,} pages in use; " in status


def test_what_is_missing_is_told_in_a_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails(graphtide_here("report", "none", cwd=folder), 1, "no graphtide state at none")
    (folder / "file").write_text("")
    fails(graphtide_here("report", "file", cwd=folder), 1, "no graphtide state at file")
    done = graphtide_here("report", "state", "--output", "file/x", cwd=folder)
    fails(done, 2, "cannot be written")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = graphtide_here("report", "state", "--output", "unplotted.html", cwd=folder)
    fails(done, 2, "needs matplotlib", "pip install matplotlib")
    assert not (folder / "unplotted.html").exists()


def test_a_plot_of_many_batches_is_small_and_ends_where_they_do() -> None:
    count = 100_000
    values = np.arange(count, dtype=np.float64)
    plot = Plot("many", "edges", range(count), {"": values}, together="last")
    text = svg_of(plot)
    assert text == svg_of(plot)
    assert len(text) < 40_000
    # 100 k at the end of an axis that 1,000 more batches would lengthen.
    assert "100\N{THIN SPACE}k" in text


def test_neighbors_of_many_batches_become_one_and_what_is_left_out_is_counted() -> None:
    values = np.arange(1_000.0)
    last, means = (plots._thinned(values, together) for together in ("last", "mean"))
    assert last.tolist() == [*range(2, 999, 3), 999]
    assert means.tolist() == [*range(1, 999, 3), 999]
    assert more_text(MOST_ROWS, "file") == ""
    assert more_text(MOST_ROWS + 1, "file") == "… and 1 file more"


def test_rates_of_neighbors_are_put_together_as_their_rows_over_their_seconds() -> None:
    rows, seconds = np.full(800, 100.0), np.tile([1.0, 9.0], 400)
    together = plots._thinned(rows / seconds, "mean", seconds)
    np.testing.assert_allclose(together, np.full(400, 20))


def test_a_plot_of_one_batch_shows_it_and_names_it_alone() -> None:
    values = {"inserted": np.array([3.0]), "deleted": np.array([2.0])}
    for stacked in (False, True):
        text = svg_of(Plot("one", "rows", [7], values, "stacked" if stacked else "lines"))
        assert re.findall(r">([^<>\n]*)</text>", text)[:2] == ["7", "batch"]
    areas = re.findall(r'<path d="M ([^"]*)" clip-path="[^"]*" style="fill: #', text)
    widths = [{pair.split()[0] for pair in area.split("\nL ")} for area in areas]
    assert [len(each) for each in widths] == [2, 2], "from a left edge to a right one"


def test_a_line_at_the_largest_value_is_not_at_the_edge() -> None:
    """Where all values are nearly the same, the axis would end with them."""
    text = svg_of(Plot("two", "bytes", [0, 1], {"": np.array([2_097_500.0, 2_097_536.0])}))
    [line] = re.findall(r'<path d="M ([^"]*)" clip-path="[^"]*" style="fill: none; stroke: #', text)
    [top] = re.findall(r'<rect x="[\d.]+" y="([\d.]+)"', text)
    assert min(float(pair.split()[1]) for pair in line.split("\nL ")) > float(top) + 2
