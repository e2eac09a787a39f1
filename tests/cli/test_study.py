"""``graphtide study``: the papers' studies, small; what is counted, and what is refused."""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from commands import graphtide_here, told
from graphtide import DynamicGraph
from graphtide.flows.study import generation, memory
from graphtide.flows.study.published import PUBLISHED, beside
from graphtide.gpu_core.generators.watts_alpha import BY
from graphtide.gpu_core.layouts import LAYOUTS


@pytest.mark.parametrize("stream", memory.STREAMS)
def test_rows_that_give_pages_back_never_have_more(stream: str) -> None:
    counts = memory.run_stream("host", stream, 8, 12, None)
    assert list(counts) == list(LAYOUTS)
    for layout, each in counts.items():
        assert len(each.used) == len(each.kept) == 13
        assert each.used[0] == each.kept[0]
        assert all(before <= after for before, after in pairwise(each.kept))
        assert all(used <= kept for used, kept in zip(each.used, each.kept, strict=True)), layout
        assert each.kept[-1] > each.used[-1], "no page has ever come back"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_pages_of_rows_are_what_the_graph_accounts_for(layout: str) -> None:
    rng = np.random.default_rng(3)
    graph = DynamicGraph(layout=layout, ids="dense", reverse=False, engine="host")
    graph.insert_edges(rng.zipf(1.5, 3000) % 300, rng.integers(0, 900, 3000))
    report = graph.memory()
    pages = int(memory._pages_of_rows(graph).sum())
    assert pages == report.regions["adjacencies"] // report.page_bytes


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("memory", "--scale", 8, "--rounds", 3), ["| uniform | runs |", "| random | tree |"]),
        (
            ("updates", "G2", "--smaller", 9, "--repeats", 1),
            ["| G2 | both |", "| G2 | insert vertices |"],
        ),
        (
            ("small-world", "--vertices", 40, "--degree", 4, "--graphs", 1),
            ["| alpha | clustering |", "| 20 | 0."],
        ),
        (("queries", "G1", "--smaller", 11, "--repeats", 1), ["| G1, a hub | tree |", "K40"]),
    ],
)
def test_a_study_prints_its_table(words: tuple[object, ...], expected: list[str]) -> None:
    engine = () if words[0] == "small-world" else ("--engine", "host")
    done = graphtide_here("study", *words, *engine)
    assert (done.returncode, done.stderr) == (0, "")
    for line in expected:
        assert line in done.stdout


def test_times_of_generation_have_a_slope(capsys: pytest.CaptureFixture[str]) -> None:
    lines = generation._lines([(40, 4), (160, 4)], 0)
    assert [list(lines[by][0]) for by in BY] == [[40, 160], [40, 160]]
    printed = capsys.readouterr().out.splitlines()
    rows = [row.split("|") for row in printed if row.startswith("|")]
    seconds = [[float(row[column]) for row in rows[2:4]] for column in (3, 4)]
    assert [row[1].strip() for row in rows[2:]] == ["40", "160", "slope"]
    assert np.all(np.array(seconds) >= 0)


def test_the_papers_figures_stand_beside_batches_of_their_size() -> None:
    assert beside("G1", "insert", 1_000_000).startswith("aimGraph 10.02 (rgg_n_2_20_s0, GTX 780);")
    assert beside("G1", "insert", 1_000) == beside("G4", "insert", 1_000_000) == ""
    # Hornet alone of the three takes no more than a million with faimGraph, as the paper says.
    assert "faimGraph" not in beside("G3", "delete", 10_000_000)
    assert all(each.milliseconds > 0 for rows in PUBLISHED.values() for each in rows)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("memory", "--scale", 40), "--scale is from 8 to 22"),
        (("updates", "G9"), "workload 'G9' is unknown"),
        (("updates", "--plot", "a.txt"), "use a name that ends with .png, .svg or .pdf"),
        (("queries", "--plot", "a.png"), "pip install matplotlib, or leave --plot out"),
    ],
)
def test_what_cannot_be_studied_is_said_before_it_begins(
    words: tuple[object, ...], sentence: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    told(graphtide_here("study", *words, cwd=tmp_path), 2, sentence)
