"""``graphtide study``: the papers' studies, small; what is counted, and what is refused."""

import math
import re
import sys
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import fails, graphtide_here
from graphtide import DynamicGraph, UpdateBatch
from graphtide.flows.bench.measuring.arm import Arm, Bench
from graphtide.flows.bench.measuring.workloads import WORKLOADS, unpack
from graphtide.flows.study import generation, memory, overallocation, remapping
from graphtide.flows.study.plots import draw
from graphtide.flows.study.published import PUBLISHED, beside
from graphtide.flows.study.row_by_row import COUNTS, LogRow, RowByRow
from graphtide.flows.study.stress import Stress, StressedGraph, run_stress
from graphtide.flows.study.vertex_tables import Doubled, run_vertices
from graphtide.gpu_core.errors import GraphtideError
from graphtide.gpu_core.generators.watts_alpha import watts_alpha_edges
from graphtide.gpu_core.image.fields import Field
from graphtide.gpu_core.layouts import LAYOUTS
from graphtide.gpu_core.programs.library import hops_program
from graphtide.gpu_core.programs.run import ProgramResult
from graphtide.gpu_core.report import BatchReport
from graphtide.testing import image_of
from model_checks import expected_report
from oracles import ModelGraph, batch_of
from strategies import DENSE_IDS, batches


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


def test_a_table_is_doubled_by_copying_what_is_there() -> None:
    """453 vertices have 512 places, as in GraphVine's example; then there are twice as many."""
    first = Doubled().added(453)
    assert first == Doubled(room=512, used=453)
    assert first.added(59) == Doubled(room=512, used=512)
    second = first.added(60)
    assert second == Doubled(room=1024, used=513, copied=453)
    assert second.added(2000) == Doubled(room=4096, used=2513, copied=453 + 513)


def test_vertex_tables_are_those_of_the_graph() -> None:
    tables = run_vertices("host", 8, 16)
    assert [each.created for each in tables] == list(range(16, 257, 16))
    assert tables[-1].vertices == 128
    # Indices of vertices that went are taken again; a round comes before the first of them goes.
    assert [each.records for each in tables] == [12 * min(n, 144) for n in range(16, 257, 16)]
    assert tables[-1].doubled == 16 * 256
    assert tables[-1].copied == 16 * (16 + 32 + 64 + 128)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_pages_of_rows_are_what_the_graph_accounts_for(layout: str) -> None:
    rng = np.random.default_rng(3)
    graph = DynamicGraph(layout=layout, ids="dense", reverse=False, engine="host")
    graph.insert_edges(rng.zipf(1.5, 3000) % 300, rng.integers(0, 900, 3000))
    report = graph.memory()
    pages = int(memory._pages_of_rows(graph).sum())
    assert pages == report.regions["adjacencies"] // report.page_bytes


def test_free_capacity_is_that_of_rows_and_moves_are_of_rows_that_changed() -> None:
    """Pages of 16 bytes hold 4 entries, those of 512 all that a row here ever has."""
    graph = DynamicGraph(layout="runs", ids="dense", reverse=False, engine="host", page_bytes=64)
    graph.insert_edges([0, 0, 0, 1], [1, 2, 3, 2])
    assert overallocation._ahead(graph) == ((13 + 15) / 2, (13 + 15) / 4)
    keys = WORKLOADS["G2"].keys(np, smaller=14)
    bench = Bench(Arm("host"), "G2", keys, 8, 1)
    graphs = {page: bench.graph(page_bytes=page) for page in overallocation._PAGE_BYTES}
    _, moved = overallocation.timed(bench, graphs, 100)
    full = np.bincount(unpack(np, keys)[0], minlength=256) == 4
    changed = np.unique(unpack(np, bench.fresh(100, 1))[0])
    assert moved[16] == pytest.approx(full[changed].mean(), abs=0.1)
    assert moved[512] == 0


def test_every_timed_insert_moves_as_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows keep their capacity when entries leave: so another insert would find it."""
    bench = Bench(Arm("host"), "G4", WORKLOADS["G4"].keys(np, smaller=11), 9, 3)
    graph, apply, shares = bench.graph(page_bytes=32), DynamicGraph.apply, []

    def noted(graph: DynamicGraph, batch: Any) -> BatchReport:
        report = apply(graph, batch)
        if report.inserted:
            changed = report.rows_moved + report.rows_appended + report.rows_merged
            shares.append(report.rows_moved / changed)
        return report

    monkeypatch.setattr(DynamicGraph, "apply", noted)
    _, moved = overallocation.timed(bench, {32: graph}, bench.keys.size // 4)
    assert len(shares) == 4
    assert min(shares) > 0.9 * max(shares) > 0.2
    assert moved[32] == pytest.approx(np.mean(shares[1:]), rel=0.02)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ("memory", "--scale", 8, "--rounds", 3),
            [
                "| uniform | runs |",
                "| random | tree |",
                "| uniform | 256 |",
                "| 3 | 85 | 255 |",
                "| Hornet 19.8, GraphVine 13.9 (hugetrace-00020, RTX 2060) |",
            ],
        ),
        (
            ("updates", "G2", "--smaller", 9, "--repeats", 1),
            ["| G2 | both |", "| G2 | insert vertices |", "| G2 | delete vertices, undirected |"],
        ),
        (
            ("small-world", "--vertices", 40, "--degree", 4, "--graphs", 1),
            ["| alpha | clustering |", "| 20 | 0."],
        ),
        (
            ("queries", "G1", "--smaller", 11, "--repeats", 1),
            ["| G1, a hub | tree |", "K40", "| SpMV |"],
        ),
        (
            ("overallocation", "G2", "--smaller", 11, "--repeats", 1),
            ["| G2 | 16 |", "| G2 | 512 |"],
        ),
        (
            ("remapping", "G2", "G4", "--smaller", 12, "--repeats", 1),
            ["| G2 | SSSP |", "| G4 | arranging | 0 |", "Random 68.0 to 91.9 % |"],
        ),
    ],
)
def test_a_study_prints_its_table(
    words: tuple[object, ...], expected: list[str], tmp_path: Path
) -> None:
    engine = () if words[0] == "small-world" else ("--engine", "host")
    is_drawn = words[0] == "remapping" and find_spec("matplotlib")
    plot = ("--plot", tmp_path / "plot.svg") if is_drawn else ()
    done = graphtide_here("study", *words, *engine, *plot)
    if is_drawn:
        # A program has a place of its own, and its name there.
        assert {"PageRank", "SSSP", "BFS", "G2", "G4"} <= words_of_svg(tmp_path / "plot.svg")
    assert (done.returncode, done.stderr) == (0, "")
    for line in expected:
        assert line in done.stdout
    if words[0] == "memory":
        pages = re.findall(r" (\d+) \((\d+)\) ", done.stdout.replace(",", ""))
        used, kept = np.array(pages, int).T
        assert (used <= kept).all(), "in brackets: if rows kept their pages"
        assert (used < kept).any()
    # Markdown takes a line right behind a table as a row of it.
    lines = done.stdout.splitlines()
    assert all(row[:1] != "|" or line[:1] in ("", "|") for row, line in pairwise(lines))


def words_of_svg(file: Path) -> set[str]:
    """Texts that matplotlib has drawn as shapes, whose words stand beside them."""
    return set(re.findall("<!-- (.*) -->", file.read_text()))


def test_more_entries_than_a_graph_lacks_are_not_looked_for() -> None:
    """They were looked for without end."""
    repeats = ("--smaller", 12, "--repeats", 64)
    done = graphtide_here("study", "updates", "G3", "--engine", "host", *repeats)
    fails(done, 2, "G3 lacks", "lower --repeats or --smaller")


def test_a_workload_that_is_too_small_for_any_point_is_drawn_all_the_same(tmp_path: Path) -> None:
    """What was measured of the others would be lost."""
    pytest.importorskip("matplotlib", reason="an extra of its own")
    file = tmp_path / "new" / "updates.svg"
    panels = {"G1": {"runs": ([], [])}, "G3": {"runs": ([1_000, 10_000], [2.0, 3.0])}}
    draw(str(file), panels, "entries", "M inserts/s", logarithmic=True)
    assert file.read_text().endswith("</svg>\n")


#: Of both warps together.
_LONGEST = {"none": 9 + 40, "linear": 3 + 40, "log2": 3 + 40}


def test_lanes_wait_for_the_longest_row_of_their_warp() -> None:
    """Two warps, one of which is not full; long rows are no part of what is laid out."""
    degrees = np.array([1] * 31 + [9] + [3] * 8 + [40] * 8)
    assert remapping.slots_of(degrees) == 32 * (9 + 40)
    assert remapping.lanes_by_order(degrees) == pytest.approx(
        {order: 384 / (32 * longest) for order, longest in _LONGEST.items()}
    )
    entries = 31 + 9 + 8 * 3
    room = {"none": 32 * (9 + 3), "linear": 32 * (3 + 9), "log2": 32 * (3 + 9)}
    assert remapping.slots_by_order(degrees) == pytest.approx(
        {order: slots / entries for order, slots in room.items()}
    )
    shuffled = np.random.default_rng(1).permutation(np.repeat(np.arange(1, 33), 32))
    assert remapping.lanes_by_order(shuffled)["linear"] == 1.0
    assert remapping.slots_by_order(shuffled)["linear"] == 1.0
    assert (
        remapping.lanes_by_order(shuffled)["none"]
        < 0.6
        < 0.7
        < (remapping.lanes_by_order(shuffled)["log2"])
    )
    assert remapping.lanes_by_order(np.zeros(5, np.int64)) == dict.fromkeys(
        ("none", "linear", "log2"), 1.0
    )


def test_a_mode_with_other_values_is_an_error() -> None:
    graph = DynamicGraph.from_edges([1, 2], [2, 3], engine="host")
    hops = hops_program()

    def call(*, start: int) -> ProgramResult:
        return graph.run_program(hops, {start: 0}, default=-1, active=start)

    same = remapping.check_modes("hops", call, {"one": {"start": 1}, "other": {"start": 1}})
    assert same.value.tolist() == [0, 1, 2]
    with pytest.raises(GraphtideError, match="hops: modes of a program find different values"):
        remapping.check_modes("hops", call, {"one": {"start": 1}, "other": {"start": 2}})


STRESS = Stress(
    batches=45, rows=60, scale=6, seed=1, records="weighted", ids="any", directed=True,
    reverse=True, page_bytes=None,
)  # fmt: skip


def test_a_stress_has_all_that_can_happen(emulated_device: object) -> None:
    """On both engines; the device is emulated, so batches are few and small."""
    graphs = [
        StressedGraph(STRESS, engine, name) for engine in ("host", "cuda") for name in LAYOUTS
    ]
    counts = run_stress(STRESS, graphs, lambda _: None)
    assert counts["compared"] == 2
    assert min(counts[name] for name in COUNTS) > 0
    for each in graphs:
        assert each.graph.num_vertices == 0 < each.most_pages
        assert each.longest > 1 << 4, "no vertex was a hub"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--batches", 41, "--records", "semantic", "--ids", "any"), "--records semantic"),
        (("--batches", 9, "--undirected", "--layout", "tree"), "--undirected"),
    ],
)
def test_a_stress_prints_a_row_a_layout(words: tuple[object, ...], sentence: str) -> None:
    small = ("--engine", "host", "--rows", 200, "--scale", 7)
    done = graphtide_here("study", "stress", *small, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert sentence in done.stdout
    layouts = ["tree"] if "tree" in words else list(LAYOUTS)
    assert [
        line.split("|")[2].strip() for line in done.stdout.splitlines() if "| host" in line
    ] == (layouts)
    assert "times, verify() clean, no page lost." in done.stdout


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_the_reference_of_a_stress_is_that_of_the_tests(data: st.DataObject) -> None:
    directed = data.draw(st.booleans())
    ours, model = RowByRow(directed=directed), ModelGraph(directed=directed, records="semantic64")
    for _ in range(data.draw(st.integers(1, 4))):
        rows = data.draw(batches(list(DENSE_IDS[:5])))
        expected = expected_report(model, rows)
        counts = ours.apply([LogRow(*row) for row in rows])
        assert {name: counts[name] for name in COUNTS} == expected
        assert [(*ends, *edge) for *ends, edge in ours.edges()] == model.canonical_edges()
        assert ours.vertices() == sorted(model.vertices)


def take_and_compare(tested: StressedGraph, batch: UpdateBatch, oracle: RowByRow) -> None:
    tested.apply(6, batch, {})
    tested.compare(6, oracle)


def _leak(graph: DynamicGraph) -> None:
    image_of(graph).header[Field.PAGE_BUMP] += 1


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda graph: graph.insert_edges([1], [2], weight=9), r"has \(1, 2, 9.0\) where .* 0.5\)"),
        (lambda graph: graph.delete_edges([2], [3]), "has 1 edges, not 2"),
        (lambda graph: graph.insert_vertices([8]), "has other vertices"),
        (_leak, "has 1 pages that no adjacency has"),
    ],
)
def test_a_stress_tells_what_is_wrong(
    spoil: Callable[[DynamicGraph], object], sentence: str
) -> None:
    tested, oracle = StressedGraph(STRESS, "host", "chain"), RowByRow(directed=True)
    rows = [LogRow(1, 1, 2, 0.5), LogRow(1, 2, 3), LogRow(1, 7, None)]
    batch, nothing = (batch_of(each, {"records": "weighted"}) for each in (rows, []))
    counts = oracle.apply(rows)
    tested.apply(4, batch, dict(counts))
    tested.compare(4, oracle)
    with pytest.raises(GraphtideError, match=r"chain on host, batch 5: .* reports 0 rows, not 3"):
        tested.apply(5, nothing, dict(counts))
    spoil(tested.graph)
    with pytest.raises(GraphtideError, match=f"batch 6: the graph {sentence}"):
        take_and_compare(tested, nothing, oracle)


def test_times_of_generation_have_a_slope(
    emulated_device: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of all ways, which grow the same graphs."""
    methods = generation._HOST_METHODS | generation._GPU_METHODS
    seconds = generation.measured(methods, [(30, 3), (60, 3)], 0)
    assert list(seconds) == list(methods)
    generation._print_ratios(methods, seconds, seconds, 1000)
    printed = capsys.readouterr().out.splitlines()
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in printed if "|" in row]
    assert [row[0] for row in rows[2:6]] == ["30", "60", "slope", "slope, paper"]
    slopes = [math.log2(each[1] / each[0]) for each in seconds.values()]
    assert [float(cell) for cell in rows[4][2:]] == pytest.approx(slopes, abs=0.006)
    for number, each in enumerate(seconds.values()):
        assert [float(row[2 + number]) for row in rows[2:4]] == pytest.approx(each, abs=1e-3)
    one_core = seconds["all pairs, one core"]
    for name, *cells in rows[8:]:
        assert float(cells[0]) == pytest.approx(one_core[1] / seconds[name][1], abs=0.006)
        published = methods[name].over_one_core
        assert cells[1::2] == ([f"{n:.2f}" for n in published] if published else ["", ""])


def test_ways_that_grow_other_graphs_are_told() -> None:
    methods = {
        name: generation.Method(lambda _count, _degree, each=each: (1.0, each))
        for name, each in (("one", b"1"), ("other", b"2"))
    }
    with pytest.raises(GraphtideError, match="9 vertices of degree 2: graphs differ"):
        generation.measured(methods, [(9, 2), (18, 2)], 0)


def test_all_pairs_are_timed_by_some_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was timed stands for all choices, and the graph is that of the model."""
    clock = iter(range(10_000))
    monkeypatch.setattr(generation.time, "perf_counter", lambda: float(next(clock)))
    monkeypatch.setattr(generation, "_SAMPLES", 30)
    seconds, edges = generation._sampled(100, 6, one_core=True)
    src, dst = watts_alpha_edges(100, 6, 1.0)
    assert edges == src.tobytes() + dst.tobytes()
    # A choice takes a second of this clock.
    assert seconds == pytest.approx(300, rel=0.05)


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
        (("updates", "--plot", "file/a.png"), "file/a.png cannot be written (Not a directory)"),
        (("updates", "--plot", "folder.png"), "folder.png cannot be written (Is a directory)"),
        (("stress", "--layout", "heap"), "--layout heap is unknown; use one of runs, chain, tree"),
        (("stress", "--seed", -1), "--seed -1 is negative"),
        (("memory", "--page-bytes", 100), "--page-bytes 100 is not a power of two"),
        (("queries", "--plot", "a.png"), "pip install matplotlib, or leave --plot out"),
    ],
)
def test_what_cannot_be_studied_is_said_before_it_begins(
    words: tuple[object, ...], sentence: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    (tmp_path / "file").touch()
    (tmp_path / "folder.png").mkdir()
    done = graphtide_here("study", *words, cwd=tmp_path)
    fails(done, 2, sentence)
    assert not done.stdout
