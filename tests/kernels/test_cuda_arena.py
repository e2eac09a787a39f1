"""The device's arena against the host's: the same images after growth, the same refusals."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from graphtide import ArenaFullError, DynamicGraph
from graphtide.gpu_core.cuda.device.devices import open_device
from graphtide.gpu_core.cuda.memory import relocate
from graphtide.gpu_core.cuda.memory.arena import DeviceArena
from graphtide.gpu_core.cuda.memory.scratch import ALIGNMENT
from graphtide.gpu_core.errors import CorruptImageError
from graphtide.gpu_core.host.engine import HostEngine
from graphtide.gpu_core.host.memory.arena import Arena
from graphtide.gpu_core.image.demand import Demand
from graphtide.gpu_core.image.fields import (
    CLASSES,
    HEADER_WORDS,
    BatchField,
    BatchStatus,
    Field,
    ImageTable,
)
from graphtide.gpu_core.image.free_runs import tree_geometry
from graphtide.gpu_core.kind import ArenaSizes, GraphKind
from graphtide.gpu_core.records import RECORDS
from graphtide.testing import engine_of

KIND = GraphKind(record=RECORDS["simple"], reverse=False, ids="dense")


def demand_of(vertex_count: int = 0, **runs: int) -> Demand:
    """``class_3=5``: five runs of class 3."""
    counts = np.zeros(CLASSES, np.int64)
    for name, count in runs.items():
        counts[int(name.removeprefix("class_"))] = count
    return Demand(vertex_count, counts)


def graph_with_holes(**settings: Any) -> DynamicGraph:
    """Rows of many lengths, some of them emptied or shortened, and vertices that are gone."""
    rng = np.random.default_rng(3)
    graph = DynamicGraph(engine="host", **settings)
    times = {"ts": np.zeros(600, np.int64)} if settings.get("records") == "semantic" else {}
    for hub in (5, 17):
        graph.insert_edges(np.full(600, hub), rng.integers(0, 900, 600), **times)
    for _ in range(7):
        graph.insert_edges(*rng.integers(0, 700, (2, 600)), **times)
    edges = graph.edges()
    chosen = np.flatnonzero(rng.random(edges.src.size) < 0.6)
    for part in np.array_split(chosen, 8):
        graph.delete_edges(edges.src[part], edges.dst[part])
    graph.delete_vertices(rng.integers(0, 700, 60))
    return graph


def twin_of(graph: DynamicGraph, device: Any) -> tuple[Arena, DeviceArena]:
    """The graph's arena, and one on the device with the same image."""
    host = engine_of(graph).arena
    arena = DeviceArena(
        device, KIND, ArenaSizes(arena_bytes=1 << 16, max_arena_bytes=host.limit_bytes)
    )
    header = host.header.copy()
    pages = (int(header[Field.PAGE_END]) - HEADER_WORDS) // int(header[Field.PAGE_WORDS])
    arena._drop_image()
    arena._put_image(header, tree_geometry(pages)[0])
    arena.image[:] = device.to_device(host.image)
    arena._growth = host._growth
    return host, arena


def mirror_of(arena: DeviceArena) -> HostEngine:
    """Host engine over a copy of the image."""
    ids = "dense" if arena[Field.DENSE_IDS] else "any"
    kind = replace(KIND, reverse=arena[Field.REVERSE_ENTRY_WORDS] > 0, ids=ids)
    return HostEngine(kind, arena=Arena.adopt(arena.host_image()))


def check_same(host: Arena, device: DeviceArena) -> None:
    """Words in use are equal; free pages and scratch hold what they hold."""
    mirror = device.header.copy()
    device.pull_header()
    np.testing.assert_array_equal(mirror, device.header)
    image = device.host_image()
    np.testing.assert_array_equal(image[:HEADER_WORDS], host.image[:HEADER_WORDS])
    for words in host._used_words():
        np.testing.assert_array_equal(image[words], host.image[words])


WAYS = [
    {"ids": "dense", "reverse": False},
    {"ids": "any", "records": "weighted", "page_bytes": 16},
    {"ids": "any", "records": "semantic", "storage": "aos", "page_bytes": 64},
    {"ids": "any", "directed": False},
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("tiles", [1024, 2])
def test_growth_lays_out_the_image_as_the_host_does(
    device: Any, tiles: int, way: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relocate, "_MOST_TILES", tiles)
    graph = graph_with_holes(arena_bytes=300_000, max_arena_bytes=8 << 20, **way)
    host, arena = twin_of(graph, device)
    check_same(host, arena)
    rows = graph.edges()
    demand = demand_of(host[Field.VERTEX_COUNT] + 50, class_0=900, class_2=70, class_12=3)
    before = host.image.size
    for each in (host, arena):
        each.prepare(demand)
    assert host.image.size > before, "it did not grow: the test tests nothing"
    check_same(host, arena)
    mirror = HostEngine(engine_of(graph).kind, arena=Arena.adopt(arena.host_image()))
    mirror.verify("full")
    graph._engine = mirror
    for name in ("src", "dst"):
        np.testing.assert_array_equal(getattr(graph.edges(), name), getattr(rows, name))


@pytest.mark.parametrize("way", [*WAYS, {"records": "semantic", "page_bytes": 64}])
def test_compaction_in_time_lays_out_the_image_as_the_host_does(
    device: Any, way: dict[str, Any]
) -> None:
    """Rows get tight runs: as many pages as a graph that was made of the same rows."""
    graph = graph_with_holes(arena_bytes=600_000, max_arena_bytes=8 << 20, **way)
    host, arena = twin_of(graph, device)
    rows, before = graph.edges(), host.memory()
    for each in (host, arena):
        assert each.compact()
    check_same(host, arena)
    memory = arena.memory()
    assert memory.pages_used < before.pages_used, "no run was too large: the test tests nothing"
    assert memory.regions["free pages"] == 0
    fresh = DynamicGraph.from_checkpoint_arrays(
        graph.checkpoint_arrays(), engine="host", arena_bytes=600_000, **way
    )
    assert memory.regions["adjacencies"] == fresh.memory().regions["adjacencies"]
    mirror = HostEngine(engine_of(graph).kind, arena=Arena.adopt(arena.host_image()))
    mirror.verify("full")
    graph._engine = mirror
    for name in ("src", "dst"):
        np.testing.assert_array_equal(getattr(graph.edges(), name), getattr(rows, name))
    for name, column in rows.properties.items():
        np.testing.assert_array_equal(graph.edges().properties[name], column)


def test_a_demand_is_allocated_in_the_new_image(device: Any) -> None:
    graph = graph_with_holes(arena_bytes=300_000, max_arena_bytes=8 << 20, ids="dense")
    host, arena = twin_of(graph, device)
    demand = demand_of(host[Field.VERTEX_COUNT], class_0=300, class_4=20, class_10=2)
    for each in (host, arena):
        each.prepare(demand)
    by_host, by_device = host.take(demand), arena.take(demand)
    for size_class in (10, 4, 0):
        for count in (2, int(demand.runs[size_class]) - 2):
            np.testing.assert_array_equal(
                by_device.runs(size_class, count), by_host.runs(size_class, count)
            )
    check_same(host, arena)


def test_what_tables_took_is_left_out_for_the_rows(device: Any) -> None:
    """The allocation goes on behind the runs that the host spent, listed ones and fresh ones."""
    arena = DeviceArena(device, KIND, ArenaSizes(arena_bytes=1 << 16))
    arena.take(demand_of(class_1=4))
    firsts = arena[Field.PAGE_BUMP] - np.array([8, 4])
    arena.give_back_runs(firsts, np.array([1, 1], np.uint8))
    taken = arena.take(demand_of(class_1=5))
    first = taken.runs(1, 3)
    assert first.tolist()[:2] == firsts.tolist()
    own, _, bump, need = device.to_host(taken.allocation[4:8]).tolist()
    assert (own, bump, need) == (0, first[2] + 2, 2)


@pytest.mark.parametrize("way", WAYS)
def test_compaction_and_buddies_first(device: Any, way: dict[str, Any]) -> None:
    """An arena that may not grow: merge, then compact, then refuse; each time as the host."""
    graph = graph_with_holes(arena_bytes=700_000 if "storage" in way else 300_000, **way)
    host, arena = twin_of(graph, device)
    done, refused = 0, 0
    for size_class in (0, 3, 6, 9, 12):
        for count in (1, 3, 10, 100):
            demand = demand_of(host[Field.VERTEX_COUNT], **{f"class_{size_class}": count})
            answers = []
            for each in (host, arena):
                try:
                    each.prepare(demand)
                except ArenaFullError as error:
                    answers.append(str(error))
            assert len(answers) in (0, 2)
            assert len(set(answers)) <= 1
            refused += bool(answers)
            done += not answers
            check_same(host, arena)
    assert done > 3
    assert refused > 1


def test_a_refusal_leaves_the_image_as_it_was(device: Any) -> None:
    graph = graph_with_holes(arena_bytes=300_000, max_arena_bytes=400_000, ids="dense")
    _, arena = twin_of(graph, device)
    image, memory = arena.image, arena.memory()
    with pytest.raises(ArenaFullError, match="max_arena_bytes"):
        arena.prepare(demand_of(class_12=40))
    assert arena.image is image
    assert arena.memory().pages_used == memory.pages_used
    mirror_of(arena).verify("full")


def test_a_rebuild_that_is_cut_off_leaves_the_image_as_it_was(
    device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = graph_with_holes(arena_bytes=300_000, max_arena_bytes=8 << 20)
    host, arena = twin_of(graph, device)
    demand = demand_of(host[Field.VERTEX_COUNT], class_12=5)
    parts = [getattr(arena, name) for name in arena._PARTS]
    with monkeypatch.context() as patch:
        # Records and tables are in the new image by then, and rows point into it.
        patch.setattr("graphtide.gpu_core.cuda.memory.relocate._blocks", raise_interrupt)
        with pytest.raises(KeyboardInterrupt):
            arena.prepare(demand)
    assert all(getattr(arena, name) is part for name, part in zip(arena._PARTS, parts, strict=True))
    mirror_of(arena).verify("full")
    for each in (host, arena):
        each.prepare(demand)
    check_same(host, arena)


def raise_interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_no_memory_for_two_images(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second image is as small as it can be, or the graph is as before."""
    graph = graph_with_holes(arena_bytes=300_000, max_arena_bytes=8 << 20, ids="dense")
    host, arena = twin_of(graph, device)
    demand = demand_of(host[Field.VERTEX_COUNT], class_9=14)
    empty, asked = arena.device.empty, []

    def scarce(count: int, dtype: Any) -> Any:
        asked.append(count)
        if count > most:
            msg = "CUDA out of memory"
            raise ArenaFullError(msg)
        return empty(count, dtype)

    monkeypatch.setattr(arena.device, "empty", scarce)
    before, most = arena.image, 60_000
    with pytest.raises(ArenaFullError, match="CUDA out of memory"):
        arena.prepare(demand)
    assert arena.image is before
    mirror_of(arena).verify("full")
    most = 120_000
    asked.clear()
    arena.prepare(demand)
    assert max(asked) > most > arena.image.size > before.size
    arena.take(demand)


@pytest.mark.parametrize(
    "table", [ImageTable.VERTEX_QUEUE, ImageTable.VERTEX_IDS, ImageTable.DICTIONARY]
)
def test_tables_move(device: Any, table: ImageTable) -> None:
    graph = graph_with_holes(arena_bytes=600_000, ids="any")
    host, arena = twin_of(graph, device)
    assert arena.queued_vertices().size > 40
    for each in (host, arena):
        # The ring wraps round before it moves.
        each.take_vertices(40)
        each.give_back_vertices(each.queued_vertices()[:30])
        size_class = each.table_growth(table, each.table_words(table) + 1)
        demand = demand_of(each[Field.VERTEX_COUNT], **{f"class_{size_class}": 1})
        each.prepare(demand)
        each.move_table(table, int(each.take(demand).runs(size_class, 1)[0]), size_class)
        assert each.table_growth(table, each.table_words(table)) is None
    np.testing.assert_array_equal(device.to_host(arena.queued_vertices()), host.queued_vertices())
    # Behind the old words the new run is undefined.
    words = host.table_words(table) // 2
    np.testing.assert_array_equal(
        device.to_host(arena.table(table)[:words]), host.table(table)[:words]
    )
    np.testing.assert_array_equal(device.to_host(arena.tree), host.table(ImageTable.FREE_TREE))
    arena.pull_header()
    np.testing.assert_array_equal(arena.header, host.header)


def test_scratch_is_aligned_and_released(device: Any) -> None:
    arena = DeviceArena(device, KIND, ArenaSizes(arena_bytes=1 << 20))
    addresses = []
    for _ in range(2):
        with arena.scratch(1_000) as scratch:
            pieces = [scratch.take(count, np.uint8) for count in (1, 0, 127, 129)]
            pieces.append(scratch.take(50, np.int64))
            for number, piece in enumerate(pieces):
                piece[:] = number + 1
            with arena.scratch(500) as inner:
                inner.take(60, np.int64)[:] = -1
            for number, piece in enumerate(pieces):
                assert (piece == number + 1).all(), "two pieces overlap"
        pointers = [p.ctypes.data if arena.xp is np else p.data.ptr for p in pieces if p.size]
        assert not any(pointer % ALIGNMENT for pointer in pointers)
        addresses.append(pointers)
    assert addresses[0] == addresses[1], "scratch was not released"
    with arena.scratch(1_000) as scratch, pytest.raises(AssertionError, match="was asked for"):
        scratch.take(20_000, np.uint8)


def test_scratch_grows_within_the_limit(device: Any) -> None:
    graph = graph_with_holes(arena_bytes=300_000, max_arena_bytes=600_000, ids="dense")
    _, arena = twin_of(graph, device)
    hash_before = graph.state_hash()
    for need in (20_000, 120_000, 400_000):
        with arena.scratch(need) as scratch:
            scratch.take(need // 4, np.uint32)[:] = 0xFFFFFFFF
    assert arena.image.nbytes <= 600_000
    check_same_rows(arena, hash_before)
    with pytest.raises(ArenaFullError, match="bytes of scratch"), arena.scratch(590_000):
        pass


def check_same_rows(arena: DeviceArena, state_hash: str) -> None:
    engine = mirror_of(arena)
    engine.verify("full")
    graph = DynamicGraph(engine="host", ids="dense")
    graph._engine = engine
    assert graph.state_hash() == state_hash


def test_memory_adds_up_as_on_the_host(device: Any) -> None:
    host, arena = twin_of(graph_with_holes(arena_bytes=600_000), device)
    assert arena.memory() == host.memory()
    assert sum(arena.memory().regions.values()) == arena.image.nbytes


@pytest.mark.gpu
@pytest.mark.parametrize(("share", "is_given_back"), [(1 / 128, False), (1 / 32, True)])
def test_memory_of_large_images_is_given_back(share: float, is_given_back: bool) -> None:
    """Where little was released, what the pool holds for others stays: to ask again takes long."""
    device = open_device()
    pool = device.xp.get_default_memory_pool()
    pool.free_all_blocks()
    arena = DeviceArena(device, KIND, ArenaSizes(int(device.memory_bytes * share), 1 << 36))
    others = device.empty(1 << 24, np.uint8)
    before = pool.total_bytes()
    del others
    with arena.scratch(2 * arena.image.nbytes):
        pass
    with arena.scratch(1):
        pass
    assert (pool.total_bytes() < before + arena.image.nbytes) == is_given_back


def test_prepare_clears_the_status_of_the_batch(device: Any) -> None:
    arena = DeviceArena(device, KIND, ArenaSizes(arena_bytes=1 << 16))
    arena.header[BatchField.STATUS] = BatchStatus.NEEDS_HOST
    arena.push_header()
    arena.prepare(demand_of(class_0=1))
    arena.pull_header()
    assert arena[BatchField.STATUS] == BatchStatus.OK


def test_words_that_are_no_image_are_not_adopted() -> None:
    image = Arena(KIND, ArenaSizes(arena_bytes=1 << 16)).image
    Arena.adopt(image.copy())
    for wrong in (np.zeros(1_000, np.uint32), image[:-2], image[:100]):
        with pytest.raises(CorruptImageError, match="do not begin"):
            Arena.adopt(wrong.copy())
