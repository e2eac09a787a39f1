"""Components that are maintained with every batch are those of a recount, to the bit."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copied_graphs import COPIES
from followed import apply_drawn, apply_rows, draw_kind
from graphtide import CorruptImageError, DynamicGraph, SettingsError
from graphtide.gpu_core.algorithms.maintained.maintained_components import MaintainedComponents
from graphtide.gpu_core.cuda.analytics.maintained import maintained_components as cuda_twin
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.gpu_core.host.analytics.maintained import maintained_components as host_twin
from graphtide.gpu_core.jit import parallel
from graphtide.testing import engine_of
from oracles import Row
from strategies import examples

pytestmark = pytest.mark.usefixtures("engine")

NAME = "weakly_connected_components"
#: Those that components can be maintained of: directed ones need their in-neighbors.
KINDS = ({"directed": False}, {"directed": True}, {"directed": True, "self_loops": "keep"})


@pytest.fixture
def repairs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much a batch changes, it is followed."""
    monkeypatch.setattr(MaintainedComponents, "always_repairs", True)


@pytest.fixture(autouse=True)
def searches_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks stale components has them searched, in graphs of any size."""
    monkeypatch.setattr(cuda_twin, "RECOUNTS_A_SEARCH", 0)
    monkeypatch.setattr(cuda_twin, "FEWEST_ENTRIES", 0)


def made(**settings: Any) -> DynamicGraph:
    graph = DynamicGraph(**settings)
    graph.maintain(NAME)
    return graph


def is_stale(graph: DynamicGraph) -> bool:
    return engine_of(graph).maintained[NAME].is_stale


def smallest_ids(graph: DynamicGraph) -> list[int]:
    """Component of every vertex by networkx, called by its smallest id."""
    found = nx.Graph(graph.to_networkx())
    smallest = {v: min(part) for part in nx.connected_components(found) for v in part}
    return [smallest[v] for v in graph.vertices().tolist()]


def check(graph: DynamicGraph) -> None:
    """Compare with networkx, with a graph that maintains nothing, and by an audit."""
    found, plain = graph.weakly_connected_components(), graph.copy()
    plain.unmaintain(NAME)
    expected = plain.weakly_connected_components()
    assert found.component.tobytes() == expected.component.tobytes()
    assert found.vertices.tobytes() == expected.vertices.tobytes()
    assert (found.num_components, found.largest) == (expected.num_components, expected.largest)
    if graph.num_edges < 500:
        assert found.component.tolist() == smallest_ids(graph)
    graph.audit()


# It draws layouts by itself.
@pytest.mark.everyday
@pytest.mark.runs
@pytest.mark.usefixtures("repairs_only")
@settings(max_examples=examples(10), deadline=None, suppress_health_check=[*HealthCheck])
@given(data=st.data())
def test_any_batches_are_followed(data: st.DataObject) -> None:
    graph = made(**data.draw(st.sampled_from(KINDS)), **draw_kind(data))
    for is_applied in apply_drawn(data, graph):
        if is_applied:
            assert not is_stale(graph)
        else:
            # They are searched anew.
            graph.weakly_connected_components()
        if data.draw(st.booleans()):
            graph.audit()
    check(graph)


def random_rows(rng: np.random.Generator, vertices: int, count: int) -> list[Row]:
    """As many inserts as deletes, so that there are many components; some rows are of two hubs."""
    rows = []
    for _ in range(count):
        src, dst = (int(v) for v in rng.integers(0, vertices, 2))
        if rng.random() < 0.2:
            src = int(rng.integers(2))
        is_vertex = rng.random() < 0.02
        rows.append(Row(1 if rng.random() < 0.5 else -1, src, None if is_vertex else dst, 1.0))
    return rows


@pytest.mark.usefixtures("repairs_only")
@pytest.mark.parametrize("kind", KINDS)
def test_a_long_stream_with_hubs_and_vertex_deletes(
    kind: dict[str, Any], engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Ends of removed edges are looked at by several threads.
    monkeypatch.setattr(parallel, "thread_count", lambda: 3)
    monkeypatch.setattr(parallel, "SERIAL_ITEMS", 1)
    rng = np.random.default_rng(5)
    graph = made(**kind)
    for number in range(120 if engine == "host" else 30):
        rows = random_rows(rng, 80, int(rng.choice([1, 5, 40])))
        if number % 10 == 9:
            # A hub goes, and comes back with some of its edges, maybe at another index.
            rows += [Row(-1, 0, None), *(Row(1, 0, v) for v in range(5, 25))]
        apply_rows(graph, rows)
        assert not is_stale(graph)
        # Not after every batch: what one has removed is looked at with the next one then.
        if number % 3 == 0:
            check(graph)
    check(graph)


@pytest.mark.runs
@pytest.mark.usefixtures("repairs_only")
def test_bridges_of_a_tree_that_go_and_come_back() -> None:
    """Every delete cuts, and every insert joins."""
    rng = np.random.default_rng(3)
    child = np.arange(1, 200)
    parent = (rng.random(child.size) * child).astype(np.int64)
    graph = made(directed=False)
    graph.insert_edges(parent, child)
    is_there = np.ones(child.size, bool)
    for size in (1, 1, 1, 3, 10, 50, 1, 100, 150, 1):
        some = rng.choice(child.size, size, replace=False)
        rows = [Row(-1 if is_there[i] else 1, int(parent[i]), int(child[i])) for i in some.tolist()]
        apply_rows(graph, rows)
        is_there[some] ^= True
        assert not is_stale(graph)
        check(graph)
        expected = 200 - int(is_there.sum())
        assert graph.weakly_connected_components().num_components == expected


@pytest.mark.runs
@pytest.mark.usefixtures("repairs_only")
def test_a_cycle_holds_where_it_is_cut_once() -> None:
    """All vertices behind the cut are to be reached from their other side."""
    count = 400
    ring = np.arange(count)
    graph = made(directed=False, ids="dense")
    graph.insert_edges(ring, np.roll(ring, -1))
    for number, where in enumerate((140, 300, 1, 399), 1):
        graph.delete_edges([where], [(where + 1) % count])
        assert graph.weakly_connected_components().num_components == number
        check(graph)
    # Deleted and put in one batch: the pieces are joined in another way.
    rows = [Row(1, 140, 301), Row(1, 5, 200), Row(-1, 5, 6)]
    apply_rows(graph, rows)
    assert not is_stale(graph)
    check(graph)


@pytest.mark.usefixtures("repairs_only")
@pytest.mark.parametrize("edge", [(1, 2), (2, 1)])
@pytest.mark.parametrize("directed", [False, True])
def test_neighbors_of_one_level_hold_one_another(directed: bool, edge: tuple[int, int]) -> None:
    """Of one level the smaller index is below: that may be the last edge of a vertex, too."""
    graph = made(directed=directed, ids="dense")
    graph.insert_edges([0, 0, 0, 0, edge[0]], [1, 2, 3, 4, edge[1]])
    assert graph.weakly_connected_components().num_components == 1
    level: Any = engine_of(graph).maintained[NAME]._forest.level
    # Threads of a GPU may find either end of the last edge by way of the other one.
    level[1:3] = 1
    assert level.tolist() == [0, 1, 1, 1, 1]
    graph.delete_edges([0], [2])
    assert graph.weakly_connected_components().num_components == 1
    forest: Any = engine_of(graph).maintained[NAME]._forest
    assert forest.level.tolist() == [0, 1, 1, 1, 1], "2 was held by 1"
    graph.delete_edges([edge[0]], [edge[1]])
    assert graph.weakly_connected_components().num_components == 2
    check(graph)


@pytest.mark.usefixtures("repairs_only")
@pytest.mark.parametrize("directed", [False, True])
def test_a_sliding_window(directed: bool) -> None:
    rng = np.random.default_rng(2)
    graph = made(records="semantic", directed=directed)
    for time in range(12):
        graph.insert_edges(rng.integers(0, 60, 12), rng.integers(0, 60, 12), ts=time)
        graph.expire(time - 2)
        assert not is_stale(graph)
        check(graph)


def rmat_graph(scale: int = 9) -> tuple[DynamicGraph, np.ndarray, np.ndarray]:
    src, dst = rmat_edges(np.arange(4 << scale, dtype=np.uint64), scale, seed=3)
    graph = DynamicGraph.from_edges(src, dst, directed=False)
    graph.maintain(NAME)
    return graph, src, dst


def test_a_small_batch_is_repaired_and_a_large_one_searched_anew() -> None:
    graph, src, dst = rmat_graph()
    few, many = slice(0, 5), slice(5, src.size // 2)
    graph.delete_edges(src[few], dst[few])
    graph.insert_edges([10**6], [10**6 + 1])
    check(graph)
    assert not is_stale(graph)
    graph.delete_edges(src[many], dst[many])
    # Looked at with the next step.
    graph.insert_edges([10**6], [10**6 + 2])
    assert is_stale(graph)
    check(graph)
    # From then on they follow again.
    graph.insert_edges(src[few], dst[few])
    assert not is_stale(graph)
    check(graph)


def test_where_a_recount_is_always_sooner_nothing_is_repaired_or_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(host_twin, "FEWEST_ENTRIES", 1 << 22)
    monkeypatch.setattr(cuda_twin, "FEWEST_ENTRIES", 1 << 22)
    graph, src, dst = rmat_graph(7)
    kept: Any = engine_of(graph).maintained[NAME]
    begun = kept.begun
    for number in range(3):
        graph.delete_edges(src[number : number + 1], dst[number : number + 1])
        graph.insert_edges([10**6 + number], [10**6 + number + 1])
        assert graph.weakly_connected_components().component.tolist() == smallest_ids(graph)
    assert is_stale(graph)
    assert kept.begun == begun
    graph.audit()
    assert graph.copy().maintained == (NAME,)


@pytest.mark.parametrize(
    ("recounts", "expected"),
    # The search of `maintain` was in vain, so after 4 recounts; then after 8, then not before 16.
    # Without any to wait for: after 1, 2, 4.
    [(2, [4, 13]), (0, [1, 4, 9])],
)
def test_where_all_batches_are_large_levels_are_made_more_and_more_rarely(
    recounts: int, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_twin, "RECOUNTS_A_SEARCH", recounts)
    monkeypatch.setattr(cuda_twin, "RECOUNTS_A_SEARCH", recounts)
    graph, src, dst = rmat_graph(7)
    kept: Any = engine_of(graph).maintained[NAME]
    half = slice(0, src.size // 2)
    searched = []
    for number in range(17):
        change = graph.delete_edges if number % 2 == 0 else graph.insert_edges
        change(src[half], dst[half])
        begun = kept.begun
        found = graph.weakly_connected_components().component.tolist()
        assert found == smallest_ids(graph)
        if kept.begun > begun:
            searched.append(number)
    assert searched == expected
    assert is_stale(graph)
    other = graph.copy()
    assert other.maintained == (NAME,)
    check(other)
    # A batch that is followed was worth it.
    kept.begin(engine_of(graph))
    graph.insert_edges([10**6], [10**6 + 1])
    assert not is_stale(graph)
    for number in range(recounts + 1):
        change = graph.insert_edges if number % 2 == 0 else graph.delete_edges
        change(src[half], dst[half])
        graph.weakly_connected_components()
        assert is_stale(graph) == (number < recounts)
    check(graph)


def test_an_epoch_makes_no_levels_for_what_the_graph_was_asked_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They would go with it: results of epochs, one each, cost a search now and then, not two."""
    for twin in (host_twin, cuda_twin):
        monkeypatch.setattr(twin, "RECOUNTS_A_SEARCH", 2)
    graph, src, dst = rmat_graph(7)
    twin = engine_of(graph).algorithms.maintained_components
    search, searched = twin.search, []
    monkeypatch.setattr(twin, "search", lambda *given: searched.append(number) or search(*given))
    half = slice(0, src.size // 2)
    for number in range(6):
        change = graph.delete_edges if number % 2 == 0 else graph.insert_edges
        change(src[half], dst[half])
        expected = smallest_ids(graph)
        with graph.pin() as epoch:
            for _ in range(12 if number == 5 else 1):
                assert epoch.weakly_connected_components().component.tolist() == expected
    # By the graph; and by an epoch that is itself asked often.
    assert searched == [4, 5]


@pytest.mark.runs
@pytest.mark.parametrize("joins", [False, True])
def test_a_repair_that_reads_too_much_is_broken_off(joins: bool) -> None:
    """One edge, with half of the graph behind it."""
    half = np.arange(150)
    graph = made(directed=False, ids="dense")
    # Complete enough that a search of one half is a good part of a search of all.
    for first in (0, half.size):
        for step in (1, 2, 3):
            graph.insert_edges(first + half[:-step], first + half[step:])
    if not joins:
        graph.insert_edges([half.size - 1], [half.size])
    check(graph)
    change = graph.insert_edges if joins else graph.delete_edges
    assert not is_stale(graph)
    change([half.size - 1], [half.size])
    if not joins:
        graph.insert_edges([0], [half.size - 1])
    assert is_stale(graph)
    check(graph)
    assert graph.weakly_connected_components().num_components == (1 if joins else 2)


@pytest.mark.runs
def test_a_repair_is_done_or_broken_off_however_much_may_be_read(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two pieces are cut off whose last vertex has most to read."""
    graph = DynamicGraph(directed=False, ids="dense")
    graph.insert_edges(np.zeros(30, np.int64), np.arange(1, 31))
    for first in (40, 60):
        graph.insert_edges([0, *[first] * 5], [first, *range(first + 1, first + 6)])
        graph.insert_edges(np.arange(first + 1, first + 6), [first + 6] * 5)
    twin: Any = engine_of(graph).algorithms.maintained_components
    monkeypatch.setattr(twin, "ENTRIES_AN_EDGE", 0)
    done = []
    for most in range(0, 90, 1 if engine == "host" else 15):
        cut = graph.copy()
        cut.maintain(NAME)
        cut.delete_edges([0, 0], [40, 60])
        monkeypatch.setattr(twin, "ENTRIES_A_READ", (cut.num_edges * 2) / (most + 0.5))
        cut.insert_vertices([80])
        cut.weakly_connected_components()
        done.append(not is_stale(cut))
        check(cut)
    assert not done[0]
    assert done[-1]


@pytest.mark.runs
def test_what_would_be_reached_from_far_away_is_searched_anew() -> None:
    """Half of a cycle has to be given levels from its other end."""
    ring = np.arange(400)
    graph = made(directed=False, ids="dense")
    graph.insert_edges(ring, np.roll(ring, -1))
    graph.weakly_connected_components()
    # Followed, so that the next search is not put off.
    graph.insert_edges([400], [401])
    assert graph.weakly_connected_components().num_components == 2
    kept: Any = engine_of(graph).maintained[NAME]
    begun = kept.begun
    # The root is the first of vertices of one degree.
    graph.delete_edges([0], [1])
    assert graph.weakly_connected_components().num_components == 2
    assert kept.begun == begun + 1
    check(graph)


@pytest.mark.usefixtures("repairs_only")
def test_levels_that_would_not_fit_are_searched_anew() -> None:
    graph = made(directed=False, ids="dense")
    graph.insert_edges([0, 1, 2], [1, 2, 3])
    graph.insert_edges([10], [11])
    check(graph)
    kept: Any = engine_of(graph).maintained[NAME]
    kept._forest.level[3] = 0xFFFFFFFE
    graph.insert_edges([3], [10])
    assert is_stale(graph)
    check(graph)


@pytest.mark.usefixtures("repairs_only")
@pytest.mark.parametrize("way", COPIES)
def test_copies_go_on_without_searching_anew(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, src, dst = rmat_graph(7)
    # Some of it nobody has looked at, and some vertices have come without an edge.
    graph.delete_vertices(src[:2])
    graph.insert_vertices([5000, 5001])
    with monkeypatch.context() as patch:
        patch.setattr(MaintainedComponents, "begin", lambda *_: pytest.fail("anew"))
        other = COPIES[way](graph, tmp_path)
        assert other.maintained == (NAME,)
        other.insert_edges(src[:4], dst[:4])
        found = other.weakly_connected_components().component
    assert other.state_hash() != graph.state_hash()
    check(other)
    check(graph)
    assert other.weakly_connected_components().component.tolist() == found.tolist()


@pytest.mark.usefixtures("repairs_only")
def test_an_epoch_does_not_change_with_the_graph() -> None:
    graph, src, dst = rmat_graph(7)
    before = graph.weakly_connected_components()
    earlier = before.component.tolist()
    graph.delete_edges(src[:3], dst[:3])
    graph.insert_edges(src[:3], dst[:3])
    # The newest step has made arrays for all vertices: they are shared, and not made again.
    graph.insert_edges([10**6], [10**6 + 1])
    expected = [*earlier, 10**6, 10**6]
    with graph.pin() as epoch:
        graph.delete_vertices(src[:40])
        graph.insert_edges([10**6], [dst[-1]])
        assert not is_stale(graph)
        assert epoch.weakly_connected_components().component.tolist() == expected
        arrays = epoch.checkpoint_arrays()
    assert before.component.tolist() == earlier
    restored = DynamicGraph.from_checkpoint_arrays(arrays, directed=False)
    assert restored.maintained == (NAME,)
    assert restored.weakly_connected_components().component.tolist() == expected
    check(restored)
    check(graph)


@pytest.mark.usefixtures("repairs_only")
def test_what_breaks_off_on_the_way_is_searched_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, src, dst = rmat_graph(7)
    twin = engine_of(graph).algorithms.maintained_components

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(twin, "repair", interrupted)
        with pytest.raises(KeyboardInterrupt):
            graph.insert_edges([10**6], [int(src[0])])
    assert is_stale(graph)
    assert "component_roots" not in graph.checkpoint_arrays()
    check(graph)
    graph.delete_edges(src[:4], dst[:4])
    with monkeypatch.context() as patch:
        patch.setattr(twin, "repair", interrupted)
        with pytest.raises(KeyboardInterrupt):
            graph.weakly_connected_components()
    assert is_stale(graph)
    check(graph)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("root", r"vertex 5: first_index 1 instead of 0"),
        ("level", r"1 of 3 .* vertex 4: unproven 1 instead of 0"),
        ("size", r"3 of 3 .* vertex 4: size 4 instead of 3"),
    ],
)
def test_an_audit_names_what_differs(name: str, words: str) -> None:
    graph = DynamicGraph.from_edges([4, 5], [5, 6], directed=False)
    graph.maintain(NAME)
    forest = engine_of(graph).maintained[NAME]._forest
    # The hub, and so the root, is vertex 5.
    items = getattr(forest, name)
    if name == "root":
        items[[0, 2]] = 0
    elif name == "level":
        # Of equal levels the smaller index is below: the root, but not for vertex 4.
        items[[0, 2]] = 0
    else:
        items[1] += 1
    with pytest.raises(CorruptImageError, match=words):
        graph.audit()
    graph.audit()
    check(graph)


def test_only_what_can_be_maintained_is(engine: str) -> None:
    graph = DynamicGraph(directed=False, engine=engine)
    with pytest.raises(SettingsError, match="has no parameter 'tol'"):
        graph.maintain(NAME, tol=1e-3)
    with pytest.raises(SettingsError, match="keep in-neighbors only; use reverse=True"):
        DynamicGraph(reverse=False, engine=engine).maintain(NAME)
    graph.maintain(NAME)
    graph.insert_vertices([5, 6])
    graph.weakly_connected_components()
    graph.insert_edges([5], [6])
    graph.weakly_connected_components()
    assert graph.memory().maintained_bytes == 2 * 12
    graph.unmaintain(NAME)
    assert graph.memory().maintained_bytes == 0
    # Graphs that cannot go on leave it behind.
    graph.maintain(NAME)
    assert graph.copy(engine="host").maintained == (NAME,)
    directed = made()
    directed.insert_edges([1], [2])
    assert directed.copy(reverse=False).maintained == ()
