"""Where steps of PageRank start on a device, against the host twin and against NumPy."""

from typing import Any

import networkx as nx
import numpy as np
import pytest

from graphtide import DynamicGraph
from graphtide.gpu_core.cuda.analytics.centrality import pagerank_start
from graphtide.gpu_core.generators.geometric import geometric_graph
from graphtide.gpu_core.host.analytics.centrality import pagerank_start as host
from graphtide.gpu_core.rows import Rows
from graphtide.testing import engine_of
from image_engine import ImageEngine, changed_graph

ALPHA = 0.85


def skewed(storage: str = "soa") -> DynamicGraph:
    """With pairs, isolated vertices and absent ones."""
    graph = changed_graph(directed=False, reverse=True, storage=storage)
    graph.insert_edges([20_000, 20_002, 20_004], [20_001, 20_003, 20_005])
    graph.insert_vertices(30_000 + np.arange(50))
    graph.delete_vertices([20_004, 30_007])
    return graph


def spatial() -> DynamicGraph:
    graph = DynamicGraph(engine="host", arena_bytes=1 << 20, directed=False)
    graph.insert_edges(*geometric_graph(np, 1500, seed=1))
    return graph


def start_on(device: Any, graph: DynamicGraph, earlier: Any = None, degrees: Any = None) -> Any:
    engine = ImageEngine(device, graph)
    arrays = (None if each is None else device.to_device(each) for each in (earlier, degrees))
    return device.to_host(
        pagerank_start.start_of(engine.workspace, engine.rows("out"), *arrays, alpha=ALPHA)
    )


def rows_of(graph: DynamicGraph) -> Rows:
    return engine_of(graph).rows("out")


@pytest.mark.parametrize("storage", ["soa", "aos"])
def test_a_cold_start_is_that_of_the_host(device: Any, storage: str) -> None:
    graph = skewed(storage)
    found, expected = start_on(device, graph), host.start_of(rows_of(graph), ALPHA)
    assert np.ptp(expected[rows_of(graph).present]) > 1e-3
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)


def test_the_middle_neighbor_is_looked_at(device: Any) -> None:
    # The first ones of this graph are alike: vertices come in the order of their age.
    src, dst = np.array(nx.barabasi_albert_graph(2000, 4, seed=1).edges()).T
    graph = DynamicGraph(engine="host", arena_bytes=1 << 20, directed=False)
    graph.insert_edges(src, dst)
    found, expected = start_on(device, graph), host.start_of(rows_of(graph), ALPHA)
    assert np.ptp(expected[rows_of(graph).present]) > 1e-3
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)


def test_a_cold_start_is_even_where_neighbors_are_alike(device: Any) -> None:
    graph = spatial()
    found, rows = start_on(device, graph), rows_of(graph)
    np.testing.assert_allclose(found[rows.present], 1 / rows.num_vertices, rtol=1e-12)
    assert np.ptp(host.start_of(rows, ALPHA)[rows.present]) == 0


def test_a_start_from_ranks_goes_by_what_has_become_of_degrees(device: Any) -> None:
    graph = skewed()
    before = rows_of(graph)
    then, count = before.degree.astype(np.int64), before.count
    vertices_then = before.num_vertices
    random = np.random.default_rng(0)
    earlier = np.where(before.present, random.random(count), -1.0)
    earlier[before.present] /= earlier[before.present].sum()
    degrees = before.degree.copy()
    edges = graph.edges()
    graph.delete_edges(edges.src[::5], edges.dst[::5])
    graph.insert_edges(random.integers(0, 200, 100), random.integers(0, 200, 100))
    graph.insert_edges([40_000, 40_001, 40_003], [40_001, 40_002, 40_004])
    graph.delete_vertices([graph.vertices()[3]])
    found, now = start_on(device, graph, earlier, degrees), rows_of(graph)

    vertices, degree = now.num_vertices, now.degree.astype(np.int64)
    known = np.zeros(now.count, bool)
    known[:count] = before.present & now.present[:count]
    neighbors = np.where(degree > 0, now.columns[np.where(degree > 0, now.begin, 0)], 0)
    paired = (degree == 1) & (degree[neighbors] == 1)
    isolated = now.present & (degree == 0)
    linked = now.present & ~paired & ~isolated
    assert paired.sum() >= 6
    assert isolated.sum() >= 40
    assert (known & linked).sum() < linked.sum()
    per_vertex = 1 / (vertices - ALPHA * isolated.sum())
    per_edge = ALPHA * per_vertex * linked.sum() / degree[linked].sum()
    expected = np.where(now.present, (1 - ALPHA) * per_vertex, 0.0)
    expected[known] = earlier[known[:count].nonzero()[0]] * vertices_then / vertices
    more = degree.copy()
    more[:count] -= np.where(known[:count], then, 0)
    assert more[linked].min() < 0
    expected = np.maximum(expected + per_edge * more, 0)
    expected[isolated] = (1 - ALPHA) * per_vertex
    expected[paired] = per_vertex
    expected *= now.present
    expected[linked] += (1 - expected.sum()) * degree[linked] / degree[linked].sum()
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-15)
    assert found.sum() == pytest.approx(1, abs=1e-12)
    of_host = host.start_of(now, ALPHA, earlier, degrees)
    np.testing.assert_allclose(of_host, expected, rtol=1e-10, atol=1e-15)


def test_where_most_of_a_graph_is_gone_it_starts_by_degrees_alone(device: Any) -> None:
    graph = skewed()
    before = rows_of(graph)
    earlier = np.where(before.present, 1 / before.num_vertices, -1.0)
    degrees = before.degree.copy()
    graph.delete_vertices(graph.vertices()[30:])
    rows = rows_of(graph)
    found, alone = start_on(device, graph, earlier, degrees), host.start_of(rows, ALPHA)
    np.testing.assert_allclose(found, alone, rtol=1e-10, atol=1e-15)
    of_host = host.start_of(rows, ALPHA, earlier, degrees)
    np.testing.assert_allclose(of_host, alone, rtol=1e-10, atol=1e-15)


def test_a_start_from_ranks_is_the_ranks_where_neighbors_are_alike(device: Any) -> None:
    graph = spatial()
    rows = rows_of(graph)
    earlier = np.where(rows.present, np.random.default_rng(0).random(rows.count), -1.0)
    earlier[rows.present] /= earlier[rows.present].sum()
    degrees = rows.degree.copy()
    graph.insert_edges([0, 1], [700, 900])
    for found in (
        start_on(device, graph, earlier, degrees),
        host.start_of(rows_of(graph), ALPHA, earlier, degrees),
    ):
        np.testing.assert_allclose(found, np.maximum(earlier, 0), rtol=1e-12)


@pytest.mark.parametrize("known", [False, True])
def test_the_order_of_threads_shows_in_no_bit(emulated_device: Any, known: bool) -> None:
    graph = skewed()
    rows = rows_of(graph)
    arrays = (np.where(rows.present, 1 / rows.count, -1.0), rows.degree.copy()) if known else ()
    bits = set()
    for shuffle in (0, 3, 4):
        emulated_device.shuffle = shuffle
        bits.add(start_on(emulated_device, graph, *arrays).tobytes())
    assert len(bits) == 1
