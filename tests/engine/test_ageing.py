"""Graphs that take batch after batch: they are compacted in time, and only where that pays."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from graphtide import ArenaFullError, BatchReport, DynamicGraph, StaleViewError, UpdateBatch
from graphtide.gpu_core.host.memory import arena as host_arena
from graphtide.gpu_core.image import arena_size
from graphtide.testing import engine_of

#: Small, so that the free pages of a small graph count; with room for a second image.
ROOMY = {"arena_bytes": 400_000, "max_arena_bytes": 1 << 23}
VERTICES, DEGREE = 250, 15

#: Keys of edges: ``src * VERTICES + dst``.
Keys = np.ndarray


def fresh_keys(rng: np.random.Generator) -> Keys:
    """Edges of a uniform graph."""
    keys = np.unique(rng.integers(0, VERTICES**2, VERTICES * DEGREE))
    return keys[keys // VERTICES != keys % VERTICES]


def replacement(rng: np.random.Generator, keys: Keys) -> tuple[UpdateBatch, Keys]:
    """A batch in which a fiftieth of the edges leaves and as many arrive; the edges after it."""
    size = keys.size // 50
    leaving = rng.choice(keys, size, replace=False)
    drawn = np.setdiff1d(fresh_keys(rng), keys)
    arriving = rng.choice(drawn, size, replace=False)
    ops = np.repeat([-1, 1], size)
    changed = np.concatenate([leaving, arriving])
    batch = UpdateBatch.from_rows(ops, changed // VERTICES, changed % VERTICES)
    return batch, np.union1d(np.setdiff1d(keys, leaving), arriving)


def inserted(graph: DynamicGraph, keys: Keys) -> None:
    graph.insert_edges(keys // VERTICES, keys % VERTICES)


def keys_of(graph: DynamicGraph) -> Keys:
    edges = graph.edges()
    return edges.src * VERTICES + edges.dst


def live(
    graph: DynamicGraph, keys: Keys, batches: int
) -> tuple[list[BatchReport], list[int], Keys]:
    """Take so many batches; their reports, the numbers of those with a new image, the edges."""
    rng = np.random.default_rng(5)
    reports, compacted = [], []
    for number in range(batches):
        batch, keys = replacement(rng, keys)
        image = engine_of(graph).image
        reports.append(graph.apply(batch))
        if engine_of(graph).image is not image:
            compacted.append(number)
    return reports, compacted, keys


@pytest.mark.runs
@pytest.mark.parametrize("way", [
    {"ids": "dense", "reverse": False},
    {"ids": "any", "reverse": True},
    {"layout": "chain", "ids": "dense", "page_bytes": 16},
])  # fmt: skip
def test_an_aged_graph_is_compacted(engine: str, way: dict[str, Any]) -> None:
    graph = DynamicGraph(**way, **ROOMY)
    keys = fresh_keys(np.random.default_rng(0))
    inserted(graph, keys)
    arena_bytes = graph.memory().arena_bytes
    reports, compacted, keys = live(graph, keys, 160)
    assert compacted, "no compaction: the test tests nothing"
    assert np.diff([-1, *compacted]).min() >= arena_size.BATCHES_A_TURNOVER
    assert graph.memory().arena_bytes == arena_bytes
    graph.verify()
    np.testing.assert_array_equal(keys_of(graph), keys)
    for number in compacted:
        # With the free pages gone there is nothing between the pages in use.
        before, after = reports[number - 1], reports[number]
        assert after.pages_used < before.pages_used or way.get("layout") == "chain"
        assert after.pages_used + after.pages_free >= before.pages_used + before.pages_free
    memory, last = graph.memory(), reports[-1]
    assert (last.pages_used, last.pages_free) == (memory.pages_used, memory.pages_free)
    assert last.largest_free_run == memory.largest_free_run


def test_both_engines_compact_after_the_same_batches(device: Any) -> None:
    keys = fresh_keys(np.random.default_rng(0))
    told = {}
    for engine in ("host", "cuda"):
        graph = DynamicGraph(engine=engine, ids="dense", reverse=False, **ROOMY)
        inserted(graph, keys)
        reports, compacted, _ = live(graph, keys, 100)
        told[engine] = compacted, [each._replace(seconds={}) for each in reports]
    assert told["cuda"] == told["host"]
    assert told["host"][0], "no compaction: the test tests nothing"


def test_a_graph_that_only_grows_is_left_alone() -> None:
    graph = DynamicGraph(engine="host", ids="dense", **ROOMY)
    keys = np.random.default_rng(0).permutation(fresh_keys(np.random.default_rng(1)))
    images = set()
    for part in np.array_split(keys, 200):
        inserted(graph, part)
        images.add(id(engine_of(graph).image))
    memory = graph.memory()
    free = memory.regions["free pages"] // memory.page_bytes
    assert free * arena_size.PAGES_A_FREE_PAGE > memory.pages_used, "nothing was outgrown"
    assert len(images) == 1


@pytest.mark.runs
def test_an_image_that_two_do_not_fit_within_the_limit_becomes_smaller(engine: str) -> None:
    limit = 800_000
    graph = DynamicGraph(ids="dense", reverse=False, arena_bytes=600_000, max_arena_bytes=limit)
    keys = fresh_keys(np.random.default_rng(0))
    inserted(graph, keys)
    reports, compacted, keys = live(graph, keys, 160)
    assert compacted
    smaller = graph.memory().arena_bytes
    assert smaller == limit - 600_000, "it left room that was there, or took some that was not"
    number = compacted[0]
    assert reports[number].pages_used < reports[number - 1].pages_used
    graph.verify()
    np.testing.assert_array_equal(keys_of(graph), keys)
    # It is no limit.
    every = np.arange(VERTICES**2)
    every = every[every // VERTICES != every % VERTICES]
    inserted(graph, every)
    assert smaller < graph.memory().arena_bytes <= limit
    graph.verify()
    np.testing.assert_array_equal(keys_of(graph), every)


@pytest.mark.runs
def test_an_image_that_another_one_has_no_room_beside_is_left_alone(engine: str) -> None:
    tight = {"arena_bytes": 400_000, "max_arena_bytes": 500_000}
    graph = DynamicGraph(ids="dense", reverse=False, **tight)
    keys = fresh_keys(np.random.default_rng(0))
    inserted(graph, keys)
    _, compacted, keys = live(graph, keys, 160)
    assert not compacted
    np.testing.assert_array_equal(keys_of(graph), keys)
    assert not engine_of(graph).arena.compact()


@pytest.fixture
def overdue(engine: str, monkeypatch: pytest.MonkeyPatch) -> tuple[DynamicGraph, Keys]:
    """An aged graph that the next batch has compacted, and its edges."""
    graph = DynamicGraph(ids="dense", reverse=False, **ROOMY)
    keys = fresh_keys(np.random.default_rng(0))
    inserted(graph, keys)
    with monkeypatch.context() as patch:
        # No batch counts.
        patch.setattr(arena_size, "BATCHES_A_TURNOVER", 1 << 40)
        _, compacted, keys = live(graph, keys, 80)
    assert not compacted
    engine_of(graph).arena._changed_edges = graph.num_edges
    return graph, keys


def check_next_batch(graph: DynamicGraph, keys: Keys, *, compacts: bool) -> Keys:
    """Apply one more batch; the edges after it."""
    image = engine_of(graph).image
    batch, keys = replacement(np.random.default_rng(8), keys)
    report = graph.apply(batch)
    assert (engine_of(graph).image is not image) == compacts
    memory = graph.memory()
    assert (report.pages_used, report.pages_free) == (memory.pages_used, memory.pages_free)
    graph.verify()
    np.testing.assert_array_equal(keys_of(graph), keys)
    return keys


@pytest.mark.runs
def test_without_memory_for_a_second_image_the_graph_stays_where_it_is(
    engine: str, overdue: tuple[DynamicGraph, Keys], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch is applied all the same, and the next ones do not try again."""
    graph, keys = overdue
    words, tries = engine_of(graph).image.size, []
    where: Any = engine_of(graph).device if engine == "cuda" else host_arena
    name, error = ("empty", ArenaFullError) if engine == "cuda" else ("_zeros", MemoryError)
    take = getattr(where, name)

    def scarce(count: int, *arguments: Any) -> Any:
        if count < words:
            return take(count, *arguments)
        tries.append(count)
        msg = "out of memory"
        raise error(msg)

    with monkeypatch.context() as patch:
        patch.setattr(where, name, scarce)
        for _ in range(3):
            keys = check_next_batch(graph, keys, compacts=False)
    assert len(tries) == 1
    engine_of(graph).arena._changed_edges = graph.num_edges
    check_next_batch(graph, keys, compacts=True)


@pytest.mark.runs
def test_without_memory_to_count_the_rows_the_graph_stays_where_it_is(
    engine: str, overdue: tuple[DynamicGraph, Keys], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full arena would say that the batch was refused, which is applied by then."""
    graph, keys = overdue
    module = import_module(f"graphtide.gpu_core.{engine}.memory.arena")
    name, error = ("runs_of", MemoryError) if engine == "host" else ("count_runs", ArenaFullError)
    tries = []

    def scarce(*_: object, **__: object) -> None:
        tries.append(name)
        msg = "out of memory"
        raise error(msg)

    with monkeypatch.context() as patch:
        patch.setattr(module, name, scarce)
        keys = check_next_batch(graph, keys, compacts=False)
    assert tries == [name]
    engine_of(graph).arena._changed_edges = graph.num_edges
    check_next_batch(graph, keys, compacts=True)


@pytest.mark.runs
def test_a_compaction_that_is_cut_off_leaves_the_batch_applied(
    engine: str, overdue: tuple[DynamicGraph, Keys], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, keys = overdue
    name = "move_rows" if engine == "host" else "move_runs"
    module = import_module(f"graphtide.gpu_core.{engine}.memory.arena")

    def cut_off(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    batch, after = replacement(np.random.default_rng(8), keys)
    with monkeypatch.context() as patch:
        patch.setattr(module, name, cut_off)
        with pytest.raises(KeyboardInterrupt):
            graph.apply(batch)
    graph.verify()
    np.testing.assert_array_equal(keys_of(graph), after)
    check_next_batch(graph, after, compacts=False)


@pytest.mark.runs
def test_a_view_of_rows_that_were_laid_out_anew_is_stale(
    overdue: tuple[DynamicGraph, Keys],
) -> None:
    graph, keys = overdue
    view = graph.adjacency_view()
    check_next_batch(graph, keys, compacts=True)
    with pytest.raises(StaleViewError):
        view.neighbors(0)
