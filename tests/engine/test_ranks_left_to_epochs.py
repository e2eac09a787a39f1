"""PageRank that is left to epochs: found beside later batches, with the same bits."""

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from exact_ranks import exact_ranks
from graphtide import DynamicGraph, SettingsError
from graphtide.gpu_core.epoch import Epoch
from graphtide.testing import engine_of

pytestmark = pytest.mark.usefixtures("engine")

KINDS = {"undirected": {"directed": False}, "directed": {}}
BATCHES = 6


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> dict[str, Any]:
    kind: dict[str, Any] = KINDS[request.param]
    return kind


def batches(graph: DynamicGraph) -> Iterator[int]:
    """Apply one batch after the other, with vertices that come, go, and come back."""
    draw = np.random.default_rng(3)
    graph.insert_edges(*draw.integers(0, 120, (2, 500)))
    graph.maintain("pagerank")
    for batch in range(BATCHES):
        graph.insert_edges(*draw.integers(0, 130 + 5 * batch, (2, 12)))
        graph.delete_edges(*draw.integers(0, 120, (2, 5)))
        if batch in (2, 4):
            graph.delete_vertices(draw.integers(0, 120, 3))
        yield batch


def ranks_at_once(kind: dict[str, Any], asked: Callable[[int], bool]) -> dict[int, bytes]:
    """Ranks after the batches that are asked after, without an epoch."""
    graph = DynamicGraph(**kind)
    return {n: graph.pagerank().pagerank.tobytes() for n in batches(graph) if asked(n)}


@pytest.mark.parametrize("most", [1, 3])
def test_ranks_of_epochs_read_late_have_the_bits_of_ranks_found_at_once(
    kind: dict[str, Any], most: int
) -> None:
    graph = DynamicGraph(**kind)
    epochs: dict[int, Epoch] = {}
    found: dict[int, bytes] = {}

    def read_oldest() -> None:
        batch = min(epochs)
        with epochs.pop(batch) as epoch:
            result = epoch.pagerank()
            found[batch] = result.pagerank.tobytes()
            apart = np.abs(result.pagerank - exact_ranks(epoch, alpha=0.85)).sum()
            assert apart <= result.error_bound

    for batch in batches(graph):
        epochs[batch] = graph.pin(settles="later")
        if len(epochs) > most:
            read_oldest()
    while epochs:
        read_oldest()
    assert found == ranks_at_once(kind, lambda batch: True)
    assert graph.pagerank().pagerank.tobytes() == found[BATCHES - 1], "the graph has them too"


def test_a_graph_that_is_asked_first_finds_what_its_epochs_find(kind: dict[str, Any]) -> None:
    graph = DynamicGraph(**kind)
    expected = ranks_at_once(kind, lambda batch: True)
    epochs = []
    for batch in batches(graph):
        epochs.append(graph.pin(settles="later"))
        if batch in (3, BATCHES - 1):  # those of epochs that nobody has asked are found by that
            assert graph.pagerank().pagerank.tobytes() == expected[batch]
    for batch, epoch in enumerate(epochs):
        with epoch:
            assert epoch.pagerank().pagerank.tobytes() == expected[batch]


def test_epochs_that_are_closed_unasked_leave_no_trace(engine: str, kind: dict[str, Any]) -> None:
    """A run that asks for ranks after every third batch, and for something else after each."""

    def is_asked(batch: int) -> bool:
        return batch % 3 == 1

    graph = DynamicGraph(**kind)
    found, epochs = {}, []
    for batch in batches(graph):
        epochs.append(graph.pin(settles="later"))
        if batch % 2:
            while epochs:
                with epochs.pop(0) as epoch:
                    number = batch - len(epochs)
                    if is_asked(number):
                        found[number] = epoch.pagerank().pagerank.tobytes()
    expected = ranks_at_once(kind, is_asked)
    if engine == "cuda":  # the host's are brought up to date as epochs are pinned
        assert found == expected
    assert found.keys() == expected.keys()


def test_epochs_may_be_closed_in_any_order(kind: dict[str, Any]) -> None:
    """Ranks start from those of the newest epoch before that can find some."""
    graph = DynamicGraph(**kind)
    epochs = []
    for batch in batches(graph):
        if batch in (2, 3):
            epochs.append(graph.pin(settles="later"))
        if batch == 3:
            epochs[1].close()
    ranks = graph.pagerank()
    apart = np.abs(ranks.pagerank - exact_ranks(graph, alpha=0.85)).sum()
    assert apart <= ranks.error_bound
    with epochs[0] as first:
        again = first.pagerank()
    expected = ranks_at_once(kind, lambda batch: batch == 2)
    assert again.pagerank.tobytes() == expected[2]


def test_epochs_that_nobody_asks_are_passed_over_however_many() -> None:
    """Each is pinned while the one before is open, as in a run that is asked for other results."""
    graph = DynamicGraph(directed=False)
    graph.insert_edges([0, 1, 2], [1, 2, 3])
    graph.maintain("pagerank")
    before = None
    for batch in range(30):
        graph.insert_edges([batch], [batch + 5])
        epoch = graph.pin(settles="later")
        if before is not None:
            before.close()
        before = epoch
    kept: Any = engine_of(graph).maintained["pagerank"]
    links, link = 0, getattr(kept, "_ranks", None)
    while link is not None and not link.is_there:
        links, link = links + 1, link._before
    assert links <= 3
    assert before is not None
    with before:
        assert before.pagerank().pagerank.tobytes() == graph.pagerank().pagerank.tobytes()


@pytest.mark.parametrize("is_collected", [False, True])
def test_ranks_of_a_graph_that_has_gone_are_no_start(
    engine: str, kind: dict[str, Any], is_collected: bool
) -> None:
    def ranks(**settles: Any) -> bytes:
        graph = DynamicGraph(**kind)
        graph.insert_edges([0, 1, 2, 0], [1, 2, 3, 3])
        graph.maintain("pagerank")
        graph.delete_vertices([0, 1, 2, 3])
        graph.pin(**settles).close()
        if is_collected:
            gc.collect()
        graph.insert_edges([0, 1, 2, 4, 5], [1, 2, 4, 5, 0])
        return graph.pagerank().pagerank.tobytes()

    assert ranks(settles="later") == ranks(settles=True)


def test_other_words_are_refused() -> None:
    graph = DynamicGraph()
    with pytest.raises(SettingsError, match="settles='Later' is unknown"):
        graph.pin(settles="Later")  # type: ignore[arg-type]


@pytest.mark.parametrize("is_read", [False, True])
def test_a_checkpoint_has_what_the_epoch_before_it_finds(
    kind: dict[str, Any], is_read: bool
) -> None:
    graph, other = DynamicGraph(**kind), DynamicGraph(**kind)
    for _ in zip(batches(graph), batches(other), strict=True):
        with graph.pin(settles="later") as epoch, other.pin() as settled:
            if is_read:
                epoch.pagerank()
            with graph.pin(settles=False) as checkpoint:
                arrays = checkpoint.checkpoint_arrays()
            expected = settled.checkpoint_arrays()
    assert arrays.keys() == expected.keys()
    for name, array in expected.items():
        assert array.tobytes() == arrays[name].tobytes(), name
    restored = DynamicGraph.from_checkpoint_arrays(arrays, **kind)
    assert restored.pagerank().pagerank.tobytes() == other.pagerank().pagerank.tobytes()


def test_ranks_are_found_while_batches_are_applied(kind: dict[str, Any]) -> None:
    graph = DynamicGraph(**kind)
    found: dict[int, bytes] = {}
    reading: threading.Thread | None = None

    def read(batch: int, epoch: Epoch, before: threading.Thread | None) -> None:
        if before is not None:
            before.join()
        with epoch:
            found[batch] = epoch.pagerank().pagerank.tobytes()

    for batch in batches(graph):
        epoch = graph.pin(settles="later")
        reading = threading.Thread(target=read, args=(batch, epoch, reading))
        reading.start()
    assert reading is not None
    reading.join()
    assert found == ranks_at_once(kind, lambda batch: True)


def test_ranks_that_no_steps_find_are_those_of_before(
    engine: str, kind: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "host":
        pytest.skip("the host's are brought up to date as epochs are pinned")
    graph = DynamicGraph(**kind)
    expected = ranks_at_once(kind, lambda batch: batch != 4)
    found = {}
    for batch in batches(graph):
        with graph.pin(settles="later") as epoch:
            kept: Any = epoch._reader.maintained["pagerank"]
            if batch == 4:
                kept.max_iter = 1
                with pytest.raises(Exception, match="did not converge"):
                    epoch.pagerank(max_iter=1)
            else:
                found[batch] = epoch.pagerank().pagerank.tobytes()
    assert found == expected
