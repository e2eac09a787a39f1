"""Betweenness centrality against networkx; on every engine and shape."""

import pickle
import random
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulated_device import EmulatedDevice
from graphs import KARATE, SHAPES, from_networkx_graph, graph_of, random_graphs
from graphtide import DynamicGraph, SettingsError
from graphtide.gpu_core.algorithms.centrality.betweenness_centrality import (
    ANALYTIC,
    betweenness_centrality,
)
from graphtide.gpu_core.cuda.analytics.centrality import betweenness_centrality as cuda_betweenness
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.gpu_core.host.analytics.centrality import betweenness_centrality as host_betweenness
from graphtide.gpu_core.jit import parallel
from graphtide.gpu_core.table import largest
from image_engine import ImageEngine, changed_graph

Vector = npt.NDArray[np.int64]


def of_networkx(graph: nx.Graph, **parameters: object) -> list[float]:
    """Values in the order of the vertices."""
    ordered = graph.__class__()
    ordered.add_nodes_from(sorted(graph))
    ordered.add_edges_from(graph.edges)
    if parameters.get("k", 0) >= len(graph):
        parameters["k"] = None
    found = nx.betweenness_centrality(ordered, **parameters)
    return [found[vertex] for vertex in sorted(graph)]


def of_fractions(src: Vector, dst: Vector, source: int) -> list[float]:
    """What the paths from one source give to each vertex, counted by Brandes with whole numbers."""
    neighbors: dict[int, list[int]] = defaultdict(list)
    for one, other in zip(src.tolist(), dst.tolist(), strict=True):
        neighbors[one].append(other)
        neighbors[other].append(one)
    level, paths, order = {source: 0}, {source: 1}, [source]
    for vertex in order:
        for neighbor in neighbors[vertex]:
            if neighbor not in level:
                level[neighbor], paths[neighbor] = level[vertex] + 1, 0
                order.append(neighbor)
            if level[neighbor] == level[vertex] + 1:
                paths[neighbor] += paths[vertex]
    behind = dict.fromkeys(level, Fraction(0))
    for vertex in reversed(order):
        after = [each for each in neighbors[vertex] if level[each] == level[vertex] + 1]
        shares = (Fraction(paths[vertex], paths[each]) * (1 + behind[each]) for each in after)
        # Rounded, so that they stay short.
        behind[vertex] = Fraction(round(sum(shares, Fraction(0)) * 2**120), 2**120)
    behind[source] = Fraction(0)
    return [float(behind[vertex]) for vertex in sorted(level)]


def check(result: object, expected: list[float]) -> None:
    np.testing.assert_allclose(result.betweenness_centrality, expected, rtol=1e-12, atol=1e-15)


# It draws layouts by itself.
@pytest.mark.runs
@given(
    source=st.booleans().flatmap(lambda directed: random_graphs(directed=directed)),
    shape=st.sampled_from(SHAPES),
    parameters=st.fixed_dictionaries(
        {"normalized": st.booleans(), "endpoints": st.booleans()},
        optional={"k": st.integers(1, 14), "seed": st.integers(0, 9)},
    ),
)
@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_values_as_networkx(
    engine: str, source: nx.Graph, shape: dict[str, object], parameters: dict[str, object]
) -> None:
    graph = from_networkx_graph(source, engine=engine, **shape)
    result = graph.betweenness_centrality(**parameters)
    assert result.vertices.tolist() == sorted(source)
    check(result, of_networkx(source, **parameters))


@pytest.mark.parametrize("directed", [False, True])
def test_a_skewed_graph_as_networkx(engine: str, directed: bool) -> None:
    """Rows of every length; absent vertices; ids in another order than vertices came."""
    src, dst = rmat_edges(np.arange(800, dtype=np.uint64), 7)
    path = np.arange(200, 240)
    graph = DynamicGraph(directed=directed, reverse=False)
    graph.insert_edges(
        9_000 - 7 * np.concatenate([src, [3], path]),
        9_000 - 7 * np.concatenate([dst, [200], path + 1]),
    )
    graph.delete_vertices(graph.vertices()[5:40:9])
    for parameters in ({"k": 9, "seed": 4}, {"k": 5, "normalized": False, "endpoints": True}):
        result = graph.betweenness_centrality(**parameters)
        assert result.sources == parameters["k"]
        check(result, of_networkx(graph.to_networkx(), **{"seed": 0, **parameters}))


def test_a_row_longer_than_any_piece_of_work(engine: str) -> None:
    leaves = np.arange(1, 2_001)
    graph = DynamicGraph(directed=True)
    graph.insert_edges(np.zeros_like(leaves), leaves)
    graph.insert_edges(leaves, np.full_like(leaves, 3_000))
    graph.insert_edges([3_000, 4_000], [4_000, 0])
    source = graph.to_networkx()
    check(graph.betweenness_centrality(k=3), of_networkx(source, k=3, seed=0))


def test_numbers_of_paths_beyond_whole_numbers(engine: str) -> None:
    """A ladder of diamonds doubles the paths at each."""
    size = 80
    first = 3 * np.arange(size)
    graph = DynamicGraph(directed=True)
    for before, behind in ((0, 1), (0, 2), (1, 3), (2, 3)):
        graph.insert_edges(first + before, first + behind)
    check(graph.betweenness_centrality(), of_networkx(graph.to_networkx()))


def test_epochs_pickles_words_and_parameters(engine: str) -> None:
    graph = graph_of(KARATE, directed=False)
    result = graph.betweenness_centrality()
    expected = of_networkx(nx.Graph(KARATE))
    with graph.pin() as epoch:
        graph.delete_vertices([1, 34])
        check(epoch.betweenness_centrality(), expected)
        found = epoch.compute("betweenness_centrality", k=5, endpoints=True, normalized=False)
    check(found, of_networkx(nx.Graph(KARATE), k=5, seed=0, endpoints=True, normalized=False))
    check(pickle.loads(pickle.dumps(result)), expected)
    summary = ANALYTIC.summary(result.columns, {})
    assert ANALYTIC.text(summary) == "1 (0.437635), 34 (0.304075), 33 (0.145247)"
    # Of the one source of a sample nothing is known: no number, which is no value of JSON.
    alone = graph_of([(1, 2), (2, 3)], directed=False).betweenness_centrality(k=1, seed=0)
    assert np.isnan(alone.betweenness_centrality).tolist() == [False, True, False]
    assert ANALYTIC.summary(alone.columns, {}) == {"top": [(1, 0.0), (3, 0.0)]}
    assert repr(result) == "<BetweennessResult 34 vertices, 34 sources>"
    assert graph.betweenness_centrality(k=99).sources == 32
    for wrong in ({"k": 0}, {"k": 1.5}, {"seed": -1}):
        [(name, value)] = wrong.items()
        with pytest.raises(SettingsError, match=f"{name}={value} is not a whole number"):
            graph.betweenness_centrality(**wrong)
    with pytest.raises(SettingsError, match="k is beyond"):
        graph.betweenness_centrality(k=10**400)  # fails as a float
    with pytest.raises(SettingsError, match="endpoints='no' is neither"):
        graph.betweenness_centrality(endpoints="no")


def test_threads_make_no_difference_to_any_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = changed_graph(directed=False, reverse=True, ids="any")
    found = []
    for threads in (1, 2, 3):
        for module in (host_betweenness, parallel):
            monkeypatch.setattr(module, "thread_count", lambda count=threads: count)
        found.append(graph.betweenness_centrality(k=40).betweenness_centrality.tobytes())
    assert len(set(found)) == 1


def fan(*, directed: bool) -> DynamicGraph:
    """Many paths of two hops between vertices of large degree, then a path to another such one."""
    leaves, ends = np.arange(10, 1_210), np.arange(2_000, 2_300)
    graph = DynamicGraph(directed=directed, reverse=False, engine="host")
    graph.insert_edges(np.zeros_like(leaves), leaves)
    graph.insert_edges(leaves, np.ones_like(leaves))
    graph.insert_edges(np.full_like(ends, 5), ends)
    graph.insert_edges([1, 2, 3, 4, *leaves[:50:7]], [2, 3, 4, 5, *leaves[1:51:7]])
    return graph


@pytest.mark.everyday
@pytest.mark.parametrize(("make", "k"), [(fan, 6), (changed_graph, 40)])
@pytest.mark.parametrize("directed", [True, False])
def test_the_same_bits_in_any_order_of_threads_and_batches_of_sources(
    emulated_device: EmulatedDevice,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[..., DynamicGraph],
    directed: bool,
    k: int,
) -> None:
    """Pushed or pulled, in large launches or by blocks that meet, with other sources or alone."""
    stored = {} if make is fan else {"reverse": not directed, "ids": "any"}
    graph = make(directed=directed, **stored)
    expected = graph.betweenness_centrality(k=k).betweenness_centrality
    on_device = ImageEngine(emulated_device, graph)
    found = set()
    for seed, (vertices, small, share) in enumerate(
        [(1 << 20, 0, 8), (1, 1 << 20, 8), (20_000, 64, 0), (1 << 20, 0, 1 << 20)]
    ):
        emulated_device.shuffle = seed
        monkeypatch.setattr(cuda_betweenness, "MOST_VERTICES", vertices)
        monkeypatch.setattr(cuda_betweenness, "SMALL_COST", small)
        monkeypatch.setattr(cuda_betweenness, "PULL_SHARE", share)
        values = betweenness_centrality(on_device, k=k).betweenness_centrality
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-15)
        found.add(values.tobytes())
    assert len(found) == 1


def layers(width: int, count: int) -> tuple[Vector, Vector]:
    """Layers of vertices, each joined to all of the next; a path beside them; a hub at their ends.

    The paths to a layer are ``width`` times as many as to the one before, those along the path 1.
    """
    number = np.arange(width * count).reshape(count, width)
    src = np.repeat(number[:-1], width, axis=1).ravel()
    dst = np.tile(number[1:], (1, width)).ravel()
    path = np.concatenate([[0], number.size + np.arange(count - 1)])
    hub = number.size + count
    leaves = hub + 1 + np.arange(300)
    ends = np.concatenate([number[-1], path[-1:], leaves])
    src = np.concatenate([src, path[:-1], np.full(ends.size, hub)])
    return src, np.concatenate([dst, path[1:], ends])


@pytest.mark.parametrize("layout", ["runs", "chain"])
def test_more_paths_than_float64_can_count(engine: str, layout: str) -> None:
    """Up to 16^280, 2^1120, beside 1 in the same level; networkx gives NaN."""
    src, dst = layers(16, 280)
    graph = DynamicGraph(engine=engine, directed=False, layout=layout)
    graph.insert_edges(src, dst)
    found = graph.betweenness_centrality(k=2, seed=252, normalized=False)
    drawn = random.Random(252).sample(range(graph.num_vertices), 2)
    vertices = graph.vertices()
    # One source has nearly all layers before it, the other half of them.
    assert vertices[drawn[0]] // 16 < 12
    sums = np.sum([of_fractions(src, dst, int(vertices[each])) for each in drawn], axis=0)
    others = np.delete(np.arange(vertices.size), drawn)
    # As networkx scales a sample.
    scale = (vertices.size - 1) / 2 / 2
    np.testing.assert_allclose(
        found.betweenness_centrality[others], scale * sums[others], rtol=1e-9, atol=1e-9
    )


def test_what_is_no_number_is_not_the_largest() -> None:
    """Of one source there is none for the vertex that it starts at."""
    found = DynamicGraph.from_edges([1, 2, 3], [2, 3, 4]).betweenness_centrality(1)
    values = [value for _, value in found.top(4)]
    assert np.isnan(values).tolist() == [False, False, False, True]
    assert largest(np.array([np.nan, -np.inf, 3.0, np.nan]), 3).tolist() == [2, 1, 0]
