"""Weights: what float32 rounds is said and counted, and float64 rounds nothing."""

import warnings
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import graphtide
from graphtide import DynamicGraph, PrecisionWarning, SettingsError, UpdateBatch
from graphtide.config.settings import load_settings
from graphtide.flows.commands.status import Status
from graphtide.flows.printing.summary import run_lines
from graphtide.gpu_core.layouts import LAYOUTS
from graphtide.io.state.directory import StateDirectory
from graphtide.pipeline.ingest import run
from graphtide.pipeline.replay import PastGraphs

#: No float32, and no sum of a few of them.
LARGE = 16_777_217.0
STORAGES = [
    {"layout": layout, "storage": storage} for layout in LAYOUTS for storage in ("soa", "aos")
]


def weights_of(graph: DynamicGraph) -> list[float]:
    return graph.edges().properties["weight"].tolist()


def test_rounding_is_said_once_a_graph_and_counted_each_time() -> None:
    graph = DynamicGraph(records="weighted", engine="host")
    text = r"2 of 3 weights are rounded to float32; make the graph with weights='float64'"
    with pytest.warns(PrecisionWarning, match=text) as caught:
        report = graph.insert_edges([1, 2, 3], [2, 3, 4], weight=[LARGE, 0.5, 0.1])
    assert caught[0].filename == __file__
    assert report.weights_rounded == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert graph.insert_edges([1], [2], weight=[0.1]).weights_rounded == 1
        exact = DynamicGraph(records="weighted", engine="host")
        assert exact.insert_edges([1], [2], weight=[0.25]).weights_rounded == 0
        assert exact.insert_edges([1], [2], weight=np.float32([0.1])).weights_rounded == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda rows: DynamicGraph.from_edges(rows, records="weighted", engine="host"),
        lambda rows: DynamicGraph.from_edges(
            *rows.columns[:2], weight=rows["weight"], records="weighted", engine="host"
        ),
        lambda rows: DynamicGraph(records="weighted", engine="host").apply(rows),
        lambda rows: DynamicGraph(records="weighted", engine="host").insert_edges(rows),
    ],
    ids=["from_edges", "from_edges of columns", "apply", "insert_edges"],
)
def test_rounding_is_said_of_the_line_of_the_user(call: Callable[[pa.Table], object]) -> None:
    with pytest.warns(PrecisionWarning) as caught:
        call(pa.table({"src": [1], "dst": [2], "weight": [0.1]}))
    assert caught[0].filename == __file__


def test_only_rows_that_insert_an_edge_count() -> None:
    batch = UpdateBatch.from_rows(
        [1, -1, 1], [1, 2, 3], [2, 3, 0], dst_valid=[True, True, False], weight=[0.1, 0.1, 0.1],
        records="weighted",
    )  # fmt: skip
    assert batch.rounded == 1


@pytest.mark.parametrize(
    ("records", "value", "rounded"),
    [
        ("weighted", 2**24, 0),
        ("weighted", 2**24 + 1, 1),
        ("weighted", 2**53 + 1, 1),
        ("weighted64", 2**53, 0),
        ("weighted64", 2**53 + 1, 1),
        ("weighted64", 2**63 - 1, 1),
    ],
)
def test_integers_are_compared_as_such(records: str, value: int, rounded: int) -> None:
    batch = UpdateBatch.from_rows(None, [1], [2], weight=np.array([value]), records=records)
    assert batch.rounded == rounded


@pytest.mark.parametrize("shape", STORAGES, ids=lambda shape: "-".join(shape.values()))
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("records", ["weighted", "semantic"])
def test_float64_weights_are_kept_to_the_bit(
    shape: dict[str, str], directed: bool, records: str
) -> None:
    random = np.random.default_rng(7)
    graph = DynamicGraph(
        records=records, weights="float64", directed=directed, engine="host", **shape
    )
    assert (graph.records, graph.weights) == (f"{records}64", "float64")
    expected: dict[tuple[int, int], float] = {}
    for _ in range(6):
        src, dst = random.integers(0, 40, (2, 300))
        weight = random.random(300) * LARGE
        ts = np.arange(300) if records == "semantic" else None
        graph.insert_edges(src, dst, weight=weight, ts=ts)
        gone = random.integers(0, 40, (2, 40))
        graph.delete_edges(*gone)
        for u, v, w in zip(src.tolist(), dst.tolist(), weight.tolist(), strict=True):
            if u != v:
                expected[(u, v) if directed else (min(u, v), max(u, v))] = w
        for u, v in zip(*gone.tolist(), strict=True):
            expected.pop((u, v) if directed else (min(u, v), max(u, v)), None)
        graph.verify()
    edges = graph.edges()
    found = zip(edges.src.tolist(), edges.dst.tolist(), weights_of(graph), strict=True)
    assert {(u, v): w for u, v, w in found} == expected
    assert edges.properties["weight"].dtype == np.float64
    arrays = graph.checkpoint_arrays()
    again = DynamicGraph.from_checkpoint_arrays(
        arrays, records=records, weights="float64", directed=directed, engine="host"
    )
    assert again.state_hash() == graph.state_hash()


@pytest.mark.parametrize("reverse", [True, False])
@pytest.mark.parametrize("directed", [True, False])
def test_pagerank_by_weight_is_that_of_the_weights_given(directed: bool, reverse: bool) -> None:
    # In float32 both edges of 1 would have the same weight.
    oracle = nx.DiGraph() if directed else nx.Graph()
    oracle.add_weighted_edges_from([(1, 2, LARGE), (1, 3, LARGE - 1), (3, 2, 0.1), (2, 1, 5.0)])
    graph = graphtide.from_networkx(
        oracle, records="weighted", weights="float64", engine="host", reverse=reverse
    )
    assert graphtide.to_networkx(graph).edges[1, 3]["weight"] == LARGE - 1
    assert graphtide.to_scipy(graph).dtype == np.float64
    assert graphtide.to_arrow(graph).schema.field("weight").type == pa.float64()
    ranks = graph.pagerank(weight="weight", tol=1e-14)
    expected = nx.pagerank(oracle, tol=1e-15, max_iter=1000)
    assert dict(zip(ranks.vertices.tolist(), ranks.pagerank, strict=True)) == pytest.approx(
        expected, abs=1e-12
    )


def test_the_hash_tells_float64_and_leaves_float32_as_it_was() -> None:
    hashes = []
    for weights in ("float32", "float64"):
        graph = DynamicGraph(records="weighted", weights=weights, engine="host")
        graph.insert_edges([1], [2], weight=[0.5])
        hashes.append(graph.state_hash())
    # Of a version that knew no float64.
    assert hashes[0] == "56804da32506706de4f22b99bcf0135127303363ef185dc7e97c1df3587306cb"
    assert hashes[1] != hashes[0]


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(SettingsError, match="simple records keep no weights"):
        DynamicGraph(weights="float64")
    with pytest.raises(SettingsError, match="weights='double' is unknown"):
        DynamicGraph(records="weighted", weights="double")
    with pytest.raises(SettingsError, match="weights: float64, but simple records"):
        load_settings({"weights": "float64"})


# -- the pipeline


@pytest.mark.parametrize("weights", ["float32", "float64"])
def test_a_run_and_its_status_say_what_is_rounded(tmp_path: Path, weights: str) -> None:
    log, state = tmp_path / "log", tmp_path / "state"
    log.mkdir()
    given = [LARGE, 0.5, 0.1, 0.25]
    pq.write_table(pa.table({"src": [1, 2, 3, 4], "dst": [2, 3, 4, 5], "weight": given}),
                   log / "a.parquet")  # fmt: skip
    settings = load_settings(
        {
            "records": "weighted",
            "weights": weights,
            "analytics": [],
            "engine": "host",
            "workers": 1,
            "dashboard": False,
        }
    )
    summary = run(str(log), str(state), settings)
    told = " ".join(" ".join(run_lines(summary, str(log), str(state), settings.graph)).split())
    status = " ".join(" ".join(Status(StateDirectory(state)).lines()).split())
    line = "weights 2 of 4 rows are rounded to float32; --weights float64 keeps them"
    assert (line in told) == (line in status) == (weights == "float32")
    assert ("rounded" in told) == (weights == "float32")
    kept = weights_of(PastGraphs(StateDirectory(state)).after_newest())
    assert kept == (given if weights == "float64" else np.float32(given).tolist())
    # It goes on as it was made.
    pq.write_table(pa.table({"src": [9], "dst": [8], "weight": [0.1]}), log / "b.parquet")
    assert run(str(log), str(state), settings).num_edges == 5


@pytest.mark.timeout(30)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("directed", [True, False])
def test_the_weights_of_a_long_row_are_found_by_one_walk(layout: str, directed: bool) -> None:
    """In whatever order they are asked for, and those of edges that there are not."""
    count, rng = 150_000, np.random.default_rng(1)
    hubs = [7, count // 2]
    graph = DynamicGraph(
        directed=directed, records="weighted", weights="float64", layout=layout, engine="host"
    )
    weights = rng.random((2, count))
    for hub, row in zip(hubs, weights, strict=True):
        graph.insert_edges(np.full(count, hub), np.arange(count), weight=row)
    weights[[0, 1], hubs] = np.nan
    if not directed:
        weights[0, hubs[1]] = weights[1, hubs[0]]
    vertices, found = graph.weighted_neighbors(hubs[0])
    np.testing.assert_array_equal(vertices, np.delete(np.arange(count), hubs[0]))
    np.testing.assert_array_equal(found, weights[0][vertices])
    strengths = np.nansum(weights, axis=0)
    others = np.delete(np.arange(count), hubs)
    np.testing.assert_allclose(graph.degree(others, weight="weight"), strengths[others])
    sums = np.nansum(weights, axis=1)
    np.testing.assert_allclose(graph.out_degree(hubs, weight="weight"), sums)
    asked = rng.integers(-5, count + 5, (2, count))
    src, dst = np.array([*hubs, 11])[asked[0] % 3], asked[1]
    is_hub, is_inside = src != 11, (dst >= 0) & (dst < count)
    expected = np.full(count, np.nan)
    known = is_hub & is_inside
    expected[known] = weights[(src[known] != hubs[0]).astype(int), dst[known]]
    if not directed:
        back = ~is_hub & np.isin(dst, hubs)
        expected[back] = weights[(dst[back] != hubs[0]).astype(int), 11]
    np.testing.assert_array_equal(graph.edge_weights(src, dst), expected)
    np.testing.assert_array_equal(graph.has_edges(src, dst), ~np.isnan(expected))
