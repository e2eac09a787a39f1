"""Common neighbors and Jaccard coefficients of pairs against networkx; every engine and shape."""

import pickle
from itertools import combinations_with_replacement, product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulated_device import EmulatedDevice
from graphs import KARATE, SHAPES, from_networkx_graph, graph_of, random_graphs
from graphtide import BatchError, DynamicGraph, SettingsError, VertexNotFoundError
from graphtide.gpu_core.algorithms.triangles.common_neighbors import shared_neighbors
from image_engine import ImageEngine, changed_graph


# It draws layouts by itself.
@pytest.mark.runs
@given(source=random_graphs(directed=False), shape=st.sampled_from(SHAPES))
@settings(
    deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_pairs_as_networkx(engine: str, source: nx.Graph, shape: dict[str, object]) -> None:
    graph = from_networkx_graph(source, engine=engine, **shape)
    pairs = list(combinations_with_replacement(source, 2))
    common, jaccard = graph.common_neighbors(pairs), graph.jaccard_coefficient(pairs)
    assert list(zip(common.src.tolist(), common.dst.tolist(), strict=True)) == pairs
    assert common.common_neighbors.tolist() == [
        len(list(nx.common_neighbors(source, u, v))) for u, v in pairs
    ]
    expected = [value for _, _, value in nx.jaccard_coefficient(source, pairs)]
    assert jaccard.jaccard_coefficient.tolist() == expected
    assert list(jaccard.columns) == ["src", "dst", "jaccard_coefficient"]


# It draws layouts by itself.
@pytest.mark.runs
@given(source=random_graphs(directed=True), shape=st.sampled_from(SHAPES))
@settings(
    deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_pairs_of_directed_graphs_by_out_neighbors(
    engine: str, source: nx.DiGraph, shape: dict[str, object]
) -> None:
    graph = from_networkx_graph(source, engine=engine, **shape)
    pairs = np.array(list(product(source, repeat=2)))
    of = {vertex: set(source.successors(vertex)) for vertex in source}
    common = [len((of[u] & of[v]) - {u, v}) for u, v in pairs.tolist()]
    either = [len(of[u] | of[v]) for u, v in pairs.tolist()]
    assert graph.common_neighbors(pairs).common_neighbors.tolist() == common
    assert graph.jaccard_coefficient(pairs).jaccard_coefficient.tolist() == [
        a / b if b else 0.0 for a, b in zip(common, either, strict=True)
    ]


def test_pairs_of_hubs_whose_rows_lie_in_several_tiles(engine: str) -> None:
    graph = DynamicGraph(directed=True, reverse=False)
    for hub, stop in ((0, 2_500), (1, 5_000), (2, 40)):
        leaves = np.arange(10, stop, hub + 1)
        graph.insert_edges(np.full_like(leaves, hub), leaves)
    pairs = [(0, 1), (10, 0), (1, 0), (1, 2), (2, 2), (10, 11), (0, 0)]
    found = graph.common_neighbors(pairs)
    assert found.common_neighbors.tolist() == [1_245, 0, 1_245, 5, 10, 0, 2_490]
    assert [tuple(row) for row in found.top(2)] == [(0, 0, 2_490), (0, 1, 1_245)]


def test_pairs_are_lists_arrays_frames_and_edges(engine: str) -> None:
    graph = graph_of(KARATE, directed=False)
    pairs = np.array(KARATE)
    expected = graph.common_neighbors(pairs).common_neighbors.tolist()
    frame = pd.DataFrame({"Source": pairs[:, 0], "x": "?", "target": pairs[:, 1]})
    for given_as in (KARATE, tuple(KARATE), graph.edges(), frame, (pair for pair in KARATE)):
        found = graph.common_neighbors(given_as)
        assert found.common_neighbors.tolist() == expected
    assert graph.edges().src.tolist() == found.src.tolist()
    assert pickle.loads(pickle.dumps(found)).common_neighbors.tolist() == expected
    assert len(graph.jaccard_coefficient([])) == len(graph.jaccard_coefficient(pairs[:0])) == 0
    with graph.pin() as epoch:
        graph.delete_vertices([1])
        assert epoch.common_neighbors(KARATE).common_neighbors.tolist() == expected


def test_pairs_of_names(engine: str) -> None:
    graph = DynamicGraph(ids="string", directed=False)
    graph.insert_edges(["ann", "ann", "zoë"], ["bob", "zoë", "bob"])
    frame = pd.DataFrame({"src": ["ann"], "dst": ["bob"]})
    for given_as in ([("ann", "bob")], frame, np.array([["ann", "bob"]])):
        [row] = graph.jaccard_coefficient(given_as)
        assert row == ("ann", "bob", 1 / 3)


class Tensor:
    """An array of another library, whose rows are no pairs of Python's."""

    ndim = 2

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return np.array([[1, 2], [2, 3]])


def test_pairs_of_a_tensor() -> None:
    graph = DynamicGraph.from_edges([1, 2, 3], [2, 3, 1], directed=False, engine="host")
    assert graph.common_neighbors(Tensor()).common_neighbors.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("pairs", "error", "message"),
    [
        (
            [(1, 99), (98, 1)],
            VertexNotFoundError,
            "vertex 98 is not in the graph; check with has_vertices",
        ),
        ([1, 2], SettingsError, r"pairs has 1; give pairs of ids: \[\(1, 2\)"),
        ([(1, 2), (1, 2, 3)], SettingsError, r"pairs has \(1, 2, 3\); give"),
        (["ab"], SettingsError, "pairs has 'ab'; give"),
        (5, SettingsError, "pairs has 5; give"),
        (np.array([1, 2]), SettingsError, r"pairs has an array \[2\]; give"),
        ([(1.5, 2)], BatchError, "pairs has dtype float64"),
        (pd.DataFrame({"a": [1], "src": [2]}), BatchError, "there is no column dst"),
    ],
)
def test_wrong_pairs_are_refused(pairs: object, error: type[Exception], message: str) -> None:
    graph = graph_of(KARATE, directed=False, engine="host")
    with pytest.raises(error, match=message):
        graph.common_neighbors(pairs)


def test_pairs_in_any_order_of_threads(emulated_device: EmulatedDevice) -> None:
    graph = changed_graph(directed=False, reverse=True, ids="any")
    ends = np.random.default_rng(5).choice(graph.vertices(), (300, 2))
    expected = graph.common_neighbors(ends).common_neighbors.tolist()
    assert max(expected) > 20
    on_device = ImageEngine(emulated_device, graph)
    pairs = np.stack([on_device.indices_of(each) for each in ends.T.copy()])
    for seed in range(2):
        emulated_device.shuffle = seed
        assert shared_neighbors(on_device, pairs).common.tolist() == expected
