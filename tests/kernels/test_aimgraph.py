"""aimGraph's updates, in each distribution of their work, against a set of edges."""

from typing import Any

import numpy as np
import pytest

from commands import fails, graphtide_here
from emulated_device import EmulatedDevice
from graphtide.flows.bench.measuring import report
from graphtide.flows.study.aimgraph import aimgraphs, distributions
from graphtide.gpu_core.cuda.aimgraph.aimgraph import DISTRIBUTIONS, AimGraph, SortedUpdates
from graphtide.gpu_core.cuda.device.compile import variants
from graphtide.gpu_core.errors import ArenaFullError

VERTICES = 24
PAGE_BYTES = 16  # three entries
HUBS = (0, 7)


def drawn_keys(random: np.random.Generator, count: int) -> set[int]:
    """Edges, many of them of two hubs, whose rows have many pages."""
    sources = np.where(
        random.random(count) < 0.6, random.choice(HUBS, count), random.integers(0, VERTICES, count)
    )
    return {
        int(src) << 32 | int(dst)
        for src, dst in zip(sources, random.integers(0, 60, count), strict=True)
    }


def as_keys(device: Any, keys: set[int]) -> Any:
    return device.to_device(np.array(sorted(keys), np.uint64))


def updates(device: Any, inserted: set[int], deleted: set[int]) -> SortedUpdates:
    return SortedUpdates.of(device.xp, as_keys(device, inserted), as_keys(device, deleted))


def check(device: Any, graph: AimGraph, expected: set[int]) -> None:
    """Its edges are these, and each page is of a row or in the queue."""
    keys = device.to_host(graph.keys())
    assert keys.tolist() == sorted(expected)
    front, back, queued, used = device.to_host(graph._counters).tolist()
    _, _, neighbors, slots = device.to_host(graph._records).reshape(VERTICES, 4).T
    degrees = np.bincount(keys.astype(np.int64) >> 32, minlength=VERTICES)
    assert neighbors.tolist() == degrees.tolist()
    assert back - front == queued
    pages = (-(-slots.astype(np.int64) // 3)).sum()
    assert graph.pages_of_rows == used - queued == pages, "a page is lost, or of two rows"
    if graph.compacts:
        assert slots.tolist() == neighbors.tolist()
    else:
        assert back == 0, "a page was given back"
    waiting = device.to_host(graph._queue)
    waiting = waiting[waiting != 0xFFFFFFFF]
    assert waiting.size == np.unique(waiting).size == queued


def make_graph(device: Any, edges: set[int], room: int = 500, *, compacts: bool = True) -> AimGraph:
    keys = as_keys(device, edges)
    return AimGraph(
        device, keys, vertices=VERTICES, page_bytes=PAGE_BYTES, room=room, compacts=compacts
    )


compaction = pytest.mark.parametrize("compacts", [True, False], ids=["compacted", "marked"])


@compaction
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_batches_leave_the_edges_that_a_set_has(device: Any, name: str, compacts: bool) -> None:
    """Among them inserts of what is there, deletes of what is not; in one launch and in two."""
    random = np.random.default_rng(5)
    edges = drawn_keys(random, 150)
    graph = make_graph(device, edges, compacts=compacts)
    check(device, graph, edges)
    for launches in (1, 2, 1, 2, 1):
        inserted = drawn_keys(random, 60)
        deleted = (set(random.permutation(sorted(edges))[:50].tolist()) | drawn_keys(random, 8)) - (
            inserted
        )
        if launches == 1:
            graph.update(updates(device, inserted, deleted), DISTRIBUTIONS[name])
        else:
            graph.update(updates(device, set(), deleted), DISTRIBUTIONS[name])
            graph.update(updates(device, inserted, set()), DISTRIBUTIONS[name])
        edges = edges - deleted | inserted
        check(device, graph, edges)
    graph.update(updates(device, set(), edges), DISTRIBUTIONS[name])
    check(device, graph, set())
    graph.update(updates(device, inserted, set()), DISTRIBUTIONS[name])
    check(device, graph, inserted)


@compaction
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_what_deletes_leave_in_a_row_is_given_back_or_taken_again(
    device: Any, name: str, compacts: bool
) -> None:
    edges = set(range(30))
    graph = make_graph(device, edges, compacts=compacts)
    way = DISTRIBUTIONS[name]
    graph.update(updates(device, set(), set(range(5, 26))), way)
    assert graph.pages_of_rows == (3 if compacts else 10)
    graph.update(updates(device, set(range(40, 60)), {0}), way)
    assert graph.pages_of_rows == 10
    check(device, graph, edges - set(range(5, 26)) - {0} | set(range(40, 60)))
    graph.update(updates(device, set(range(5, 8)), set()), way)
    assert graph.pages_of_rows == 11


@compaction
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", ["warp an update", "4 lanes a row"])
def test_items_of_one_row_wait_for_one_another(
    emulated_device: EmulatedDevice, name: str, seed: int, compacts: bool
) -> None:
    """In whatever order threads come."""
    device = emulated_device
    device.shuffle = seed
    random = np.random.default_rng(seed)
    edges, inserted = drawn_keys(random, 60), drawn_keys(random, 40)
    graph = make_graph(device, edges, compacts=compacts)
    graph.update(updates(device, inserted, edges - inserted), DISTRIBUTIONS[name])
    check(device, graph, inserted)


def test_work_items_are_the_pages_of_rows_in_their_order(device: Any) -> None:
    edges = {source << 32 | target for source in (0, 3) for target in range(7)} | {5 << 32 | 1}
    graph = make_graph(device, edges)
    rows = device.to_device(np.array([5, 0, 1], np.uint32))
    before, row_of, pages = map(device.to_host, graph.work_items(rows))
    assert before.tolist() == [0, 1, 4, 4]
    assert row_of.tolist() == [0, 1, 1, 1]
    assert pages.tolist() == [6, 0, 1, 2]


def test_missing_pages_are_told(device: Any) -> None:
    graph = make_graph(device, {1}, room=2)
    graph.update(updates(device, set(range(2, 7)), set()), DISTRIBUTIONS["thread a row"])
    assert graph.keys().size == 6
    graph.update(updates(device, set(range(7, 30)), set()), DISTRIBUTIONS["thread a row"])
    with pytest.raises(ArenaFullError, match="and there are 3; make more room"):
        graph.keys()


def test_each_distribution_has_its_form_of_the_kernels() -> None:
    assert {each["LANES"] for each in variants("aimgraph.cu")} == {
        each.lanes for each in DISTRIBUTIONS.values()
    }


@pytest.mark.parametrize("options", [(), ("--no-compaction",)])
def test_the_study_prints_tables_of_exact_graphs(
    device: Any, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    del device  # the CUDA engine works on it
    monkeypatch.setattr(aimgraphs, "resolve_engine", lambda _engine: "cuda")
    monkeypatch.setattr(distributions, "_SIZES", (40,))
    monkeypatch.setattr(report, "machine", lambda _arm: "a device")
    done = graphtide_here("study", "distributions", "G2", "--smaller", 11, "--repeats", 1, *options)
    assert (done.returncode, done.stderr) == (0, "")
    for line in ("| G2 | insert | 40 |", "| G2 | both, two | 80 |", "G2: "):
        assert line in done.stdout
    pages = [line for line in done.stdout.splitlines() if line.startswith("| G2 | half of")]
    compacted, marked, chain = (int(n.replace(",", "")) for n in pages[0].split("|")[-4:-1])
    assert compacted == chain < marked


def test_a_distribution_is_chosen_by_its_name(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    del device  # the CUDA engine works on it
    monkeypatch.setattr(aimgraphs, "resolve_engine", lambda _engine: "cuda")
    monkeypatch.setattr(distributions, "_SIZES", (40,))
    monkeypatch.setattr(report, "machine", lambda _arm: "a device")
    words = "study", "distributions", "G2", "--smaller", 11, "--repeats", 1
    done = graphtide_here(*words, "--distribution", "warp a row", "--distribution", "thread a page")
    head = "| graph | what | updates | warp a row | thread a page | chain (ours) |"
    assert head in done.stdout
    assert '--distribution "warp a row" --distribution "thread a page"' in done.stdout
    fails(graphtide_here(*words, "--distribution", "wrap"), 2, "distribution 'wrap' is unknown")


def test_without_a_gpu_the_study_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aimgraphs, "resolve_engine", lambda _engine: "host")
    fails(
        graphtide_here("study", "distributions"), 1, "study distributions: this study needs a GPU"
    )
