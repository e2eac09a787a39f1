"""Benchmarks of analytics and programs as a user starts them, small."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from commands import graphtide_here
from graphtide.flows.bench.algorithms import (
    maintained,
    maintained_clustering,
    maintained_components,
)
from graphtide.flows.bench.algorithms.analytics import _check_distances
from graphtide.flows.bench.algorithms.refresh import SHARES, Refresh
from graphtide.flows.bench.algorithms.structure import bench_structure
from graphtide.flows.bench.algorithms.traversals import bench_traversals
from graphtide.flows.bench.bench_options import BenchOptions
from graphtide.flows.bench.measuring.arm import Arm
from graphtide.flows.bench.measuring.peers import sparse_products
from graphtide.flows.bench.measuring.workloads import WORKLOADS, unpack
from graphtide.gpu_core.algorithms.triangles.definitions import DIRECTED
from graphtide.gpu_core.errors import GraphtideError
from graphtide.gpu_core.graph import DynamicGraph


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


@pytest.mark.parametrize(
    ("bench", "method", "column", "what"),
    [
        (bench_traversals, "core_number", "core_number", "cores"),
        (bench_structure, "betweenness_centrality", "betweenness_centrality", "betweenness"),
        (bench_structure, "bfs", "parent", "vertices with parents"),
    ],
)
def test_results_that_are_too_small_are_noticed(
    monkeypatch: pytest.MonkeyPatch, bench: Any, method: str, column: str, what: str
) -> None:
    real = getattr(DynamicGraph, method)

    def smaller(graph: DynamicGraph, *arguments: Any, **options: Any) -> Any:
        found = real(graph, *arguments, **options)
        if getattr(found, column) is None:  # a search without parents
            return found
        values = np.array(getattr(found, column))
        values[values > 0] = -1 if column == "parent" else 0
        names = {name: getattr(found, name) for name in ("distance",) if hasattr(found, name)}
        return SimpleNamespace(**{**names, column: values})

    monkeypatch.setattr(DynamicGraph, method, smaller)
    with pytest.raises(GraphtideError, match=what):
        bench(BenchOptions(["G1"], repeats=1, smaller=12, engine="host"))


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
