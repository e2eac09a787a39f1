"""Maintained clustering of directed graphs, by either definition, equals what is counted anew."""

import itertools
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copied_graphs import COPIES
from followed import (
    apply_drawn,
    apply_rows,
    draw_kind,
    in_seven,
    is_stale,
    random_rows,
)
from graphs import lcc, simple_undirected
from graphtide import CorruptImageError, DynamicGraph
from graphtide.gpu_core.algorithms.maintained.maintained_triangles import MaintainedTriangles
from graphtide.gpu_core.algorithms.triangles.definitions import DIRECTED
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.testing import engine_of
from oracles import Row
from strategies import LAYOUTS, examples

pytestmark = [
    pytest.mark.usefixtures("engine"),
    pytest.mark.parametrize("definition", DIRECTED),
]

#: Of a `ClusteringResult`.
COLUMNS = ("vertices", "degree", "triangles", "clustering")


@pytest.fixture
def repairs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much a batch changes, it is followed."""
    monkeypatch.setattr(MaintainedTriangles, "always_repairs", True)


def check(graph: DynamicGraph) -> None:
    """Compare with networkx and LDBC, with a graph that maintains nothing, and by an audit."""
    triangles = graph.triangles()
    plain = graph.copy()
    plain.unmaintain("clustering")
    for definition in DIRECTED:
        found, expected = (each.clustering(directed=definition) for each in (graph, plain))
        for name in COLUMNS:
            assert getattr(found, name).tobytes() == getattr(expected, name).tobytes(), name
        assert graph.average_clustering(directed=definition) == expected.average
    assert triangles.tobytes() == expected.triangles.tobytes()
    assert graph.transitivity() == expected.transitivity
    if graph.num_edges < 300:
        check_by_definition(graph)
    graph.audit()


def check_by_definition(graph: DynamicGraph) -> None:
    """Compare with what networkx and LDBC say."""
    made, vertices = graph.to_networkx(), graph.vertices().tolist()
    made.remove_edges_from(list(nx.selfloop_edges(made)))
    assert graph.clustering(directed="networkx").clustering.tolist() == [
        nx.clustering(made, v) for v in vertices
    ]
    found = graph.clustering(directed="ldbc")
    assert found.clustering == pytest.approx([lcc(made, v) for v in vertices])
    counts = nx.triangles(simple_undirected(made))
    assert found.triangles.tolist() == [counts[v] for v in vertices]


@pytest.mark.everyday
@pytest.mark.usefixtures("repairs_only")
@settings(max_examples=examples(8), deadline=None, suppress_health_check=[*HealthCheck])
@given(data=st.data())
def test_any_batches_are_followed(data: st.DataObject, engine: str, definition: str) -> None:
    self_loops = data.draw(st.sampled_from(("keep", "drop")))
    # A device has its layout by its name.
    graph = DynamicGraph(self_loops=self_loops, **draw_kind(data, has_layout=engine == "host"))
    graph.maintain("clustering", directed=definition)
    for is_applied in apply_drawn(data, graph):
        # After one that was refused they are counted anew.
        assert not (is_applied and is_stale(graph))
        graph.audit()
        graph.triangles()
    check(graph)


@pytest.mark.usefixtures("repairs_only")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_long_stream_with_hubs_and_vertex_deletes(layout: str, definition: str) -> None:
    rng = np.random.default_rng(5)
    graph = DynamicGraph(layout=layout, self_loops="keep")
    graph.maintain("clustering", directed=definition)
    for number in range(30):
        rows = random_rows(rng, 30, int(rng.choice([1, 7, 90])))
        if number % 10 == 9:
            # A hub goes, and comes back with some of its edges, a few both ways.
            rows += [Row(-1, 0, None), *(Row(1, 0, v) for v in range(5, 25))]
            rows += [Row(1, v, 0) for v in range(20, 28)]
        apply_rows(graph, rows)
        assert not is_stale(graph)
        graph.audit()
    check(graph)


@pytest.mark.usefixtures("repairs_only")
def test_all_ways_from_one_triangle_to_another_in_one_batch(definition: str) -> None:
    """Each pair has no edge, one either way, or both, before and after."""
    pairs = ((1, 2), (2, 3), (3, 1))
    states: list[list[tuple[int, int]]] = [
        [
            edge
            for (u, v), ways in zip(pairs, each, strict=True)
            for edge in ((u, v), (v, u))[slice(*ways)]
        ]
        for each in itertools.product(((0, 0), (0, 1), (1, 2), (0, 2)), repeat=3)
    ]
    graph = DynamicGraph()
    graph.insert_vertices([1, 2, 3])
    graph.maintain("clustering", directed=definition)
    expected = []
    for edges in states:
        made = nx.DiGraph(edges)
        made.add_nodes_from((1, 2, 3))
        by = nx.clustering if definition == "networkx" else lcc
        expected.append([by(made, v) for v in (1, 2, 3)])
    rng = np.random.default_rng(1)
    before: list[tuple[int, int]] = []
    # Every state is met from others that are far away; all pairs of states would be 4,096.
    for number in [*rng.permutation(64), *rng.permutation(64)]:
        edges = states[number]
        rows = [Row(-1, *edge) for edge in before if edge not in edges]
        apply_rows(graph, rows + [Row(1, *edge) for edge in edges])
        assert not is_stale(graph)
        found = graph.clustering(directed=definition).clustering
        assert found == pytest.approx(expected[number], abs=1e-15), (before, edges)
        before = edges
    graph.audit()


def test_an_edge_that_turns_around_breaks_no_triangle(definition: str) -> None:
    graph = DynamicGraph.from_edges([1, 2, 3, 9, 9, 8], [2, 3, 1, 1, 8, 1])
    graph.maintain("clustering", directed=definition)
    apply_rows(graph, [Row(-1, 1, 2), Row(1, 2, 1)])
    assert graph.triangles().tolist() == [2, 1, 1, 1, 1]
    check(graph)
    # The other way comes, and goes: it counts for coefficients alone.
    before = graph.clustering(directed=definition).clustering.tolist()
    graph.insert_edges([1], [3])
    assert graph.triangles().tolist() == [2, 1, 1, 1, 1]
    assert graph.clustering(directed=definition).clustering.tolist() != before
    check(graph)
    graph.delete_edges([1], [3])
    assert graph.clustering(directed=definition).clustering.tolist() == before
    check(graph)


@pytest.mark.usefixtures("repairs_only")
def test_self_loops_are_sides_of_no_triangle(definition: str) -> None:
    graph = DynamicGraph.from_edges([1, 2, 3, 3], [2, 3, 1, 2], self_loops="keep")
    graph.maintain("clustering", directed=definition)
    expected = graph.clustering(directed=definition).clustering.tolist()
    for change in (graph.insert_edges, graph.delete_edges):
        # They are all that changes; then they are there where a pair changes.
        change([1, 2, 3], [1, 2, 3])
        assert graph.clustering(directed=definition).clustering.tolist() == expected
        for name in ("delete_edges", "insert_edges"):
            getattr(graph, name)([1, 3], [2, 2])
            assert not is_stale(graph)
            check(graph)


def rmat_graph(scale: int = 9) -> tuple[DynamicGraph, np.ndarray, np.ndarray]:
    src, dst = rmat_edges(np.arange(12 << scale, dtype=np.uint64), scale, seed=3)
    return DynamicGraph.from_edges(src, dst), src, dst


@pytest.mark.usefixtures("repairs_only")
def test_work_is_cut_through_edges_between_hubs(
    monkeypatch: pytest.MonkeyPatch, definition: str
) -> None:
    twin = engine_of(DynamicGraph()).algorithms.maintained_triangles
    # The host cuts as it has threads; a device has tiles of one size.
    monkeypatch.setattr(twin, "ranges_of", in_seven, raising=False)
    graph, src, dst = rmat_graph(7)
    # Two hubs beside all others, one by edges out of it and one by edges into it, some both ways.
    others = np.arange(1000, 3000)
    graph.insert_edges(np.full(others.size, 1), others)
    graph.insert_edges(others, np.full(others.size, 2))
    graph.insert_edges(others[::3], np.full(others[::3].size, 1))
    graph.maintain("clustering", directed=definition)
    for change, src_hub, dst_hub in itertools.product(
        (graph.insert_edges, graph.delete_edges), (1, 2), (1, 2)
    ):
        change([src_hub], [dst_hub])
        assert not is_stale(graph)
        graph.audit()
    graph.delete_edges(src[::3], dst[::3])
    graph.insert_edges(dst, src)
    assert not is_stale(graph)
    graph.audit()
    graph.delete_vertices([1])
    assert not is_stale(graph)
    check(graph)


def test_a_small_batch_is_repaired_and_a_large_one_counted_anew(definition: str) -> None:
    graph, src, dst = rmat_graph()
    graph.maintain("clustering", directed=definition)
    rng = np.random.default_rng(0)
    few = rng.choice(src.size, 5)
    graph.delete_edges(src[few], dst[few])
    assert not is_stale(graph)
    many = rng.choice(src.size, src.size * 3 // 4)
    graph.delete_edges(src[many], dst[many])
    assert is_stale(graph)
    check(graph)
    # From the recount on they follow again.
    graph.insert_edges(src[few], dst[few])
    assert not is_stale(graph)
    check(graph)


def test_triangles_and_transitivity_take_the_counts_of_either_definition(
    monkeypatch: pytest.MonkeyPatch, definition: str
) -> None:
    graph, src, dst = rmat_graph(7)
    graph.maintain("clustering", directed=definition)
    graph.delete_edges(src[:2], dst[:2])
    plain = graph.copy()
    plain.unmaintain("clustering")
    other = next(each for each in DIRECTED if each != definition)
    expected = plain.triangles(), plain.transitivity(), plain.average_clustering(directed=other)
    twin = engine_of(graph).algorithms.triangles
    with monkeypatch.context() as patch:
        patch.setattr(twin, "count_triangles", lambda *_, **__: pytest.fail("anew"))
        assert graph.triangles().tolist() == expected[0].tolist()
        assert graph.transitivity() == expected[1]
        graph.clustering(directed=definition)
        with pytest.raises(pytest.fail.Exception, match="anew"):
            graph.clustering(directed=other)
    assert graph.average_clustering(directed=other) == expected[2]
    # Maintained by the other definition, it begins anew.
    graph.maintain("clustering", directed=other)
    assert engine_of(graph).maintained["clustering"].directed == other
    check(graph)


def test_an_epoch_has_the_counts_of_its_batch(definition: str) -> None:
    graph, src, dst = rmat_graph(7)
    graph.maintain("clustering", directed=definition)
    expected = graph.clustering(directed=definition).clustering.tolist()
    with graph.pin() as epoch:
        graph.delete_edges(src[:9], dst[:9])
        assert not is_stale(graph)
        assert graph.clustering(directed=definition).clustering.tolist() != expected
        assert epoch.clustering(directed=definition).clustering.tolist() == expected
        arrays = epoch.checkpoint_arrays()
    restored = DynamicGraph.from_checkpoint_arrays(arrays)
    assert restored.maintained == ("clustering",)
    assert restored.clustering(directed=definition).clustering.tolist() == expected
    restored.audit()
    check(graph)


@pytest.mark.parametrize("way", COPIES)
def test_copies_go_on_without_counting_anew(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, definition: str
) -> None:
    graph, src, dst = rmat_graph(7)
    graph.maintain("clustering", directed=definition)
    graph.delete_vertices(src[:2])
    with monkeypatch.context() as patch:
        patch.setattr(
            engine_of(graph).algorithms.triangles, "count_triangles",
            lambda *_, **__: pytest.fail("anew"),
        )  # fmt: skip
        other = COPIES[way](graph, tmp_path)
        assert other.maintained == ("clustering",)
        assert engine_of(other).maintained["clustering"].directed == definition
        other.insert_edges(src[:4], dst[:4])
        found = other.clustering(directed=definition).clustering
    check(other)
    assert other.clustering(directed=definition).clustering.tobytes() == found.tobytes()


def test_a_checkpoint_of_in_neighbors_is_for_graphs_that_keep_them(definition: str) -> None:
    graph, *_ = rmat_graph(6)
    graph.maintain("clustering", directed=definition)
    restored = DynamicGraph.from_checkpoint_arrays(graph.checkpoint_arrays(), reverse=False)
    assert restored.maintained == ()
    assert restored.clustering(directed=definition).clustering.tobytes() == (
        graph.clustering(directed=definition).clustering.tobytes()
    )


def test_an_audit_names_what_differs(definition: str) -> None:
    graph = DynamicGraph.from_edges([1, 2, 3], [2, 3, 1])
    graph.maintain("clustering", directed=definition)
    names = {
        "networkx": ("triangles", "directed_triangles", "neighbors", "both_ways"),
        "ldbc": ("triangles", "neighbor_edges", "neighbors"),
    }
    for place, name in enumerate(names[definition]):
        # What was counted anew is kept, so these are other arrays each time.
        engine_of(graph).maintained["clustering"]._kept[place][1] += 1
        with pytest.raises(CorruptImageError, match=f"at vertex 2: {name} "):
            graph.audit()
    check(graph)


def test_memory_is_that_of_the_counts(engine: str, definition: str) -> None:
    graph = DynamicGraph.from_edges([1, 2, 3], [2, 3, 1])
    graph.maintain("clustering", directed=definition)
    a_vertex = {"host": {"networkx": 32, "ldbc": 24}, "cuda": {"networkx": 24, "ldbc": 20}}
    assert graph.memory().maintained_bytes == 3 * a_vertex[engine][definition]
    graph.unmaintain("clustering")
    assert graph.memory().maintained_bytes == 0
