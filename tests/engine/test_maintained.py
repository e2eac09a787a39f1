"""Maintained triangles of undirected graphs equal what is counted anew, to the bit.

Directed ones: `test_maintained_directed.py`.
"""

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
from graphtide import ArenaFullError, BatchError, CorruptImageError, DynamicGraph, SettingsError
from graphtide.gpu_core.algorithms.maintained.maintained_triangles import MaintainedTriangles
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.testing import engine_of
from oracles import Row
from strategies import LAYOUTS, examples

pytestmark = pytest.mark.usefixtures("engine")

#: Of a `ClusteringResult`.
COLUMNS = ("vertices", "degree", "triangles", "clustering")


@pytest.fixture
def repairs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much a batch changes, it is followed."""
    monkeypatch.setattr(MaintainedTriangles, "always_repairs", True)


def check(graph: DynamicGraph) -> None:
    """Compare with networkx, with a graph that maintains nothing, and by an audit."""
    found, plain = graph.clustering(), graph.copy()
    plain.unmaintain("clustering")
    expected = plain.clustering()
    for name in COLUMNS:
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes(), name
    made = graph.to_networkx() if graph.num_edges < 500 else None
    if made is not None:
        counts = nx.triangles(nx.Graph(made))
        assert found.triangles.tolist() == [counts[v] for v in graph.vertices().tolist()]
    assert graph.triangles().tobytes() == found.triangles.tobytes()
    assert graph.average_clustering() == expected.average
    assert graph.compute("clustering").triangles.tobytes() == found.triangles.tobytes()
    graph.audit()


@pytest.mark.usefixtures("repairs_only")
@settings(max_examples=examples(10), deadline=None, suppress_health_check=[*HealthCheck])
@given(data=st.data())
def test_any_batches_are_followed(data: st.DataObject, engine: str) -> None:
    # A device has its layout by its name.
    graph = DynamicGraph(directed=False, **draw_kind(data, has_layout=engine == "host"))
    graph.maintain("clustering")
    for is_applied in apply_drawn(data, graph):
        # After one that was refused they are counted anew.
        assert not (is_applied and is_stale(graph))
        graph.audit()
        graph.triangles()
    check(graph)


@pytest.mark.usefixtures("repairs_only")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_long_stream_with_hubs_and_vertex_deletes(layout: str) -> None:
    rng = np.random.default_rng(5)
    graph = DynamicGraph(directed=False, layout=layout)
    graph.maintain("clustering")
    for number in range(40):
        rows = random_rows(rng, 60, int(rng.choice([1, 7, 120])))
        if number % 10 == 9:
            # A hub goes, and comes back with some of its edges.
            rows += [Row(-1, 0, None), *(Row(1, 0, v) for v in range(5, 25))]
        apply_rows(graph, rows)
        assert not is_stale(graph)
        graph.audit()
    check(graph)


@pytest.mark.usefixtures("repairs_only")
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_triangles_with_several_changed_edges_count_once(size: int) -> None:
    """A complete graph comes and goes in one batch, and edge by edge in two."""
    src, dst = np.triu_indices(size + 1, 1)
    graph = DynamicGraph(directed=False, ids="dense")
    graph.insert_vertices([0])
    graph.maintain("clustering")
    for step in (1, 2, 3):
        graph.insert_edges(src[::step], dst[::step])
        check(graph)
        graph.insert_edges(src, dst)
        check(graph)
        graph.delete_edges(src[::step], dst[::step])
        check(graph)
        graph.delete_edges(src, dst)
        check(graph)
        assert not is_stale(graph)


@pytest.mark.parametrize("directed", [False, True])
def test_spokes_of_a_wheel_go_and_come_back(directed: bool, engine: str) -> None:
    """A rim's few neighbors are looked for in the hub's row, up to its last entry."""
    count = 120 if engine == "host" else 40
    rim = np.arange(1, count + 1)
    graph = DynamicGraph(directed=directed, ids="dense")
    graph.insert_edges(np.zeros_like(rim), rim)
    graph.insert_edges(rim, np.roll(rim, 1))
    graph.maintain("clustering")
    for spoke in (1, 2, count // 2, count - 1, count):
        for change, around in ((graph.delete_edges, count - 2), (graph.insert_edges, count)):
            change([0], [spoke])
            assert graph.triangles()[0] == around
            assert not is_stale(graph)
    check(graph)


def test_edges_that_a_mixed_batch_adds_and_removes_make_no_triangle_together() -> None:
    graph = DynamicGraph.from_edges([1, 2, 5, 6, 7], [2, 3, 6, 7, 5], directed=False)
    graph.maintain("clustering")
    # (1, 3) would close 1, 2, 3, but (1, 2) goes; 5, 6, 7 breaks and 5, 6, 8 comes.
    rows = [Row(1, 1, 3), Row(-1, 1, 2), Row(-1, 6, 7), Row(1, 8, 5), Row(1, 8, 6)]
    apply_rows(graph, rows)
    assert dict(zip(graph.vertices().tolist(), graph.triangles().tolist(), strict=True)) == {
        1: 0, 2: 0, 3: 0, 5: 1, 6: 1, 7: 0, 8: 1,
    }  # fmt: skip
    check(graph)


@pytest.mark.usefixtures("repairs_only")
def test_ids_beyond_a_table_are_no_other_vertices() -> None:
    graph = DynamicGraph.from_edges([5, 6, 7], [6, 7, 5], directed=False, ids="dense")
    graph.maintain("clustering")
    graph.delete_edges([5, 6, 900], [900, 901, 901])
    graph.delete_vertices([900])
    for change in (graph.delete_edges, graph.insert_edges):
        with pytest.raises(BatchError):
            change([5 + 2**32], [6])
    with pytest.raises(BatchError):
        graph.delete_vertices([5 + 2**32])
    assert graph.triangles().tolist() == [1, 1, 1]
    check(graph)


def rmat_graph(scale: int = 9) -> tuple[DynamicGraph, np.ndarray, np.ndarray]:
    src, dst = rmat_edges(np.arange(12 << scale, dtype=np.uint64), scale, seed=3)
    return DynamicGraph.from_edges(src, dst, directed=False), src, dst


@pytest.mark.usefixtures("repairs_only")
def test_work_is_cut_through_edges_between_hubs(monkeypatch: pytest.MonkeyPatch) -> None:
    twin = engine_of(DynamicGraph()).algorithms.maintained_triangles
    # The host cuts as it has threads; a device has tiles of one size.
    monkeypatch.setattr(twin, "ranges_of", in_seven, raising=False)
    graph, src, dst = rmat_graph(8)
    # Two hubs with all others, joined and parted: one edge, whose rows are the longest there are.
    others = np.arange(1000, 4000)
    for hub in (1, 2):
        graph.insert_edges(np.full(others.size, hub), others)
    graph.maintain("clustering")
    for name in ("insert_edges", "delete_edges", "insert_edges"):
        getattr(graph, name)([1], [2])
        assert not is_stale(graph)
        graph.audit()
    assert graph.clustering([1]).triangles >= others.size
    graph.delete_edges(src[::3], dst[::3])
    graph.insert_edges(src, dst)
    assert not is_stale(graph)
    graph.audit()
    graph.delete_vertices([1])
    assert not is_stale(graph)
    check(graph)


def test_a_small_batch_is_repaired_and_a_large_one_counted_anew() -> None:
    graph, src, dst = rmat_graph()
    graph.maintain("clustering")
    rng = np.random.default_rng(0)
    few = rng.choice(src.size, 5)
    graph.delete_edges(src[few], dst[few])
    assert not is_stale(graph)
    many = rng.choice(src.size, src.size // 2)
    graph.delete_edges(src[many], dst[many])
    assert is_stale(graph)
    check(graph)
    # From the recount on they follow again.
    graph.insert_edges(src[few], dst[few])
    assert not is_stale(graph)
    check(graph)


def test_each_batch_is_judged_by_itself() -> None:
    graph, src, dst = rmat_graph()
    graph.maintain("clustering")
    # All together they would not be followed, as the test above shows.
    for some in np.array_split(np.arange(src.size // 2), 50):
        graph.delete_edges(src[some], dst[some])
        assert not is_stale(graph)
    check(graph)


@pytest.mark.parametrize("ids", ["any", "dense"])
def test_what_was_asked_earlier_does_not_change_with_the_graph(ids: str) -> None:
    # Where every index is a vertex, results need no order of their own.
    src, dst = rmat_edges(np.arange(12 << 7, dtype=np.uint64), 7, seed=3)
    graph = DynamicGraph(directed=False, ids=ids)
    graph.insert_vertices(np.arange(1 << 7))
    graph.insert_edges(src, dst)
    expected = graph.triangles()
    graph.maintain("clustering")
    before = graph.clustering()
    graph.delete_edges(src[9:12], dst[9:12])
    assert not is_stale(graph)
    assert before.triangles.tolist() == expected.tolist()
    graph.insert_edges(src[9:12], dst[9:12])
    with graph.pin() as epoch:
        graph.delete_edges(src[:9], dst[:9])
        assert graph.triangles().tolist() != expected.tolist()
        assert epoch.triangles().tolist() == expected.tolist()
        assert epoch.clustering().triangles.tolist() == expected.tolist()
        arrays = epoch.checkpoint_arrays()
    restored = DynamicGraph.from_checkpoint_arrays(arrays, directed=False, ids=ids)
    assert restored.maintained == ("clustering",)
    check(graph)


def test_an_epoch_of_counts_that_nobody_asked_for() -> None:
    graph, src, dst = rmat_graph(7)
    plain = graph.copy()
    graph.maintain("clustering")
    for each in (graph, plain):
        each.delete_edges(src[:3], dst[:3])
    assert not is_stale(graph)
    expected = plain.triangles()
    with graph.pin() as epoch:
        graph.delete_edges(src[3:6], dst[3:6])
        assert graph.triangles().tolist() != expected.tolist()
        assert epoch.triangles().tolist() == expected.tolist()


def test_a_refused_batch_has_removed_nothing() -> None:
    graph = DynamicGraph(directed=False, create_vertices=False)
    graph.insert_vertices([1, 2, 3])
    graph.insert_edges([1, 2, 3], [2, 3, 1])
    graph.maintain("clustering")
    rows = [Row(-1, 1, 2), Row(1, 1, 99)]
    with pytest.raises(BatchError, match="99"):
        apply_rows(graph, rows)
    assert graph.triangles().tolist() == [1, 1, 1]
    check(graph)


@pytest.mark.parametrize("way", COPIES)
def test_copies_go_on_without_counting_anew(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, src, dst = rmat_graph(7)
    graph.maintain("clustering")
    graph.delete_vertices(src[:2])
    with monkeypatch.context() as patch:
        patch.setattr(
            engine_of(graph).algorithms.triangles,
            "count_triangles",
            lambda *_, **__: pytest.fail("anew"),
        )
        other = COPIES[way](graph, tmp_path)
        assert other.maintained == ("clustering",)
        other.insert_edges(src[:4], dst[:4])
        found = other.triangles()
    assert other.state_hash() != graph.state_hash()
    check(other)
    assert other.triangles().tolist() == found.tolist()


def test_a_stale_result_is_not_kept(tmp_path: Path) -> None:
    graph, src, dst = rmat_graph(7)
    graph.maintain("clustering")
    graph.delete_edges(src[::2], dst[::2])
    assert is_stale(graph)
    assert graph.memory().maintained_bytes == 0
    assert "triangles" not in graph.checkpoint_arrays()
    assert COPIES["save"](graph, tmp_path).maintained == ()


@pytest.mark.parametrize("where", ["count", "other", "apply"])
def test_what_breaks_off_on_the_way_is_counted_anew(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where another result breaks off, or the batch: then what it removes is still there."""
    graph, src, dst = rmat_graph(7)
    graph.maintain("clustering")
    graph.maintain("weakly_connected_components")
    engine = engine_of(graph)
    place, name = {
        "count": (engine.algorithms.maintained_triangles, "count_pairs"),
        "other": (engine.maintained["weakly_connected_components"], "follow"),
        "apply": (engine, "apply"),
    }[where]

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(place, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            graph.delete_edges(src[:4], dst[:4])
    assert is_stale(graph)
    check(graph)


def test_a_batch_is_applied_where_there_is_no_memory_to_follow_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    graph, src, dst = rmat_graph(7)
    graph.maintain("clustering")
    engine = engine_of(graph)
    twin = engine.algorithms.maintained_triangles

    def refused(*_: object) -> None:
        msg = "no room"
        raise ArenaFullError(msg)

    for place, name in ((twin, "count_pairs"), (engine, "changing")):
        for change in (graph.delete_edges, graph.insert_edges):
            with monkeypatch.context() as patch:
                patch.setattr(place, name, refused)
                report = change(src[:4], dst[:4])
            assert report.edges_removed + report.edges_added > 0
            assert is_stale(graph)
            assert "could not be followed" in caplog.text
            assert "no room" in caplog.text
            caplog.clear()
            check(graph)


def test_an_audit_names_what_differs() -> None:
    graph = DynamicGraph.from_edges([1, 2, 3], [2, 3, 1], directed=False)
    graph.maintain("clustering")
    kept = engine_of(graph).maintained["clustering"]
    kept._kept.triangles[1] += 1
    with pytest.raises(CorruptImageError, match=r"1 of 3 .* vertex 2: triangles 2 instead of 1"):
        graph.audit()
    graph.audit()
    check(graph)


def test_only_what_can_be_maintained_is() -> None:
    graph = DynamicGraph(directed=False)
    with pytest.raises(SettingsError, match="bfs cannot be maintained, only clustering, pagerank"):
        graph.maintain("bfs")
    with pytest.raises(SettingsError, match="clustering has no parameter 'tol'"):
        graph.maintain("clustering", tol=1e-3)
    with pytest.raises(SettingsError, match="unknown"):
        graph.maintain("clusterings")
    with pytest.raises(SettingsError, match=r"graphs that keep in-neighbors only; use reverse=Tr"):
        DynamicGraph(reverse=False).maintain("clustering")
    for each in (DynamicGraph(), graph):
        with pytest.raises(SettingsError, match=r"directed='fagiolo' is unknown; use one of netw"):
            each.maintain("clustering", directed="fagiolo")
    with pytest.raises(SettingsError, match=r"'clustering' is not maintained; .* nothing"):
        graph.unmaintain("clustering")
    graph.maintain("clustering")
    graph.maintain("clustering")
    assert graph.maintained == ("clustering",)
    graph.insert_vertices([5, 6])
    graph.triangles()
    assert graph.memory().maintained_bytes == 2 * 8
    graph.unmaintain("clustering")
    assert graph.maintained == ()
    assert graph.memory().maintained_bytes == 0
    graph.insert_edges([1, 2, 3], [2, 3, 1])
    assert graph.triangles().tolist() == [1, 1, 1, 0, 0]


def test_only_these_are_maintained() -> None:
    graph = DynamicGraph.from_edges([1, 2, 3], [2, 3, 1])
    graph.maintain("clustering")
    graph.maintain("pagerank")
    kept = engine_of(graph).maintained["clustering"]
    graph.maintain_only({"weakly_connected_components": {}, "clustering": {"directed": "networkx"}})
    assert set(graph.maintained) == {"clustering", "weakly_connected_components"}
    assert engine_of(graph).maintained["clustering"] is kept
    graph.maintain_only({"clustering": {"directed": "ldbc"}})
    assert engine_of(graph).maintained["clustering"].parameters == {"directed": "ldbc"}
    for wrong in ({"bfs": {}}, {"pagerank": {"tol": 0}}, {"pagerank": {"tols": 1}}):
        with pytest.raises(SettingsError):
            graph.maintain_only(wrong)
        assert graph.maintained == ("clustering",), "what is refused changes nothing"
    graph.maintain_only({})
    assert graph.maintained == ()
