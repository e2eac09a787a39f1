"""Small arenas: a batch is applied whole or refused whole, and no page is lost either way."""

import contextlib
import itertools
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from graphs import edges_of
from graphtide import ArenaFullError, BatchError, DynamicGraph, SettingsError
from graphtide.gpu_core.image import arena_size
from graphtide.gpu_core.layouts import LAYOUTS
from graphtide.testing import engine_of
from strategies import on_pages


@pytest.fixture(autouse=True)
def spare_bytes(
    request: pytest.FixtureRequest, engine: str, monkeypatch: pytest.MonkeyPatch
) -> int:
    """Scratch of each arena beyond its share.

    On a device a call takes some 50 KiB, however small it is. Here pages are to be scarce.
    """
    spare: int = 0 if engine == "host" else getattr(request, "param", 1 << 20)
    if not spare:
        return 0
    first_size = arena_size.first_size

    def roomy(first_bytes: int) -> arena_size.ImageSize:
        room = first_size(first_bytes)
        return arena_size.ImageSize(room.area, room.scratch + spare // 4)

    monkeypatch.setattr(arena_size, "first_size", roomy)
    return spare


#: Ways to keep a graph that take pages in different ways.
WAYS = [
    {"layout": "runs", "page_bytes": 16},
    {"layout": "runs", "ids": "dense", "reverse": False, "records": "weighted"},
    *on_pages({"directed": False}, {"ids": "dense", "records": "weighted"}),
]


def smallest_arena(**way: Any) -> int:
    """Bytes of the smallest arena that holds its own header."""

    def opens(size: int) -> bool:
        try:
            DynamicGraph(arena_bytes=size, **way)
        except ArenaFullError:
            return False
        return True

    low, high = 0, 1 << 20
    while high - low > 4:
        middle = (low + high) // 2
        low, high = (low, middle) if opens(middle) else (middle, high)
    return high


def held_by_tables(graph: DynamicGraph) -> int:
    regions = graph.memory().regions
    tables = ("dictionary", "vertex ids", "vertex queue", "page queue", "free-run trees")
    return sum(regions[name] for name in tables) // graph.memory().page_bytes


Batch = tuple[str, Any]


def batches_of_a_life() -> Iterator[Batch]:
    """A few edges at a time, a hub that outgrows all runs, deletes, a vertex that goes."""
    rng = np.random.default_rng(2)
    for _ in range(3):
        yield "insert", rng.integers(0, 12, (2, 4))
    yield "insert", np.array([np.zeros(30, int), np.arange(1, 31)])
    yield "delete", np.array([np.zeros(20, int), np.arange(1, 21)])
    yield "vertices", np.array([3, 5, 25])
    yield "insert", rng.integers(0, 40, (2, 40))
    yield "insert", rng.integers(0, 40, (2, 400))
    yield "vertices", np.arange(0, 40, 2)


def do(graph: DynamicGraph, batch: Batch) -> None:
    kind, ids = batch
    if kind == "vertices":
        graph.delete_vertices(ids)
    else:
        (graph.insert_edges if kind == "insert" else graph.delete_edges)(*ids)


def expected_after(edges: set[tuple[int, int]], batch: Batch, directed: bool) -> set:
    kind, ids = batch
    if kind == "vertices":
        return {edge for edge in edges if not set(edge) & set(ids.tolist())}
    named = {(u, v) if directed or u < v else (v, u) for u, v in ids.T.tolist() if u != v}
    return edges | named if kind == "insert" else edges - named


@pytest.mark.everyday
@pytest.mark.parametrize("way", WAYS)
def test_whole_or_not_at_all(engine: str, way: dict[str, Any]) -> None:
    """Arenas with 0, 1, 2, … pages to spare live through the same batches."""
    least = smallest_arena(**way)
    page = DynamicGraph(arena_bytes=1 << 16, **way).memory().page_bytes
    spares: tuple[int, ...] = (*range(12), *range(12, 60, 4), *range(60, 600, 40))
    if engine == "cuda":
        spares = (0, 2, 9, 44, 300)
    sizes = [*(least + spare * page for spare in spares), 1 << 18]
    refusals, told = [], []
    for size in sizes:
        graph = DynamicGraph(arena_bytes=size, **way)
        refused = 0
        edges: set[tuple[int, int]] = set()
        for batch in batches_of_a_life():
            before = graph.state_hash(), graph.checkpoint_arrays(), graph.memory()
            try:
                do(graph, batch)
            except ArenaFullError as error:
                refused += 1
                told.append(str(error))
                assert graph.state_hash() == before[0]
                for name, array in graph.checkpoint_arrays().items():
                    np.testing.assert_array_equal(array, before[1][name])
                memory = graph.memory()
                # Rows may lie tighter than before.
                assert memory.pages_used <= before[2].pages_used
                assert memory.arena_bytes == before[2].arena_bytes
            else:
                edges = expected_after(edges, batch, graph.directed)
            graph.verify()
            assert set(edges_of(graph)) == edges
        refusals.append(refused)
        # It is usable afterwards: what is there can go, one vertex at a time, and all of it.
        for vertex in graph.vertices().tolist():
            try:
                graph.delete_vertices([vertex])
            except ArenaFullError:
                # The queue of freed indices needs pages, too.
                assert way.get("ids", "any") == "any"
                graph.verify()
        assert graph.num_edges == 0 or way.get("ids", "any") == "any"
        graph.verify()
        if graph.num_edges == 0:
            assert graph.memory().pages_used == held_by_tables(graph)
    assert all("arena_bytes" in sentence for sentence in told)
    assert refusals[0] >= 6, "the smallest arena holds nearly nothing"
    assert refusals[-1] == 0, "the largest arena holds everything"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("whole", [True, False], ids=["vertices", "edges"])
def test_insert_all_and_delete_all_again_and_again(
    engine: str, way: dict[str, Any], whole: bool
) -> None:
    cycles = 25 if engine == "host" else 14  # batches grow again from every seventh on
    rng = np.random.default_rng(0)
    graph = DynamicGraph(arena_bytes=120_000, **way)
    seen = set()
    for cycle in range(cycles):
        src, dst = rng.integers(0, 100, (2, 600 + 10 * (cycle % 7)))
        for part in range(3):
            graph.insert_edges(src[part::3], dst[part::3])
        if whole:
            graph.delete_vertices(rng.permutation(100))
        else:
            for part in range(2):
                graph.delete_edges(src[part::2], dst[part::2])
        assert graph.num_edges == 0
        assert graph.memory().pages_used == held_by_tables(graph)
        if cycle >= cycles - 7:
            seen.add(held_by_tables(graph))
    graph.verify()
    assert len(seen) == 1, f"tables go on growing: {seen}"


@pytest.mark.parametrize("spare_bytes", [1 << 18], indirect=True)
@pytest.mark.parametrize("way", WAYS)
def test_an_image_grows_to_its_limit_and_no_further(
    engine: str, spare_bytes: int, way: dict[str, Any]
) -> None:
    limit = 100_001 + spare_bytes  # not a number of words
    batch = 50 if engine == "host" else 400
    graph = DynamicGraph(arena_bytes=10_001, max_arena_bytes=limit, **way)
    sizes = {graph.memory().arena_bytes}
    rng = np.random.default_rng(0)
    told = ""
    while not told:
        try:
            graph.insert_edges(*rng.integers(0, 400, (2, batch)))
        except ArenaFullError as error:
            told = str(error)
        sizes.add(graph.memory().arena_bytes)
        assert graph.memory().arena_bytes <= limit == graph.memory().limit_bytes
    assert "max_arena_bytes" in told
    graph.verify()
    assert len(sizes) >= 4
    assert max(sizes) - spare_bytes > 0.8 * (limit - spare_bytes)
    assert sum(graph.memory().regions.values()) <= limit
    # Room comes back by deletes alone.
    edges = graph.edges()
    piece = batch // 5 if engine == "host" else batch // 2
    for start in range(0, len(edges), piece):
        some = slice(start, start + piece)
        graph.delete_edges(edges.src[some], edges.dst[some])
    assert graph.num_edges == 0
    graph.insert_edges(*rng.integers(0, 400, (2, 50)))
    graph.verify()


@pytest.mark.runs
def test_compaction_joins_what_buddies_cannot() -> None:
    """Every second vertex keeps its edge: half of the pages are free, and no two of them meet."""
    graph = DynamicGraph(ids="dense", reverse=False, page_bytes=16, arena_bytes=60_000)
    count = 1_000
    for start in range(0, count, 100):
        graph.insert_edges(np.arange(start, start + 100), np.full(100, count + 1))
    # What is left above is taken by others, and below that there are only holes.
    others = count + 2
    with contextlib.suppress(ArenaFullError):
        for others in range(count + 2, 2 * count):
            graph.insert_edges(np.full(60, others), np.arange(60))
    other = others
    for start in range(1, count, 100):
        odd = np.arange(start, start + 100, 2)
        graph.delete_edges(odd, np.full(odd.size, count + 1))
    before = graph.memory()
    assert before.largest_free_run < 128 < 400 < before.pages_free
    image = engine_of(graph).image
    wanted = 4 * 256
    for start in range(0, wanted, 64):
        graph.insert_edges(np.full(64, other), np.arange(start, start + 64) % count)
    wanted = min(wanted, count)
    assert engine_of(graph).image is not image, "no compaction was needed: the test tests nothing"
    assert graph.memory().arena_bytes == before.arena_bytes
    graph.verify()
    assert graph.neighbors(other).tolist() == list(range(wanted))
    assert graph.has_edges(np.arange(count), np.full(count, count + 1)).tolist() == [
        vertex % 2 == 0 for vertex in range(count)
    ]


def insert_rows(graph: DynamicGraph, rows: Any, columns: Any) -> None:
    """Insert an edge from each of these rows to each column, in batches of little scratch."""
    for some in np.array_split(rows, -(-rows.size * columns.size // 500)):
        graph.insert_edges(some.repeat(columns.size), np.tile(columns, some.size))


@pytest.mark.runs
def test_rows_are_made_tight_before_a_batch_is_refused(engine: str) -> None:
    """Rows that lost half of their edges have runs twice as large as they need."""
    graph = DynamicGraph(ids="dense", reverse=False, page_bytes=16, arena_bytes=40_000)
    rows, more, columns = np.arange(300), np.arange(300, 480), np.arange(480, 496)
    insert_rows(graph, rows, columns)
    for some in np.array_split(rows, 6):
        graph.delete_edges(some.repeat(9), np.tile(columns[:9], some.size))
    image = engine_of(graph).image
    insert_rows(graph, more, columns)
    assert engine_of(graph).image is not image, "there was room enough: the test tests nothing"
    graph.verify()
    edges = graph.edges()
    np.testing.assert_array_equal(edges.src, np.concatenate([rows.repeat(7), more.repeat(16)]))
    np.testing.assert_array_equal(edges.dst[: 7 * 300], np.tile(columns[9:], 300))
    with pytest.raises(ArenaFullError):
        insert_rows(graph, rows, np.arange(100))
    graph.verify()


@pytest.mark.runs
def test_short_rows_give_way_to_long_ones(engine: str) -> None:
    """All edges move from 2**10 rows of 16 to 2**4 rows of 2**10, in 1.5 times their memory.

    Rows leave at random: what is free are holes of 64 bytes all over, what is asked for are runs of
    4,096.
    """
    short, count, long = 1 << 10, 16, 1 << 4
    rows, columns = np.arange(short), short + long + np.arange(count)
    edge_bytes, vertex_bytes, tree_bytes = 4 * short * count, 12 * (columns[-1] + 1), 4 << 10
    area = edge_bytes * 3 // 2 + vertex_bytes + tree_bytes
    graph = DynamicGraph(ids="dense", reverse=False, page_bytes=32, arena_bytes=area * 8 // 7)
    insert_rows(graph, rows, columns)
    leaving = np.random.default_rng(5).permutation(short).reshape(long, -1)
    for number, some in enumerate(leaving):
        for row in np.array_split(some, 4):
            graph.delete_edges(row.repeat(count), np.tile(columns, row.size))
        insert_rows(graph, np.array([short + number]), rows)
        graph.verify()
    assert graph.degrees(np.arange(short, short + long)).tolist() == [short] * long
    assert graph.num_edges == short * count


@pytest.mark.parametrize("way", WAYS)
def test_an_image_that_was_compacted_often(way: dict[str, Any]) -> None:
    """Degrees wander in an arena that is hardly larger than the graph: against a set."""
    rng = np.random.default_rng(4)
    graph = DynamicGraph(arena_bytes=40_000, **way)
    edges: set[tuple[int, int]] = set()
    images = set()
    applied = refused = 0
    for step in range(120):
        hub = rng.integers(0, 60)
        targets = rng.integers(0, 60, rng.integers(1, 60))
        pairs = np.array([np.full(targets.size, hub), targets])
        batch = ("insert" if step % 5 < 3 else "delete", pairs)
        try:
            do(graph, batch)
            edges = expected_after(edges, batch, graph.directed)
            applied += 1
        except ArenaFullError:
            refused += 1
        images.add(id(engine_of(graph).arena.image.base) if step else 0)
        if step % 6 == 0:
            graph.verify()
            assert set(edges_of(graph)) == edges
    graph.verify()
    assert set(edges_of(graph)) == edges
    assert applied > 60


@pytest.mark.parametrize("way", WAYS)
def test_what_fits_can_be_restored_into_the_same_arena(way: dict[str, Any]) -> None:
    settings = {"arena_bytes": 60_000, **way}
    graph = DynamicGraph(**settings)
    rng = np.random.default_rng(6)
    for _ in itertools.count():
        try:
            graph.insert_edges(*rng.integers(0, 200, (2, 40)))
        except ArenaFullError:
            break
    for vertex in range(0, 200, 10):
        graph.delete_vertices([vertex])
    assert graph.num_edges > 500
    restored = DynamicGraph.from_checkpoint_arrays(graph.checkpoint_arrays(), **settings)
    restored.verify()
    assert restored.state_hash() == graph.state_hash()
    np.testing.assert_array_equal(
        restored.checkpoint_arrays()["free_indices"], graph.checkpoint_arrays()["free_indices"]
    )


def test_a_call_that_needs_too_much_scratch_is_refused(spare_bytes: int) -> None:
    graph = DynamicGraph(arena_bytes=40_000)
    graph.insert_edges([1], [2])
    before = graph.image_hash()
    many = np.arange(5_000 + spare_bytes // 20)
    with pytest.raises(ArenaFullError, match="scratch"):
        graph.insert_edges(many, many + 1)
    assert graph.image_hash() == before
    graph.verify()


@pytest.mark.parametrize("spare_bytes", [0], indirect=True)
def test_scratch_takes_the_room_of_pages_that_hold_nothing(engine: str) -> None:
    """Within a limit the two share what is there: neither keeps what the other needs."""
    limit, step = (1 << 20, 100) if engine == "host" else (1 << 22, 1_000)
    graph = DynamicGraph(max_arena_bytes=limit, ids="dense")
    if graph.layout != "runs" and engine == "cuda":
        step = 200  # their plan is part of the scratch that a batch holds
    first = graph.memory().regions["scratch"]
    edges = np.array([np.repeat(np.arange(200), 100), np.tile(np.arange(200, 300), 200)])
    graph.insert_edges(*edges)
    assert graph.memory().regions["scratch"] > first, "scratch sufficed: the test tests nothing"
    graph.verify()
    added = 0
    with contextlib.suppress(ArenaFullError):
        for added in range(0, 100_000, step):
            some = np.arange(added, added + step)
            graph.insert_edges(some, some + 1)
            assert graph.memory().arena_bytes <= limit
    assert added > 2_000
    assert graph.memory().regions["scratch"] < first, "pages took nothing back"
    graph.verify()
    assert graph.has_edges(*edges).all()


def test_a_dense_graph_has_at_most_as_many_vertices_as_sort_keys_can_name() -> None:
    graph = DynamicGraph(ids="dense")
    with pytest.raises(BatchError, match="id 2147483648 cannot be a vertex index"):
        graph.insert_edges([0], [2**31])
    assert graph.num_vertices == 0
    graph.verify()


def test_no_image_is_larger_than_its_page_indices_reach() -> None:
    reach = (2**32 - 1) * 16
    assert DynamicGraph(page_bytes=16, max_arena_bytes=1 << 50).memory().limit_bytes == reach
    with pytest.raises(SettingsError, match="use larger pages"):
        DynamicGraph(page_bytes=16, arena_bytes=reach + 1)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_rebuild_that_is_cut_off_leaves_the_graph_as_it_was(
    engine: str, spare_bytes: int, layout: str
) -> None:
    limit = 400_000 + spare_bytes
    graph = DynamicGraph(arena_bytes=40_000, max_arena_bytes=limit, layout=layout)
    graph.insert_edges(np.arange(20), np.arange(20) + 1)
    before = graph.state_hash(), graph.memory().pages_used, graph.memory().pages_free

    def cut_off(*arguments: object, **options: object) -> None:
        # One direction is moved then, and the other one is not.
        move(*arguments, **options)
        raise KeyboardInterrupt

    moves = "move_pages" if LAYOUTS[layout].is_paged else "move_runs"
    name = "move_rows" if engine == "host" else moves
    arena = import_module(f"graphtide.gpu_core.{engine}.memory.arena")
    move = getattr(arena, name)
    many = np.arange(600)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arena, name, cut_off)
        with pytest.raises(KeyboardInterrupt):
            graph.insert_edges(many, many + 1)
    memory = graph.memory()
    assert (graph.state_hash(), memory.pages_used, memory.pages_free) == before
    graph.verify()
    assert graph.insert_edges(many, many + 1).num_edges == 600
    graph.verify()


@pytest.mark.parametrize("ids", ["any", "dense"])
def test_a_jump_of_dense_ids_that_cannot_fit(ids: str) -> None:
    graph = DynamicGraph(ids=ids, arena_bytes=60_000)
    graph.insert_edges([0], [1])
    if ids == "any":
        graph.insert_vertices([2**32 - 2])
    else:
        with pytest.raises(ArenaFullError, match="arena_bytes"):
            graph.insert_vertices([2**24])
    graph.verify()
    assert graph.edges().dst.tolist() == [1]
