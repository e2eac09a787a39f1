"""PageRank of the CUDA engine against its host twin, on one and the same image."""

import pickle
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulated_device import EmulatedDevice
from graphs import from_networkx_graph, random_graphs
from graphtide import ConvergenceError, DynamicGraph, SettingsError
from graphtide.gpu_core.algorithms.centrality import pagerank as neutral_pagerank
from graphtide.gpu_core.algorithms.shared.vertex_vectors import Positions
from graphtide.gpu_core.cuda.analytics.centrality import pagerank
from graphtide.gpu_core.cuda.analytics.parts import slices
from graphtide.gpu_core.records import RECORDS
from graphtide.testing import engine_of
from image_engine import KINDS, ImageEngine, changed_graph, check_pagerank, make_graph, star_edges


def warm_start(engine: ImageEngine, kept: object) -> Any:
    rows, ids = engine.rows("out"), engine.id_table()
    return pagerank.start_at_kept(engine.workspace, rows, ids, kept, alpha=0.0)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
@pytest.mark.parametrize("records", list(RECORDS))
def test_pagerank_as_on_the_host(device: Any, kind: dict[str, Any], records: str) -> None:
    graph = changed_graph(records=records, **kind)
    weight = None if records == "simple" else "weight"
    check_pagerank(device, graph, weight=weight)


@pytest.mark.parametrize(
    ("weight", "records", "reverse"),
    [
        (None, "weighted", True),
        ("weight", "weighted", False),
        ("weight", "weighted64", False),
        ("weight", "weighted64", True),
    ],
)
def test_pagerank_of_a_hub_in_many_chunks(
    device: Any, weight: str | None, records: str, reverse: bool
) -> None:
    # More than a warp has lanes, so that a lane adds up several of them.
    leaves = 33 * slices.CHUNK_ENTRIES + 1
    graph = make_graph(
        star_edges(leaves), records=records, directed=True, reverse=reverse, storage="soa"
    )
    found = check_pagerank(device, graph, weight=weight, tol=1e-4)
    assert found.pagerank[found.vertices == 7] > 0.2


ARGUMENTS = [
    {"alpha": 0.0},
    {"alpha": 1.0, "tol": 1e-2},
    {"personalization": "some"},
    {"dangling": "some"},
    {"personalization": "some", "dangling": "others", "nstart": "others", "alpha": 0.5},
    {"nstart": "some"},
    {"networkx_tol": True, "tol": 1e-9},
    {"tol": 1.5},
]


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_pagerank_takes_all_arguments(device: Any, arguments: dict[str, Any]) -> None:
    graph = changed_graph(**KINDS[0])
    vertices = graph.vertices()
    some = {int(v): 1.0 + v % 3 for v in vertices[::5]}
    others = {int(v): float(v % 2) for v in vertices[1::3]}
    chosen = {"some": some, "others": others}
    arguments = {
        name: chosen[value] if isinstance(value, str) else value
        for name, value in arguments.items()
    }
    check_pagerank(device, graph, **arguments)


def test_pagerank_as_networkx(device: Any) -> None:
    graph = changed_graph(records="weighted", **KINDS[0])
    oracle = nx.DiGraph()
    oracle.add_nodes_from(graph.vertices().tolist())
    edges = graph.edges()
    oracle.add_weighted_edges_from(
        zip(
            edges.src.tolist(), edges.dst.tolist(), edges.properties["weight"].tolist(), strict=True
        )
    )
    expected = nx.pagerank(oracle, max_iter=5000, tol=1e-14)
    found = neutral_pagerank.pagerank(ImageEngine(device, graph), tol=1e-13, weight="weight")
    np.testing.assert_allclose(
        found.pagerank, [expected[v] for v in sorted(expected)], rtol=0, atol=1e-9
    )


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
    ranks = neutral_pagerank.pagerank(ImageEngine(emulated_device, graph), tol=1e-12)
    expected = nx.pagerank(oracle, max_iter=5000, tol=1e-14)
    assert ranks.vertices.tolist() == sorted(oracle)
    np.testing.assert_allclose(ranks.pagerank, [expected[v] for v in sorted(oracle)], atol=1e-9)


@pytest.mark.parametrize("max_iter", [1, 2, 6, 7, 11])
def test_steps_are_counted_exactly_however_many_were_launched(device: Any, max_iter: int) -> None:
    graph = changed_graph(**KINDS[0])
    engine = ImageEngine(device, graph)
    with pytest.raises(ConvergenceError) as on_host:
        graph.pagerank(tol=1e-13, max_iter=max_iter)
    with pytest.raises(ConvergenceError) as error:
        neutral_pagerank.pagerank(engine, tol=1e-13, max_iter=max_iter)
    assert str(error.value) == str(on_host.value)
    # A threshold that lies just below and just above a step's residual.
    residual = float(str(error.value).split("residual is ")[1].split(",")[0])
    assert neutral_pagerank.pagerank(engine, tol=residual * 1.01).iterations == max_iter
    assert neutral_pagerank.pagerank(engine, tol=residual * 0.99).iterations == max_iter + 1


@pytest.mark.parametrize("weight", [-1.0, -1e-40])
def test_negative_weights_are_refused(device: Any, weight: float) -> None:
    graph = make_graph(star_edges(5_000), records="weighted", **KINDS[0])
    graph.insert_edges([7, 4000], [11, 17], weight=[weight, weight])
    engine = ImageEngine(device, graph)
    with pytest.raises(SettingsError, match=r"edge from vertex 7 has a negative one.* \(2 such"):
        neutral_pagerank.pagerank(engine, weight="weight")
    assert neutral_pagerank.pagerank(engine).pagerank.sum() == pytest.approx(1)


def test_pagerank_of_no_and_of_one_vertex(device: Any) -> None:
    graph = DynamicGraph(engine="host", arena_bytes=1 << 20)
    for _ in range(2):
        result = neutral_pagerank.pagerank(ImageEngine(device, graph))
        assert result.vertices.size == result.pagerank.size == result.iterations == 0
        # Afterwards there are vertex records, but none of them is in the graph.
        graph.insert_edges([1, 2], [2, 3])
        graph.delete_vertices([1, 2, 3])
    graph.insert_vertices([7])
    result = neutral_pagerank.pagerank(ImageEngine(device, graph))
    assert result.vertices.tolist() == [7]
    assert result.pagerank.tolist() == [1.0]


@pytest.mark.parametrize("ids", ["any", "dense"])
def test_warm_start_from_ranks_on_the_device(device: Any, ids: str) -> None:
    graph = changed_graph(directed=True, reverse=True, ids=ids)
    before = neutral_pagerank.pagerank(ImageEngine(device, graph), tol=1e-10)
    top = int(graph.vertices().max())
    graph.insert_edges([3, top + 1, top + 2], [top + 1, top + 2, 5])
    engine = ImageEngine(device, graph)
    start = warm_start(engine, before.kept)
    assert start is not None
    by_hand = device.to_host(engine.rows("out").present) / graph.num_vertices
    indices, rows = Positions(engine).matching(before.vertex_keys)
    by_hand[indices] = before.pagerank[rows]
    by_hand /= by_hand.sum()
    np.testing.assert_allclose(device.to_host(start), by_hand, rtol=1e-14, atol=0)
    warm = check_pagerank(device, graph, nstart=before)
    assert warm.iterations < neutral_pagerank.pagerank(engine, tol=1e-10).iterations


def test_warm_start_knows_vertices_that_got_another_index(device: Any) -> None:
    graph = changed_graph(**KINDS[0])
    before = neutral_pagerank.pagerank(ImageEngine(device, graph), tol=1e-10)
    one, other = before.vertices[[40, 80]]
    # Freed indices are used again in their order: the two change places.
    graph.insert_vertices(10_000 + np.arange(engine_of(graph).queued_vertices().size))
    graph.delete_vertices([one])
    graph.delete_vertices([other])
    graph.insert_vertices([other])
    graph.insert_vertices([one])
    engine = ImageEngine(device, graph)
    assert warm_start(engine, before.kept) is None
    assert warm_start(engine, None) is None
    check_pagerank(device, graph, nstart=before)


def test_warm_start_without_any_rank_left_is_a_cold_start(device: Any) -> None:
    graph = DynamicGraph(engine="host", arena_bytes=1 << 20, self_loops="keep", ids="dense")
    graph.insert_edges([1, 2, 3], [2, 1, 3])
    elsewhere = neutral_pagerank.pagerank(
        ImageEngine(device, graph), personalization={3: 1}, alpha=0
    )
    graph.delete_vertices([3])
    result = neutral_pagerank.pagerank(ImageEngine(device, graph), nstart=elsewhere)
    assert result.pagerank.tolist() == [0.5, 0.5]


def test_a_result_is_what_it_was_after_the_graph_changed_and_after_a_trip(device: Any) -> None:
    graph = changed_graph(**KINDS[0])
    expected = graph.pagerank()
    engine = ImageEngine(device, graph)
    result = neutral_pagerank.pagerank(engine)
    engine.arena.image.fill(0)
    travelled = pickle.loads(pickle.dumps(result))
    for found in (result, travelled):
        assert found.vertices.tolist() == expected.vertices.tolist()
        np.testing.assert_allclose(found.pagerank, expected.pagerank, rtol=0, atol=1e-12)
        assert found.iterations == expected.iterations
    assert travelled.kept is None
    assert travelled.residual == result.residual


def test_no_bit_of_pagerank_depends_on_order_or_on_stored_directions(
    emulated_device: EmulatedDevice,
) -> None:
    bits = set()
    for reverse, shuffle in ((True, 0), (True, 3), (False, 0), (False, 4)):
        graph = make_graph(
            star_edges(4_000), records="weighted", directed=True, reverse=reverse, ids="any"
        )
        emulated_device.shuffle = shuffle
        engine = ImageEngine(emulated_device, graph)
        result = neutral_pagerank.pagerank(engine, weight="weight", tol=1e-6)
        bits.add((result.pagerank.tobytes(), result.residual, result.iterations))
    assert len(bits) == 1
