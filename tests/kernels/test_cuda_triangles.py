"""Triangles and clustering of the CUDA engine against their host twins, on the same image."""

import pickle
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulated_device import EmulatedDevice
from graphs import from_networkx_graph, random_graphs
from graphtide import DynamicGraph
from graphtide.gpu_core.algorithms.shared.adjacencies import adjacencies_of
from graphtide.gpu_core.algorithms.triangles.clustering import clustering as clustered
from graphtide.gpu_core.algorithms.triangles.definitions import DIRECTED
from graphtide.gpu_core.algorithms.triangles.triangles import triangles as counted_by_id
from graphtide.gpu_core.cuda.analytics.parts.oriented_edges import Cleared, oriented_edges
from graphtide.gpu_core.cuda.analytics.triangles import triangles
from graphtide.gpu_core.cuda.device.compile import kernel_file
from graphtide.gpu_core.host.analytics.triangles.triangles import TriangleCounts
from graphtide.testing import engine_of
from image_engine import KINDS, ImageEngine, changed_graph, make_graph

#: Of a `ClusteringResult`.
COLUMNS = ("vertices", "degree", "triangles", "clustering")


def counted(engine: ImageEngine, *, products: bool = False) -> TriangleCounts:
    """Counts by vertex index, as the host twin returns them."""
    counts = triangles.count_triangles(engine.workspace, adjacencies_of(engine), products=products)
    degree, found, links, both_ways = (
        None if column is None else engine.device.to_host(column).astype(np.int64)
        for column in counts
    )
    nothing = np.empty(0, np.int64)
    return TriangleCounts(
        degree,
        found,
        2 * found if links is None else links,
        nothing if both_ways is None else both_ways,
    )


def check_triangles(device: Any, graph: DynamicGraph) -> TriangleCounts:
    for products in (True, False):
        twin = engine_of(graph).algorithms.triangles.count_triangles(
            None, adjacencies_of(engine_of(graph)), products=products
        )
        found = counted(ImageEngine(device, graph), products=products)
        for name, expected in twin._asdict().items():
            assert getattr(found, name).tolist() == expected.tolist(), name
    for definition in DIRECTED:
        host = graph.clustering(directed=definition)
        result = clustered(ImageEngine(device, graph), directed=definition)
        for name in COLUMNS:
            ours, theirs = getattr(result, name), getattr(host, name)
            assert ours.dtype == theirs.dtype
            assert ours.tobytes() == theirs.tobytes(), name
    by_id = counted_by_id(ImageEngine(device, graph))
    assert by_id.dtype == np.int64
    assert by_id.tolist() == graph.triangles().tolist()
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
@pytest.mark.parametrize("records", ["simple", "semantic"])
def test_triangles_as_on_the_host(device: Any, kind: dict[str, Any], records: str) -> None:
    assert check_triangles(device, changed_graph(records=records, **kind)).triangles.any()


def test_triangles_where_every_index_is_a_vertex(device: Any) -> None:
    edges = np.array([0, 0, 1, 3]), np.array([1, 2, 2, 0])
    graph = make_graph(edges, directed=False, reverse=True, ids="dense")
    assert check_triangles(device, graph).triangles.tolist() == [1, 1, 1, 0]


def test_ids_that_do_not_grow_with_indices_are_put_in_order(device: Any) -> None:
    # A path of three edges with a chord and a tail; the largest ids come first, and the tail goes.
    graph = make_graph((np.array([90]), np.array([70])), directed=False, ids="any")
    graph.insert_edges([70, 50, 90, 90], [50, 10, 50, 30])
    check_triangles(device, graph)
    graph.delete_vertices([30])
    check_triangles(device, graph)
    result = clustered(ImageEngine(device, graph))
    assert result.vertices.tolist() == [10, 50, 70, 90]
    assert result.degree.tolist() == [1, 3, 2, 2]
    assert result.clustering.tolist() == [0, 1 / 3, 1, 1]


def test_columns_are_fetched_when_looked_at_and_are_those_of_then(
    device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = changed_graph(directed=True, reverse=False, ids="any")
    expected = graph.clustering()
    engine = ImageEngine(device, graph)
    fetched = []
    fetch = device.to_locked_host
    monkeypatch.setattr(device, "to_locked_host", lambda a: (fetched.append(a.dtype), fetch(a))[1])
    result = clustered(engine)
    assert not fetched
    engine.arena.image.fill(0)
    assert result.transitivity == expected.transitivity
    assert result.average == expected.average
    assert not fetched, "sums are made where the columns are"
    travelled = pickle.loads(pickle.dumps(result))
    for name in COLUMNS:
        column = getattr(expected, name)
        assert getattr(result, name).tobytes() == column.tobytes(), name
        assert getattr(travelled, name).tobytes() == column.tobytes(), name
    assert len(fetched) == len(COLUMNS)


@pytest.mark.parametrize("directed", [False, True])
def test_triangles_do_not_depend_on_the_order_of_blocks(
    emulated_device: EmulatedDevice, directed: bool
) -> None:
    graph = changed_graph(directed=directed, reverse=False)
    for seed in range(1, 5):
        emulated_device.shuffle = seed
        check_triangles(emulated_device, graph)


def clique_and_tail(size: int) -> tuple[np.ndarray, np.ndarray]:
    """A clique in which some edges go both ways, and a hub with leaves in it."""
    low, high = np.triu_indices(size, 1)
    leaves = np.arange(size, 5 * size)
    both = (low + high) % 3 == 0
    return (
        np.concatenate([low, high[both], np.zeros_like(leaves), leaves[1:]]),
        np.concatenate([high, low[both], leaves, leaves[:-1]]),
    )


@pytest.mark.parametrize("kind", KINDS[::2], ids=lambda kind: "-".join(map(str, kind.values())))
def test_triangles_of_rows_of_every_length(device: Any, kind: dict[str, Any]) -> None:
    graph = make_graph(clique_and_tail(150), **kind)
    engine = ImageEngine(device, graph)
    counts = check_triangles(device, graph)
    assert counts.triangles.max() > 149 * 148 / 2
    adjacencies = adjacencies_of(engine)
    with engine.workspace.scratch(1 << 22) as scratch:
        sizes = scratch.take(4, np.uint32)
        found = triangles.count_triangles(engine.workspace, adjacencies)
        cleared = Cleared(found.triangles, found.links, sizes)
        rows = oriented_edges(device, scratch, adjacencies, found.degree, cleared)
        lengths = device.to_host(rows.rows) & np.uint64((1 << 24) - 1)
    assert lengths.max() > triangles._MEDIUM_LENGTH
    assert ((lengths > triangles._SMALL_LENGTH) & (lengths <= triangles._MEDIUM_LENGTH)).any()


@pytest.mark.parametrize("directed", [False, True])
def test_triangles_of_a_vertex_are_counted_by_many_blocks(
    emulated_device: EmulatedDevice, directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Tables of 64 (directed: 32) targets and turns of 48: two or three of each make the tasks.
    graph = make_graph(clique_and_tail(150), directed=directed, reverse=False)
    launch = emulated_device.launch
    forms = set()

    def smaller(source: str, kernel: str, *arguments: Any, **keywords: Any) -> None:
        forms.add((kernel, "DIRECTED" in keywords.get("defines", {})))
        if source == "triangles.cu":
            # A path: no form that is launched anywhere but here.
            source = str(kernel_file(source))
            keywords = {"defines": {"TASK_TARGETS": 48, "TASK_BITS": 7, **keywords["defines"]}}
        launch(source, kernel, *arguments, **keywords)

    monkeypatch.setattr(emulated_device, "launch", smaller)
    monkeypatch.setattr(triangles, "_TASK_TARGETS", 48)
    monkeypatch.setattr(triangles, "_TASK_TABLE", 32)
    check_triangles(emulated_device, graph)
    assert ("count_large", directed) in forms


@pytest.mark.parametrize("reverse", [True, False])
def test_directed_triangles_count_edges_both_ways(device: Any, reverse: bool) -> None:
    graph = make_graph(
        (np.array([1, 2, 1, 2, 3, 3]), np.array([2, 1, 3, 3, 2, 3])), directed=True, reverse=reverse
    )
    counts = counted(ImageEngine(device, graph))
    assert counts.degree.tolist() == [2, 2, 2]
    assert counts.triangles.tolist() == [1, 1, 1]
    assert counts.links.tolist() == [2, 1, 2]
    engine = ImageEngine(device, graph)
    products = counted(engine, products=True)
    assert products.links.tolist() == [4, 4, 4]
    assert products.both_ways.tolist() == [1, 2, 1]


@given(
    oracle=st.booleans().flatmap(lambda directed: random_graphs(directed=directed)),
    reverse=st.booleans(),
)
@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_random_graphs_as_networkx(
    emulated_device: EmulatedDevice, oracle: nx.Graph, reverse: bool
) -> None:
    graph = from_networkx_graph(oracle, engine="host", arena_bytes=1 << 20, reverse=reverse)
    counts = counted(ImageEngine(emulated_device, graph))
    simple = nx.Graph(oracle)
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    vertices = engine_of(graph).user_ids().tolist()
    assert sorted(vertices) == sorted(oracle)
    assert counts.degree.tolist() == [simple.degree(v) for v in vertices]
    assert counts.triangles.tolist() == [nx.triangles(simple, v) for v in vertices]
    directed = oracle.is_directed()
    result = clustered(ImageEngine(emulated_device, graph))
    assert result.clustering.tolist() == [nx.clustering(oracle, v) for v in sorted(oracle)]
    for v, found in zip(vertices, counts.links, strict=True):
        around = set(simple[v])
        within = sum((u, w) in oracle.edges for u in around for w in around if u != w)
        assert found == (within if directed else 2 * nx.triangles(simple, v))


def test_no_triangles_of_graphs_without_edges_or_vertices(device: Any) -> None:
    for directed in (False, True):
        graph = DynamicGraph(engine="host", arena_bytes=1 << 20, directed=directed)
        assert counted(ImageEngine(device, graph)).triangles.size == 0
        graph.insert_vertices([1, 2])
        counts = counted(ImageEngine(device, graph))
        assert counts.triangles.tolist() == counts.degree.tolist() == [0, 0]
