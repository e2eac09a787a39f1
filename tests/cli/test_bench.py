"""Benchmarks as a user starts them, small."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import fails, graphtide, graphtide_here
from graphtide.config.settings import load_settings
from graphtide.flows.bench import follow, pipeline, start
from graphtide.flows.bench.ageing import Ageing
from graphtide.flows.bench.algorithms import (
    maintained,
    maintained_clustering,
    maintained_components,
)
from graphtide.flows.bench.algorithms.analytics import _check_distances
from graphtide.flows.bench.algorithms.refresh import SHARES, Refresh
from graphtide.flows.bench.measuring import draws, run_figures
from graphtide.flows.bench.measuring.arm import Arm, Bench, check
from graphtide.flows.bench.measuring.peers import sparse_products
from graphtide.flows.bench.measuring.replay import Expected, replay
from graphtide.flows.bench.measuring.run_figures import by_worker
from graphtide.flows.bench.measuring.run_tables import print_tables
from graphtide.flows.bench.measuring.streams import STREAMS, Step
from graphtide.flows.bench.measuring.workloads import WORKLOADS, pack, unpack
from graphtide.flows.bench.scan import scan_of
from graphtide.flows.bench.scripts import large_graph, updates_beside_peers
from graphtide.flows.bench.scripts.measuring import parser
from graphtide.flows.bench.transfers import LOCKED, PAGEABLE, transfer_rows
from graphtide.flows.commands.generate import write_log
from graphtide.gpu_core.algorithms.triangles.definitions import DIRECTED
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.errors import GraphtideError
from graphtide.gpu_core.generators.uniform import uniform_edges
from graphtide.gpu_core.generators.update_streams import UpdateMix
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.gpu_core.layouts import LAYOUTS
from graphtide.gpu_core.report import STAGES, BatchReport
from small_log import write_file


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_is_a_simple_graph_stored_both_ways(name: str) -> None:
    workload = WORKLOADS[name]
    keys = workload.keys(np, smaller=workload.scale - 10)
    src, dst = unpack(np, keys)
    assert (np.diff(keys) > 0).all()
    assert (src != dst).all()
    assert max(src.max(), dst.max()) < 1 << 10
    assert np.array_equal(np.sort(pack(np, dst, src)), keys)


@pytest.mark.parametrize("rmat", [False, True])
def test_new_keys_are_none_of_the_graph(rmat: bool) -> None:
    keys = WORKLOADS["G3"].keys(np, smaller=12)
    drawn = Bench(Arm("host"), "G3", keys, 8, 1).fresh(2_000, 3, rmat=rmat)
    assert drawn.size == 2_000
    assert (np.diff(drawn) > 0).all()
    assert not np.isin(drawn, keys).any()


def test_a_stress_batch_has_repeats_and_entries_of_the_graph() -> None:
    keys = WORKLOADS["G4"].keys(np, smaller=12)
    drawn = pack(np, *draws.stress_pairs(np, keys, 8, 1_000, 5))
    assert drawn.size == 1_000
    assert np.unique(drawn).size == 900
    assert np.isin(np.unique(drawn), keys).sum() == 100


def test_the_check_tells_one_entry_too_many() -> None:
    arm = Arm("host")
    keys = WORKLOADS["G4"].keys(np, smaller=12)
    graph = arm.graph(directed=True, ids="dense", reverse=False)
    graph.apply(arm.batch(1, *unpack(np, keys)))
    check(graph, keys, "all")
    with pytest.raises(GraphtideError, match="1 of them others"):
        check(graph, keys[1:], "one less")


def test_updates_are_measured_in_every_table() -> None:
    done = graphtide_here(
        "bench", "updates", "G4", "--engine", "host", "--smaller", 12, "--repeats", 1
    )
    assert done.returncode == 0, done.stderr
    plain, small = done.stdout.split("\nG4, small batches")
    rows = [line for line in plain.splitlines() if line.startswith("| G4 |")]
    assert len(rows) == 13
    assert len({line.count("|") for line in rows}) == 1
    figures = [cell.strip() for cell in small.splitlines()[-1].strip("| ").split("|")]
    assert figures[0] == "1"
    medians, highest = figures[1::2], figures[2::2]
    assert len(medians) == len(highest) == 4
    assert all(float(low) <= float(high) for low, high in zip(medians, highest, strict=True))


@pytest.mark.parametrize("one_way", [False, True])
def test_all_is_known_of_a_large_graph(monkeypatch: pytest.MonkeyPatch, *, one_way: bool) -> None:
    monkeypatch.setattr(large_graph, "_UPDATES", 1_000)
    monkeypatch.setattr(large_graph, "_ROWS", 1 << 10)
    known = large_graph.Circulant(Arm("host"), 1 << 12, 12, one_way=one_way)
    known.build()
    assert known.graph.num_edges == 12 << 12
    inserts, deletes = large_graph.updates_of(known, 2)
    assert len(inserts) == len(deletes) == 2
    calls = dict(large_graph.queries(known))
    if not one_way:
        calls |= dict(large_graph.analytics(known))
    for call in calls.values():
        call()
    known.graph.insert_edges([5], [2_000])
    with pytest.raises(GraphtideError, match="not what it must be"):
        calls["neighbors, degrees"]()


def test_an_unknown_workload_is_told() -> None:
    fails(graphtide_here("bench", "updates", "G9"), 2, "G9", "G1")
    fails(graphtide_here("bench", "ageing", "--batches", 0), 2, "--batches")


def test_transfers_are_measured_from_both_kinds_of_memory(device: Any) -> None:
    bench = Bench(Arm("cuda"), "G4", WORKLOADS["G4"].keys(device.xp, smaller=12), 8, 2)
    rows = list(transfer_rows(bench, 48))
    assert len(rows) == 12
    assert rows[0].label == f"copy of a CSR of {bench.keys.size:,} entries"
    for row in rows:
        assert {kind: len(laps) for kind, laps in row.laps.items()} == {PAGEABLE: 2, LOCKED: 2}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_ages_a_graph_whose_size_stays(name: str, engine: str) -> None:
    arm = Arm(engine)
    keys = WORKLOADS["G4"].keys(arm.xp, smaller=12)
    ageing = Ageing(arm, "G4", keys, 8, 1)
    graph = ageing.aged(STREAMS[name], 4)
    check(graph, arm.to_host(ageing.keys), name)
    left = int((~draws.is_key(arm.xp, keys, ageing.keys)).sum())
    assert 0 < left <= 4 * (keys.size // 200)
    assert ageing.keys.size == keys.size
    total = int(unpack(arm.xp, ageing.keys)[1].sum())
    assert int(scan_of(graph.adjacency_view())()) == total


def test_a_scan_reads_long_rows_too(engine: str) -> None:
    arm = Arm(engine)
    targets = arm.xp.arange(1, 3_000)
    graph = arm.graph(ids="dense", reverse=False)
    graph.apply(arm.batch(1, arm.xp.zeros_like(targets), targets))
    assert int(scan_of(graph.adjacency_view())()) == 2_999 * 1_500


def test_a_sliding_window_leaves_by_age() -> None:
    steps = [Step(np, 8, np.arange(1_000), number, 50, None) for number in range(20)]
    positions = [STREAMS["sliding window"].positions(step) for step in steps]
    assert np.array_equal(np.concatenate(positions), np.arange(1_000))


def test_a_sweep_comes_to_every_vertex_in_a_round() -> None:
    scale, vertices = 12, 1 << 12
    entries = np.sort(WORKLOADS["G4"].keys(np, smaller=8))
    stream, met = STREAMS["sweep"], np.zeros(vertices, int)
    windows, gone = [], []
    for number in range(100):
        step = Step(np, scale, entries, number, 40, np.random.default_rng(number))
        src, _ = stream.pairs(step)(500, number)
        windows.append(np.unique(src))
        met[windows[-1]] += 1
        positions = stream.positions(step)
        assert np.unique(positions).size == 40
        gone.append(unpack(np, entries[positions])[0])
    assert (met == 1).all(), "a vertex is met twice, or not at all"
    for number, sources in enumerate(gone):
        assert np.isin(sources, windows[(number + 50) % 100]).all()


def test_what_expires_stands_beside_deletes_on_every_layout() -> None:
    done = graphtide_here("bench", "expiry", "--engine", "host", "--smaller", 12, "--repeats", 2)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split("|")[2].strip() for line in done.stdout.splitlines() if "| G4" in line]
    assert rows == [name for layout in LAYOUTS for name in (layout, f"{layout}, reverse")]


def test_ageing_is_measured_by_every_stream() -> None:
    done = graphtide_here(
        "bench", "ageing", "--engine", "host", "--smaller", 12, "--repeats", 1, "--batches", 3
    )
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("| G4, ")]
    assert len(rows) == 6 * len(STREAMS)
    assert max(map(len, rows)) <= 100
    memory = [line.split("|") for line in rows if "| memory |" in line]
    assert all(0.9 < float(cells[-2]) < 1.5 for cells in memory)


def test_every_layout_is_measured_without_and_with_a_hub() -> None:
    done = graphtide_here("bench", "layouts", "--engine", "host", "--smaller", 12, "--repeats", 1)
    # The command as printed is the one to repeat: without --engine it would take a GPU.
    assert done.stdout.startswith("graphtide bench layouts --engine host --smaller 12 --repeats 1,")
    assert "\nMilliseconds of wall time, median of 1 " in done.stdout
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("| G4")]
    assert [tuple(cell.strip() for cell in cells[:2]) for cells in rows] == [
        (graph, layout) for graph in ("G4", "G4, a hub") for layout in LAYOUTS
    ]
    assert all(float(cell) > 0 for cells in rows for cell in cells[2:])
    assert all(float(cells[-1]) > 1 for cells in rows), "memory over that of a CSR"


# -- analytics


def test_analytics_are_measured_and_counted() -> None:
    done = graphtide_here(
        "bench", "analytics", "G1", "--engine", "host", "--smaller", 11, "--repeats", 1
    )
    assert done.returncode == 0, done.stderr
    keys = WORKLOADS["G1"].keys(np, smaller=11)
    near = np.zeros((1 << 9, 1 << 9), np.int64)
    near[unpack(np, keys)] = 1
    triangles = np.trace(near @ near @ near) // 6
    calls, refreshed = done.stdout.split("\nA batch of new edges")
    graph = DynamicGraph(directed=False, ids="dense", engine="host")
    graph.insert_edges(*unpack(np, keys))
    levels = graph.bfs(int(graph.vertices()[np.argmax(graph.degrees())])).depth + 1
    *_, found, _, reached, _ = calls.rstrip().rsplit("\n", 1)[1].split("|")
    assert (found.strip(), reached.strip()) == (f"{triangles:,}", f"{levels:,}")
    assert refreshed.count("| G1 | ") == len(SHARES)


def test_traversals_are_checked_and_stand_beside_other_packages() -> None:
    done = graphtide_here(
        "bench", "traversals", "G1", "--engine", "host", "--smaller", 10, "--repeats", 1
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("| G1 ")]
    measured = {row[1].strip(): [bool(cell.strip()) for cell in row[2:]] for row in rows}
    assert measured["graphtide"] == [True] * 5
    assert measured["SciPy"] == [True] * 3 + [False] * 2


def test_sizes_are_checked_and_measured_in_every_column() -> None:
    done = graphtide_here(
        "bench", "sizes", "G3", "--engine", "host", "--smaller", 12, "--repeats", 1
    )
    assert done.returncode == 0, done.stderr
    (row,) = [
        line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("| G3 ")
    ]
    assert all(cell.strip() for cell in row)
    assert len(row) == 10


def test_structure_is_checked_and_stands_beside_other_packages() -> None:
    done = graphtide_here(
        "bench", "structure", "G1", "--engine", "host", "--smaller", 12, "--repeats", 1
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("| G1 ")]
    measured = {row[1].strip(): [bool(cell.strip()) for cell in row[2:]] for row in rows}
    assert measured["graphtide"] == [True] * 9
    assert measured["networkx"] == [True] * 5 + [False, True, False, False]
    assert measured["SciPy"] == [True] * 2 + [False] * 3 + [True] + [False] * 3


def test_programs_are_checked_and_stand_beside_methods() -> None:
    done = graphtide_here(
        "bench", "programs", "G1", "--engine", "host", "--smaller", 12, "--repeats", 1
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[2:-1] for line in done.stdout.splitlines() if line.startswith("| G1 ")]
    measured = {row[0].strip(): [bool(cell.strip()) for cell in row[1:]] for row in rows}
    every = [True] * 7
    assert measured == {
        "hops": every, "by weight": every, "components": every,
        "PageRank": [True, True, False, False, False, True, True],
        "cores": [True, False, False, False, True, False, False],
    }  # fmt: skip


@pytest.mark.parametrize("wrong", [(0, 1), (3, 1), (3, 4), (5, 0), (4, -1), (6, 7)])
def test_wrong_distances_are_refused(wrong: tuple[int, int]) -> None:
    """A path of six vertices, and one vertex that nothing leads to."""
    src = np.arange(5)
    src, dst = np.concatenate([src, src + 1]), np.concatenate([src + 1, src])
    distance = np.array([0, 1, 2, 3, 4, 5, -1], np.int32)
    _check_distances(np, distance, src, dst, 0)
    distance[wrong[0]] = wrong[1]
    with pytest.raises(GraphtideError, match="not those of shortest paths"):
        _check_distances(np, distance, src, dst, 0)


def test_a_product_is_of_the_entries() -> None:
    keys = WORKLOADS["G3"].keys(np, smaller=12)
    degrees = np.bincount(unpack(np, keys)[0], minlength=1 << 8)
    for name, product in sparse_products(np, keys, 8).items():
        assert np.array_equal(np.asarray(product()), degrees), name


def test_results_after_a_batch_are_compared_with_those_from_nothing() -> None:
    refresh = Refresh(Arm("host"), "G1", WORKLOADS["G1"].keys(np, smaller=11), 9, 1)
    (row, steps), *others = refresh.rows()
    edges = refresh.keys.size // 2
    assert [row.label, *(other.label for other, _ in others)] == [str(round(edges / 100)), "1", "1"]
    assert all(other.warm < steps.warm <= steps.cold for _, other in others)
    drawn = refresh.new_edges(200, 1)  # of which some close a triangle
    graph = refresh.made(refresh.keys)
    with pytest.raises(GraphtideError, match="ranks after a batch"):
        refresh._check(graph, graph.pagerank(), drawn)
    right = refresh.made(refresh.keys, drawn).pagerank()
    with pytest.raises(GraphtideError, match="triangles after a batch"):
        refresh._check(graph, right, drawn)


def test_what_is_maintained_is_repaired_beside_computed_anew() -> None:
    done = graphtide_here(
        "bench", "maintained", "G3", "--engine", "host", "--smaller", 12, "--repeats", 1
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| G3")]
    edges = WORKLOADS["G3"].keys(np, smaller=12).size // 2
    counts = [f"{max(round(share * edges), 1):,}" for share in maintained.SHARES]
    directed = len(DIRECTED) * len(maintained_clustering.DIRECTED_SHARES)
    by_definition = rows[len(counts) : len(counts) + directed]
    del rows[len(counts) : len(counts) + directed]
    halves = [
        (definition, f"{max(round(share * edges), 1):,}")
        for definition in DIRECTED
        for share in maintained_clustering.DIRECTED_SHARES
    ]
    # A directed graph has half of the entries, as many as there are edges.
    assert [(row[1], row[2]) for row in by_definition] == halves
    assert by_definition[-1][5] == "repair", "of a single edge"
    cut = 2 * len(counts)
    assert [row[1] for row in rows[:cut]] == 2 * counts
    assert rows[len(counts) - 1][4] == "repair", "of a single edge"
    assert {row[4] for row in rows[len(counts) : cut]} <= {"push", "full"}
    shares = [(row[1], row[2]) for row in rows[cut:]]
    assert shares == [
        (f"{max(round(share * edges), 1):,}", f"{deletes:.0%}")
        for share in maintained_components.SHARES
        for deletes in maintained_components.DELETES
    ]
    assert rows[-1][5] == "repair", "of a single edge"


# -- the pipeline


def test_the_pipeline_is_measured_in_every_case_and_its_graphs_are_compared(tmp_path: Path) -> None:
    done = graphtide(
        "bench", "pipeline", "--rows", 9_000, "--file-rows", 4_000, "--passes", 2, "--scale", 6,
        "--edges", "rmat", "--repeats", 1, "--compare", "handover=dask,ring",
        "--set", "batch_rows=1000", "--set", "workers=1", "--set", "engine=host",
        "--set", "directed=false", "--folder", tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "9,000 rows" in done.stdout
    assert "3 files, 2 passes" in done.stdout
    assert "each compared with a replay" in done.stdout
    tables = [line for line in done.stdout.splitlines() if line.startswith("| handover=")]
    assert [line.split()[1] for line in tables] == 3 * ["handover=dask", "handover=ring"]
    given, *lines = done.stdout.splitlines()
    assert given.startswith("graphtide bench pipeline --rows 9000 --file-rows 4000 --passes 2 ")
    assert " --set workers=1 --set engine=host " in given
    assert " --compare handover=dask,ring --repeats 1, 20" in given
    assert max(map(len, lines)) <= 100
    assert list(tmp_path.iterdir()) == [], "the log was left"


def test_a_pipeline_that_gives_another_graph_is_told(tmp_path: Path) -> None:
    shape = pipeline.LogShape(2_000, 1_000, 1, "uniform", 6, 0.1, 0.1, properties=True)
    bench = pipeline.LogBench(tmp_path, shape, is_cold=True, checked=[True])
    settings = {"engine": "host", "ids": "dense", "workers": 1, "analytics": [], "dashboard": False}
    found = bench.measure(load_settings(settings))
    assert found.later_passes is None
    assert set(found.stages) == set(STAGES)
    (tmp_path / "log" / "updates-00001.parquet").unlink()
    with pytest.raises(GraphtideError, match="1,000 of 2,000 rows"):
        bench.measure(load_settings(settings))
    write_log(
        str(tmp_path / "other"), partial(uniform_edges, num_vertices=64), 1_000, files=1,
        mix=UpdateMix(), properties=False, seed=9, quiet=True,
    )  # fmt: skip
    other = next((tmp_path / "other").iterdir())
    other.rename(tmp_path / "log" / "updates-00001.parquet")
    with pytest.raises(GraphtideError, match="please report"):
        bench.measure(load_settings(settings))


def test_a_pipeline_of_unknown_flags_is_told() -> None:
    fails(graphtide_here("bench", "pipeline", "--edges", "grid"), 2, "grid", "rmat")
    fails(graphtide_here("bench", "pipeline", "--passes", 0), 2, "--passes")
    shares = ("--repeated", 0.7, "--deletes", 0.5)
    fails(graphtide_here("bench", "pipeline", *shares), 2, "--repeated 0.7 and --deletes 0.5 leave")
    done = graphtide_here("bench", "pipeline", "--folder", "no/where")
    fails(done, 2, "--folder no/where is no folder; make it, or name another")
    done = graphtide_here("bench", "pipeline", "--folder", "/proc")
    fails(done, 2, "/proc/log cannot be written")
    fails(graphtide_here("bench", "pipeline", "--compare", "window"), 2, "window", "key=value")
    fails(graphtide_here("bench", "pipeline", "--compare", "windw=2"), 2, "windw", "window")
    fails(
        graphtide_here("bench", "pipeline", "--set", "records=weighted"), 2, "simple", "--no-check"
    )


@pytest.mark.parametrize("directed", [True, False])
def test_a_replay_keeps_the_last_row_of_each_edge(directed: bool, tmp_path: Path) -> None:
    rows = 5_000
    draw = np.random.default_rng(3)
    op = draw.choice(np.array([1, 1, -1], np.int8), rows)
    src, dst = draw.integers(0, 40, (2, rows))
    files = []
    for number, half in enumerate((slice(0, rows // 2), slice(rows // 2, rows))):
        files.append(tmp_path / f"{number}.parquet")
        pq.write_table(pa.table({"op": op[half], "src": src[half], "dst": dst[half]}), files[-1])
    graph = DynamicGraph(engine="host", ids="dense", directed=directed)
    for row in range(0, rows, 7):
        these = slice(row, row + 7)
        graph.apply(UpdateBatch.from_rows(op[these], src[these], dst[these], directed=directed))
    expected = Expected(graph.num_vertices, graph.num_edges, graph.state_hash())
    assert replay(files, 64, directed=directed) == expected
    assert replay(files[::-1], 64, directed=directed) != expected, (
        "the order of the files does not show"
    )


def test_the_time_of_each_worker_is_split_into_stages() -> None:
    def report(batch_id: int, **seconds: float) -> BatchReport:
        counts = {**dict.fromkeys(BatchReport._fields, 0), "source": None}
        return BatchReport(**{**counts, "batch_id": batch_id, "seconds": seconds})

    reports = [
        report(0, read=1.0, convert=2.0, transfer=0.5, apply=0.25),
        report(1, read=1.0, apply=0.25),
        report(2, read=0.5, convert=1.0, apply=0.5),
    ]
    shares = by_worker(reports, ["cpu-10", "cpu-9", "cpu-10"], 10.0)
    assert list(shares) == ["cpu-9", "cpu-10", "graph"]
    none = dict.fromkeys(STAGES, 0.0)
    assert shares["cpu-9"] == {**none, "read": 0.1}
    assert shares["cpu-10"] == pytest.approx(
        {**none, "read": 0.15, "convert": 0.3, "transfer": 0.05}
    )
    assert shares["graph"] == pytest.approx({**none, "apply": 0.1})


def test_what_was_busy_is_left_out_of_runs_shorter_than_the_clocks_of_the_system(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The least and the most busy worker were busy for 0 %, and the cores as well."""
    watch = run_figures.Stopwatch(10)
    for number, at in enumerate((5.0, 5.003), 1):
        reading = run_figures.ClockReading(at, 5 * number, at, {1: 1.0}, 2.0)
        watch.first = watch.first or reading
        watch.distinct = watch.last = reading
    watch.seconds = 0.5
    summary = SimpleNamespace(reports=[], readers=[], seconds=1.0)
    found = run_figures.figures(summary, watch, 2.0, 1)  # type: ignore[arg-type]
    assert {who for who, share in found.busy.items() if share == share} == {"CPU workers", "graph"}
    print_tables({"short": [found] * 3})
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "none is full" in line]
    assert [cell.strip() for cell in row.split("|")[4:-2]] == [""] * 4
    # The limit is that of the medians beside it.
    busy = [replace(found, busy=found.busy | {"client": share}) for share in (0.9, 0.95, 0.1)]
    print_tables({"short": busy})
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "90%" in line]
    assert row.split("|")[-2].strip() == "client"


def test_a_start_is_timed_by_stage_and_a_run_that_fails_is_told(tmp_path: Path) -> None:
    write_file(tmp_path / "log", 0)
    stages = start.stages_of_run(tmp_path / "log", tmp_path / "state", ["workers=1"], {})
    assert len(stages) == len(start.STAGES)
    assert stages[0] > 0
    assert min(stages) >= 0
    with pytest.raises(GraphtideError, match=r"status 1: [^{]*nothing"):
        start.stages_of_run(tmp_path / "nothing", tmp_path / "other", [], {})


def test_following_is_timed_by_step(scheduler: str) -> None:
    small = ("--rows", 500, "--first-rows", 2_000, "--scale", 8)
    setting = ("--set", f"scheduler={scheduler}")
    done = graphtide_here("bench", "follow", *small, "--files", 2, *setting)
    assert done.returncode == 0, done.stderr
    given = "graphtide bench follow --rows 500 --files 2 --first-rows 2000 --scale 8 --set "
    assert done.stdout.startswith(f"{given}scheduler={scheduler}, 20")
    assert "\n2 files of 500 rows, into a graph of " in done.stdout
    table = [line.strip("|").split("|") for line in done.stdout.splitlines() if "|" in line][2:]
    assert [cells[0].strip() for cells in table] == [*follow.PARTS, "in all"]
    least, most = zip(*(map(float, cells[2:]) for cells in table), strict=True)
    # Two files: each step lies between its times, and so do their sums.
    assert sum(least[:-1]) <= least[-1] + 0.01
    assert most[-1] <= sum(most[:-1]) + 0.01
    assert min(least) >= 0
    fails(graphtide_here("bench", "follow", *small, "--files", 0), 2, "--files", "1 or more")


# -- scripts


def test_a_script_beside_packages_that_are_not_installed_names_their_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before it makes a graph of millions of edges."""
    monkeypatch.setitem(sys.modules, "graphblas", None)
    monkeypatch.setattr(sys, "argv", ["updates_beside_peers"])
    with pytest.raises(SystemExit, match="2"):
        updates_beside_peers.main()
    assert "pip install -e '.[bench]', or give --no-peers" in capsys.readouterr().err


def test_a_script_refuses_a_file_of_figures_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before it measures: at its end all figures would be lost."""
    with pytest.raises(SystemExit, match="2"):
        parser("").parse_args(["--csv", str(tmp_path)])
    assert f"--csv: {tmp_path} cannot be written (Is a directory)" in capsys.readouterr().err
