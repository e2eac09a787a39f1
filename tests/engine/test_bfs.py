"""Breadth-first search against networkx, SciPy, LDBC, and by hand; on every engine and shape."""

import pickle
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import shortest_path

import graphtide
from actor_copies import analyzed, pin
from emulated_device import EmulatedDevice
from graphs import (
    KARATE,
    LDBC_DIRECTED,
    LDBC_UNDIRECTED,
    SHAPES,
    Example,
    from_networkx_graph,
    graph_of,
    random_graphs,
)
from graphtide import DynamicGraph, SettingsError, VertexNotFoundError
from graphtide.config.settings import load_settings
from graphtide.gpu_core.algorithms.traversal import bfs as bfs_module
from graphtide.gpu_core.algorithms.traversal.bfs import ANALYTIC, UNREACHED
from graphtide.gpu_core.algorithms.traversal.bfs import bfs as found_bfs
from graphtide.gpu_core.cuda.analytics.parts import frontier
from graphtide.gpu_core.cuda.analytics.traversal import bfs as cuda_bfs
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.gpu_core.host.analytics.traversal import bfs as host_bfs
from graphtide.gpu_core.jit import parallel
from graphtide.pipeline.graph_worker.actor import GraphActor
from graphtide.pipeline.graph_worker.actor_arguments import ActorArguments
from image_engine import ImageEngine, changed_graph, make_graph


def of_networkx(graph: nx.Graph, sources: list[int]) -> list[int]:
    """Distances in the order of the vertices."""
    far = [nx.single_source_shortest_path_length(graph, source) for source in sources]
    return [min((d[v] for d in far if v in d), default=UNREACHED) for v in sorted(graph)]


def first_parents(graph: nx.Graph, sources: list[int]) -> list[int]:
    """Smallest neighbor that is a hop nearer, in the order of the vertices."""
    far = dict(zip(sorted(graph), of_networkx(graph, sources), strict=True))
    before = graph.predecessors if graph.is_directed() else graph.neighbors
    return [
        min((u for u in before(v) if far[u] >= 0 and far[u] + 1 == far[v]), default=-1)
        for v in sorted(graph)
    ]


def of_scipy(graph: DynamicGraph, sources: list[int]) -> np.ndarray:
    matrix, ids = graphtide.to_scipy(graph), graph.vertices()
    rows = np.searchsorted(ids, sources)
    far = shortest_path(matrix, directed=graph.directed, unweighted=True, indices=rows).min(axis=0)
    return np.where(np.isfinite(far), far, UNREACHED).astype(np.int32)


# It draws layouts by itself.
@pytest.mark.runs
@given(
    source=st.booleans().flatmap(lambda directed: random_graphs(directed=directed)),
    shape=st.sampled_from(SHAPES),
    data=st.data(),
)
@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_distances_as_networkx(
    engine: str, source: nx.Graph, shape: dict[str, object], data: st.DataObject
) -> None:
    graph = from_networkx_graph(source, engine=engine, **shape)
    sources = data.draw(st.lists(st.sampled_from(sorted(source)), min_size=1, max_size=3))
    result = graph.bfs(sources, parents=True)
    expected = of_networkx(source, sources)
    assert result.parent.tolist() == first_parents(source, sources)
    assert result.vertices.tolist() == sorted(source)
    assert result.distance.dtype == np.int32
    assert result.distance.tolist() == expected
    assert result.num_reached == sum(d >= 0 for d in expected)
    assert result.depth == max(expected)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_skewed_graphs_as_scipy(engine: str, directed: bool, reverse: bool) -> None:
    """Hubs: the large levels are pulled, where the graph can be read backward."""
    src, dst = rmat_edges(np.arange(6_000, dtype=np.uint64), 10)
    graph = DynamicGraph(directed=directed, reverse=reverse)
    graph.insert_edges(src * 7 - 900, dst * 7 - 900)
    graph.delete_vertices(graph.vertices()[5:400:9])
    ids = graph.vertices()
    hub = ids[np.argmax(graph.degrees())]
    for sources in ([hub], ids[3:4], ids[[1, -1]]):
        assert graph.bfs(sources).distance.tolist() == of_scipy(graph, sources).tolist()


@pytest.mark.parametrize("directed", [False, True])
def test_a_grid_has_many_levels(engine: str, directed: bool) -> None:
    size = 40
    ids = np.arange(size * size).reshape(size, size)
    graph = DynamicGraph(directed=directed, ids="dense")
    graph.insert_edges(
        np.concatenate([ids[:, :-1].ravel(), ids[:-1].ravel()]),
        np.concatenate([ids[:, 1:].ravel(), ids[1:].ravel()]),
    )
    row, column = np.divmod(np.arange(size * size), size)
    corner = graph.bfs(0)
    assert corner.distance.tolist() == (row + column).tolist()
    assert corner.depth == 2 * size - 2
    center = graph.bfs([int(ids[size // 2, size // 2])])
    down, right = row - size // 2, column - size // 2
    far = abs(down) + abs(right)
    if directed:
        far = np.where((down < 0) | (right < 0), UNREACHED, far)
    assert center.distance.tolist() == far.tolist()


@pytest.mark.parametrize("example", [LDBC_DIRECTED, LDBC_UNDIRECTED], ids=["directed", "not"])
def test_answers_of_ldbc(engine: str, example: Example) -> None:
    source, expected = example.bfs
    result = graph_of(example.edges, directed=example.directed).bfs(source)
    found = dict(zip(result.vertices.tolist(), result.distance.tolist(), strict=True))
    assert found == {v: expected.get(v, UNREACHED) for v in found}
    assert expected.keys() <= found.keys()


def test_a_row_longer_than_any_piece_of_work(engine: str) -> None:
    leaves = np.arange(1, 5_001)
    graph = DynamicGraph(directed=True)
    graph.insert_edges(np.zeros_like(leaves), leaves)
    graph.insert_edges(leaves, leaves + 10_000)
    result = graph.bfs(0)
    assert result.distance.tolist() == [0] + [1] * leaves.size + [2] * leaves.size


def test_self_loops_repeats_and_the_graph_as_it_is_now(engine: str) -> None:
    graph = DynamicGraph(self_loops="keep")
    graph.insert_edges([1, 1, 2, 3], [1, 2, 2, 1])
    assert graph.bfs([1, 1, np.int64(1)]).distance.tolist() == [0, 1, UNREACHED]
    before = graph.bfs(3)
    with graph.pin() as epoch:
        graph.insert_edges([2], [3])
        graph.delete_edges([3], [1])
        assert epoch.bfs(3).distance.tolist() == [1, 2, 0]
        assert epoch.compute("bfs", sources=3).distance.tolist() == [1, 2, 0]
    assert graph.bfs(1).distance.tolist() == [0, 1, 2]
    assert before.distance.tolist() == [1, 2, 0], "a result does not change with the graph"


@pytest.mark.parametrize(
    ("sources", "error", "message"),
    [
        (9, VertexNotFoundError, "source 9 is not in the graph; check with has_vertices"),
        ([34, 77, 78], VertexNotFoundError, r"source 77 is not in the graph \(1 more is not"),
        ([], SettingsError, "sources is empty; give the id of a vertex"),
        ([1.5], SettingsError, r"got float64\[1\]"),
        ([[1, 2]], SettingsError, r"got int64\[1, 2\]"),
        ([1, [2]], SettingsError, "sources has items of several kinds"),
        ([1, 2**63], SettingsError, "got uint64"),
        (np.array([2**63], np.uint64), SettingsError, "got uint64"),
        ([True], SettingsError, "got bool"),
        ("1", SettingsError, "must be an id"),
    ],
)
def test_wrong_sources_are_refused(
    engine: str, sources: object, error: type[Exception], message: str
) -> None:
    graph = graph_of([pair for pair in KARATE if 9 not in pair], directed=False)
    with pytest.raises(error, match=message):
        graph.bfs(sources)


def test_a_run_skips_sources_that_are_not_there_yet(engine: str) -> None:
    graph = graph_of(KARATE, directed=False)
    some = graph.compute("bfs", sources=[1, 99])
    assert some.distance.tolist() == graph.bfs(1).distance.tolist()
    none = graph.compute("bfs", sources=99)
    assert set(none.distance.tolist()) == {UNREACHED}
    assert none.depth == UNREACHED

    def told(result):
        return ANALYTIC.text(ANALYTIC.summary(ANALYTIC.values(result), {}))

    assert told(some) == ("34 of 34 vertices reached from 1 source, the farthest after 3 hops")
    assert told(none) == "nothing reached: of 34 vertices none is a source"


def test_an_actor_computes_it_with_the_settings_of_a_run() -> None:
    loaded = load_settings({"analytics": ["bfs"], "bfs": {"sources": 5}})
    actor = GraphActor(ActorArguments({"engine": "host"}))
    assert pin(actor, 0, results=True, checkpoint=False, epoch=False) == "graph"
    found = analyzed(actor, 0, **{name: loaded.parameters[name] for name in loaded.analytics})
    assert found["bfs"]["vertex"].size == found["bfs"]["distance"].size == 0


@pytest.mark.parametrize("small_entries", [0, 60, 1 << 20])
@pytest.mark.parametrize("directed", [False, True])
def test_levels_of_any_size_in_any_order_of_threads(
    emulated_device: EmulatedDevice,
    monkeypatch: pytest.MonkeyPatch,
    small_entries: int,
    directed: bool,
) -> None:
    """Entries of a level decide by which launch it is reached."""
    monkeypatch.setattr(frontier, "SMALL_ENTRIES", small_entries)
    graph = changed_graph(directed=directed, reverse=True, ids="any")
    sources = graph.vertices()[[0, 40]]
    expected = of_scipy(graph, sources).tolist()
    on_device = ImageEngine(emulated_device, graph)
    for seed in range(3):
        emulated_device.shuffle = seed
        assert found_bfs(on_device, sources).distance.tolist() == expected


@pytest.mark.parametrize("ids", ["dense", "uint64", "string"])
def test_parents_are_users_ids_and_the_first_in_their_order(engine: str, ids: str) -> None:
    graph = DynamicGraph(ids=ids)
    names = {"dense": [4, 3, 2, 1, 0], "uint64": [2**63 + 7, 9, 2**64 - 2, 5, 0]}.get(ids, "sdcba")
    start, one, other, end, alone = names
    graph.insert_edges([start, start, other, one], [one, other, end, end])
    graph.insert_vertices([alone])
    order = graph.vertices().tolist()
    result = graph.bfs(start, parents=True)
    none = {"dense": -1, "uint64": 2**64 - 1, "string": ""}[ids]
    first = min(one, other, key=order.index)
    expected = {start: none, one: start, other: start, end: first, alone: none}
    assert dict(zip(order, result.parent.tolist(), strict=True)) == expected
    assert list(result.columns) == ["vertex", "distance", "parent"]
    again = pickle.loads(pickle.dumps(result))
    assert again.parent.tolist() == result.parent.tolist()
    plain = graph.bfs(start)
    assert plain.parent is None
    assert list(plain.columns) == ["vertex", "distance"]
    with pytest.raises(SettingsError, match="parents='no' is neither True nor False"):
        graph.bfs(start, parents="no")


@pytest.mark.parametrize("kind", [{"reverse": True}, {"reverse": False}, {"directed": False}])
def test_parents_are_the_first_by_id_whatever_came_first(
    engine: str, kind: dict[str, bool]
) -> None:
    """Rows are in the order in which vertices came."""
    graph = DynamicGraph(**kind)
    graph.insert_edges([0, 9], [9, 20])
    graph.insert_edges([0, 5, 0, 7], [5, 20, 7, 20])
    assert graph.bfs(0, parents=True).parent.tolist() == [-1, 0, 0, 0, 5]


@pytest.mark.parametrize("directed", [False, True])
def test_parents_in_any_order_of_threads(emulated_device: EmulatedDevice, directed: bool) -> None:
    graph = changed_graph(directed=directed, reverse=False, ids="any")
    sources = graph.vertices()[[0, 40]]
    expected = graph.bfs(sources, parents=True).parent.tolist()
    assert len(set(expected)) > 50
    on_device = ImageEngine(emulated_device, graph)
    for seed in range(2):
        emulated_device.shuffle = seed
        assert found_bfs(on_device, sources, parents=True).parent.tolist() == expected


def test_a_thousand_levels_take_a_few_launches(emulated_device: EmulatedDevice) -> None:
    path = np.arange(1_000)
    graph = make_graph((path, path + 1), directed=True, reverse=True)
    result = found_bfs(ImageEngine(emulated_device, graph), [0])
    assert result.distance.tolist() == list(range(1_001))
    launches = [kernel for source, kernel in emulated_device.launches if source == "bfs.cu"]
    assert len(launches) <= 11
    assert launches[:2] == ["reach_sources", "reach_small_levels"]


def test_large_levels_are_pulled(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but the time shows it, so the rows of in-neighbors are emptied.

    On a device, levels that are small there are pushed even then.
    """
    monkeypatch.setattr(frontier, "SMALL_ENTRIES", 0)
    src, dst = rmat_edges(np.arange(6_000, dtype=np.uint64), 10)
    graph = DynamicGraph()
    graph.insert_edges(src, dst)
    source = graph.vertices()[np.argmax(graph.degrees() > 3)]
    reached = graph.bfs(source).num_reached
    adjacencies = bfs_module.adjacencies_of(graph._reader)
    into = replace(adjacencies.into, degree=adjacencies.into.degree - adjacencies.into.degree)
    emptied = replace(adjacencies, into=into)
    monkeypatch.setattr(bfs_module, "adjacencies_of", lambda reader: emptied)
    assert graph.bfs(source).num_reached < reached / 2
    monkeypatch.setattr(frontier, "SMALL_ENTRIES", 1 << 20)
    assert (graph.bfs(source).num_reached == reached) == (graph.engine == "cuda")


def test_levels_are_pulled_by_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "thread_count", lambda: 4)
    src, dst = rmat_edges(np.arange(60_000, dtype=np.uint64), 14)
    graph = DynamicGraph(directed=False, engine="host")
    graph.insert_edges(src, dst)
    assert graph.num_vertices > parallel.SERIAL_ITEMS
    assert graph.bfs(src[0]).distance.tolist() == of_scipy(graph, src[:1]).tolist()


@pytest.mark.parametrize("shares", [(10**9, 10**9), (0, 0), (3, 2)])
@pytest.mark.parametrize("directed", [False, True])
def test_every_mix_of_pushed_and_pulled_levels_gives_the_same(
    monkeypatch: pytest.MonkeyPatch, engine: str, shares: tuple[int, int], directed: bool
) -> None:
    for module in (host_bfs, cuda_bfs):
        monkeypatch.setattr(module, "PUSH_SHARE", shares[0])
        monkeypatch.setattr(module, "PULL_SHARE", shares[1])
    monkeypatch.setattr(frontier, "SMALL_ENTRIES", 40)
    src, dst = rmat_edges(np.arange(3_000, dtype=np.uint64), 9)
    path = np.arange(512, 600)
    graph = DynamicGraph(directed=directed)
    graph.insert_edges(np.concatenate([src, [7], path]), np.concatenate([dst, [512], path + 1]))
    assert graph.bfs(7).distance.tolist() == of_scipy(graph, [7]).tolist()
