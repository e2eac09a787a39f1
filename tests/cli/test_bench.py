"""What benchmarks measure with: workloads, drawn updates, streams, their checks, and scripts."""

import sys
from pathlib import Path

import numpy as np
import pytest

from graphtide.flows.bench.ageing import Ageing
from graphtide.flows.bench.measuring import draws
from graphtide.flows.bench.measuring.arm import Arm, Bench, check
from graphtide.flows.bench.measuring.streams import STREAMS, Step
from graphtide.flows.bench.measuring.workloads import WORKLOADS, pack, unpack
from graphtide.flows.bench.scan import scan_of
from graphtide.flows.bench.scripts import large_graph, updates_beside_peers
from graphtide.flows.bench.scripts.measuring import parser
from graphtide.gpu_core.errors import GraphtideError


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
