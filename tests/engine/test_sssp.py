"""Shortest paths by weight against networkx and SciPy, bit for bit; on every engine and shape."""

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra

import graphtide
from emulated_device import EmulatedDevice
from graphs import KARATE, SHAPES, from_networkx_graph, graph_of, random_graphs
from graphtide import DynamicGraph, SettingsError, VertexNotFoundError
from graphtide.gpu_core.algorithms.traversal.sssp import ANALYTIC
from graphtide.gpu_core.algorithms.traversal.sssp import sssp as found_sssp
from graphtide.gpu_core.cuda.analytics.parts import frontier
from graphtide.gpu_core.cuda.analytics.traversal import sssp as cuda_sssp
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.gpu_core.jit import parallel
from image_engine import ImageEngine, changed_graph, make_graph


def of_networkx(graph: nx.Graph, source: int, weight: str | None) -> list[float]:
    far = nx.single_source_dijkstra_path_length(graph, source, weight=weight)
    return [float(far.get(vertex, math.inf)) for vertex in sorted(graph)]


def of_scipy(graph: DynamicGraph, source: int) -> list[float]:
    """SciPy takes weights of 0 for no edges."""
    row = int(np.searchsorted(graph.vertices(), source))
    return dijkstra(graphtide.to_scipy(graph), directed=graph.directed, indices=row).tolist()


# It draws layouts by itself.
@pytest.mark.runs
@given(
    source=st.booleans().flatmap(lambda directed: random_graphs(directed=directed, weighted=True)),
    shape=st.sampled_from(SHAPES),
    records=st.sampled_from(["simple", "weighted", "weighted64", "semantic"]),
    data=st.data(),
)
@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_distances_as_networkx(
    engine: str, source: nx.Graph, shape: dict[str, object], records: str, data: st.DataObject
) -> None:
    graph = from_networkx_graph(source, engine=engine, records=records, **shape)
    start = data.draw(st.sampled_from(sorted(source)))
    for weight in ("weight", None):
        result = graph.sssp(start, weight=weight)
        used = None if records == "simple" else weight
        assert result.vertices.tolist() == sorted(source)
        assert result.distance.tolist() == (expected := of_networkx(source, start, used))
        assert result.num_reached == sum(map(math.isfinite, expected))


@pytest.mark.parametrize("records", ["weighted", "weighted64"])
@pytest.mark.parametrize("directed", [False, True])
def test_skewed_graphs_of_any_weights_have_the_bits_of_scipy(
    engine: str, directed: bool, records: str
) -> None:
    """Sums of such weights round, so that another order of adding them would show."""
    src, dst = rmat_edges(np.arange(4_000, dtype=np.uint64), 9)
    draw = np.random.default_rng(5)
    weights = 10.0 ** draw.uniform(-9, 3, src.size)
    graph = DynamicGraph(directed=directed, records=records)
    graph.insert_edges(7_000 - 7 * src, 7_000 - 7 * dst, weight=weights)
    graph.delete_vertices(graph.vertices()[5:100:9])
    graph.insert_vertices([-5, 70_000])
    ids = graph.vertices()
    for source in (ids[np.argmax(graph.degrees())], ids[0], ids[9]):
        expected = of_scipy(graph, source)
        assert graph.sssp(source).distance.tolist() == expected


def test_a_long_way_round_is_shorter(engine: str) -> None:
    """Each vertex comes nearer many times: the first way to it is the longest."""
    size = 120
    src, dst = np.triu_indices(size, 1)
    graph = DynamicGraph(records="weighted64", ids="dense")
    graph.insert_edges(src, dst, weight=(dst - src) ** 2.0)
    assert graph.sssp(0).distance.tolist() == list(range(size))
    graph.insert_edges(src, dst, weight=0.0)
    assert set(graph.sssp(0).distance.tolist()) == {0.0}


def test_a_row_of_several_pieces_and_a_graph_that_changes(engine: str) -> None:
    leaves = np.arange(1, 2_501)
    graph = DynamicGraph(records="weighted", self_loops="keep")
    graph.insert_edges(np.zeros_like(leaves), leaves, weight=leaves)
    graph.insert_edges([0, 2_500], [0, 1], weight=[5, -0.0])
    before = graph.sssp(0)
    expected = [0, *leaves.tolist()]
    with graph.pin() as epoch:
        graph.insert_edges([1], [2_500], weight=[0.5])
        assert graph.sssp(0).distance[-1] == 1.5
        assert epoch.sssp(0).distance.tolist() == expected
        assert epoch.compute("sssp", source=0).distance.tolist() == expected
    assert before.distance.tolist() == expected, "a result does not change with the graph"


def test_wrong_arguments_are_refused(engine: str) -> None:
    graph = DynamicGraph(records="weighted")
    graph.insert_edges([4, 7, 5], [5, 9, 7], weight=[1, -0.5, 2])
    with pytest.raises(
        SettingsError, match=r"vertex 7 has a negative one; change .* \(in settings: null\)"
    ):
        graph.sssp(4)
    assert graph.sssp(4, weight=None).distance.tolist() == [0, 1, 2, 3]
    with pytest.raises(SettingsError, match="weight='length' is unknown; use 'weight' or None"):
        graph.sssp(4, weight="length")
    with pytest.raises(VertexNotFoundError, match="source 8 is not in the graph"):
        graph.sssp(8)
    for source, message in (([4, 5], "source has 2 ids; give one"), ("4", "must be an id")):
        with pytest.raises(SettingsError, match=message):
            graph.sssp(source)


def test_the_first_negative_weight_is_named_whichever_thread_finds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parallel, "thread_count", lambda: 4)
    graph = DynamicGraph(engine="host", ids="dense", records="weighted")
    graph.insert_edges([0, 6_000, 9_000], [9_999, 1, 1], weight=[1, -1, -1])
    with pytest.raises(SettingsError, match="vertex 6000 has a negative one"):
        graph.sssp(0)


def test_names_and_what_a_run_tells(engine: str) -> None:
    graph = DynamicGraph(ids="string", records="weighted")
    graph.insert_edges(["ann", "bob"], ["bob", "eve"], weight=[2, 0.25])
    graph.insert_vertices(["zoë"])
    found = graph.sssp("ann")
    assert dict(zip(found.vertices, found.distance, strict=True)) == {
        "ann": 0, "bob": 2, "eve": 2.25, "zoë": math.inf,
    }  # fmt: skip

    def told(**parameters: object) -> str:
        result = graph.compute("sssp", **parameters)
        return ANALYTIC.text(ANALYTIC.summary(result.columns, {}))

    assert told(source="ann") == "3 of 4 vertices reached, the farthest at distance 2.25"
    assert told(source="nobody") == "nothing reached: of 4 vertices none is the source"


@pytest.mark.parametrize(("small_entries", "width"), [(0, 32), (60, 0), (60, 1), (1 << 20, 1e9)])
def test_rounds_of_any_size_in_any_order_of_threads(
    emulated_device: EmulatedDevice,
    monkeypatch: pytest.MonkeyPatch,
    small_entries: int,
    width: float,
) -> None:
    """Entries of a round decide by which launch it is done, the width how often a pile is split."""
    monkeypatch.setattr(frontier, "SMALL_ENTRIES", small_entries)
    monkeypatch.setattr(cuda_sssp, "NEAR_WIDTH", width)
    graph = changed_graph(directed=True, reverse=False, ids="any", records="weighted64")
    source = graph.vertices()[[40]]
    expected = graph.sssp(source).distance.tolist()
    on_device = ImageEngine(emulated_device, graph)
    for seed in range(3):
        emulated_device.shuffle = seed
        assert found_sssp(on_device, source).distance.tolist() == expected


def test_a_near_bucket_of_no_width_has_the_nearest_vertex(engine: str) -> None:
    """As where all weights are 0, and with them their mean."""
    path = np.arange(40)
    graph = DynamicGraph(records="weighted64", engine=engine)
    graph.insert_edges(path, path + 1, weight=np.zeros(40))
    assert graph.sssp(0).distance.tolist() == [0.0] * 41


def test_a_thousand_rounds_take_a_few_launches(emulated_device: EmulatedDevice) -> None:
    path = np.arange(500)
    graph = make_graph((path, path + 1), directed=True, reverse=False, records="weighted")
    result = found_sssp(ImageEngine(emulated_device, graph), [0])
    assert result.distance.tolist() == graph.sssp(0).distance.tolist()
    sources = "frontier.cu", "sssp.cu"
    launches = [kernel for source, kernel in emulated_device.launches if source in sources]
    assert launches[:4] == ["queue_frontier", "weigh", "begin_search", "search_small_rounds"]
    assert len(launches) <= 14


def test_hops_of_a_graph_without_weights(engine: str) -> None:
    graph = graph_of(KARATE, directed=False)
    graph.insert_vertices([77])
    hops = graph.bfs(1).distance
    assert graph.sssp(1).distance.tolist() == np.where(hops < 0, np.inf, hops).tolist()
