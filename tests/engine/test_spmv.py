"""The adjacency matrix times a vector against SciPy; on every engine and shape."""

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphtide
from graphs import KARATE, SHAPES, from_networkx_graph, graph_of, random_graphs
from graphtide import BatchError, DynamicGraph, SettingsError, VertexNotFoundError
from graphtide.gpu_core.generators.rmat import rmat_edges


# It draws layouts by itself.
@pytest.mark.runs
@given(
    source=st.booleans().flatmap(lambda directed: random_graphs(directed=directed, weighted=True)),
    shape=st.sampled_from(SHAPES),
    records=st.sampled_from(["simple", "weighted", "semantic64"]),
    transpose=st.booleans(),
)
@settings(
    deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_products_as_scipy(
    engine: str, source: nx.Graph, shape: dict[str, object], records: str, transpose: bool
) -> None:
    graph = from_networkx_graph(source, engine=engine, records=records, **shape)
    matrix = graphtide.to_scipy(graph)
    matrix = matrix.T if transpose else matrix
    x = np.linspace(-1, 3, len(graph)) / 3
    found = graph.spmv(x, transpose=transpose)
    assert found.vertices.tolist() == sorted(source)
    # Each sum is off by at most a unit in the last place for every entry.
    most = len(graph) * 2.0**-52 * (abs(matrix) @ np.abs(x)).max(initial=0)
    assert np.abs(found.value - matrix @ x).max(initial=0) <= most
    ones = (matrix != 0).astype(float) if records == "simple" else None
    if ones is not None:
        assert (
            graph.spmv(x, transpose=transpose, weight=None).value.tolist() == found.value.tolist()
        )


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("weights", ["float32", "float64"])
def test_skewed_graphs_and_hubs(engine: str, reverse: bool, weights: str) -> None:
    src, dst = rmat_edges(np.arange(4_000, dtype=np.uint64), 9)
    graph = DynamicGraph(records="weighted", weights=weights, reverse=reverse)
    weight = ((src + 3 * dst) % 8 - 3) / 4
    graph.insert_edges(4_000 - 7 * src, 4_000 - 7 * dst, weight=weight)
    graph.insert_edges(np.full(2_000, 1), np.arange(10_000, 12_000), weight=np.full(2_000, 0.5))
    graph.delete_vertices(graph.vertices()[5:200:9])
    graph.insert_vertices([-5, 70_000])
    matrix = graphtide.to_scipy(graph).astype(float)
    # Sums of small multiples of 1/4: every order of adding gives the same number.
    x = np.arange(len(graph)) % 7 - 2.0
    for transpose, expected in ((False, matrix @ x), (True, matrix.T @ x)):
        assert graph.spmv(x, transpose=transpose).value.tolist() == expected.tolist()
        counts = (graphtide.to_scipy(graph) * 0 + _ones(matrix)).astype(float)
        counts = counts.T if transpose else counts
        plain = graph.spmv(x, transpose=transpose, weight=None)
        assert plain.value.tolist() == (counts @ x).tolist()


def _ones(matrix):
    ones = matrix.copy()
    ones.data[:] = 1
    return ones


def test_host_rows_of_dense_ids_are_summed_up_as_scipy_does() -> None:
    src, dst = rmat_edges(np.arange(50_000, dtype=np.uint64), 11)
    graph = DynamicGraph(ids="dense", records="weighted", weights="float64", engine="host")
    random = np.random.default_rng(3)
    graph.insert_edges(src, dst, weight=random.random(src.size))
    x = random.random(len(graph))
    assert graph.spmv(x).value.tolist() == (graphtide.to_scipy(graph) @ x).tolist()


def test_vectors_are_arrays_mappings_pairs_frames_and_results(engine: str) -> None:
    graph = graph_of(KARATE, directed=False)
    matrix = graphtide.to_scipy(graph).toarray()
    x = np.zeros(34)
    x[[4, 0]] = 2, 1
    expected = (matrix @ x).tolist()
    ids, values = [5, 1], [2, 1]
    frame = pd.DataFrame({"vertex": ids, "value": values, "x": "?"})
    for given_as in (
        x, x.tolist(), {5: 2, 1: 1}, (ids, values), (np.array(ids), np.array(values)), frame,
        pl.DataFrame({"v": values, "vertex": ids}), pa.table({"vertex": ids, "value": values}),
    ):  # fmt: skip
        assert graph.spmv(given_as).value.tolist() == expected
    twice = graph.spmv(graph.spmv(x))
    assert twice.value.tolist() == (matrix @ (matrix @ x)).tolist()
    ranks = graph.pagerank()
    by_ranks = graph.spmv(ranks).value
    np.testing.assert_allclose(by_ranks, matrix @ ranks.pagerank, rtol=1e-14)
    again = pickle.loads(pickle.dumps(twice))
    assert again.columns["value"].tolist() == twice.value.tolist()
    with graph.pin() as epoch:
        graph.delete_vertices([1])
        assert epoch.spmv(x).value.tolist() == expected
    assert DynamicGraph().spmv([]).value.size == 0


def test_products_of_names(engine: str) -> None:
    graph = DynamicGraph(ids="string", records="weighted")
    graph.insert_edges(["ann", "bob"], ["bob", "zoë"], weight=[2, 3])
    found = graph.spmv({"bob": 10, "zoë": 1})
    assert dict(zip(found.vertices, found.value.tolist(), strict=True)) == {
        "ann": 20, "bob": 3, "zoë": 0,
    }  # fmt: skip
    assert graph.spmv(found).value.sum() == 6


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (np.ones(33), SettingsError, "x has 33 values, but the graph 34 vertices; give one each"),
        ({99: 1.0}, VertexNotFoundError, "vertex 99 is not in the graph; check with has_vertices"),
        (([1, 1], [2, 3]), SettingsError, "x names a vertex more than once"),
        (([1, 2], [2]), SettingsError, "x has 2 ids and 1 values"),
        (np.ones((34, 1)), SettingsError, r"x is float64\[34, 1\]; give one number a vertex"),
        (["a"] * 34, SettingsError, r"x is <U1\[34\]"),
        (3.0, SettingsError, r"x is float64\[\]"),
        (pd.DataFrame({"vertex": [1], "a": [1], "b": [1]}), BatchError, "columns vertex, a, b"),
    ],
)
def test_wrong_vectors_are_refused(x: object, error: type[Exception], message: str) -> None:
    graph = graph_of(KARATE, directed=False, engine="host")
    with pytest.raises(error, match=message):
        graph.spmv(x)
    with pytest.raises(SettingsError, match="weight='w' is unknown"):
        graph.spmv(np.ones(34), weight="w")
    with pytest.raises(SettingsError, match="transpose='no' is neither"):
        graph.spmv(np.ones(34), transpose="no")
