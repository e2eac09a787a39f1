"""Maintained components on a device: levels of many blocks, pieces of rows, orders of threads."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from emulated_device import EmulatedDevice
from graphtide import DynamicGraph, UpdateBatch
from graphtide.gpu_core.algorithms.maintained.maintained_components import MaintainedComponents
from graphtide.gpu_core.cuda.analytics.maintained import maintained_components
from graphtide.testing import engine_of

NAME = "weakly_connected_components"


@pytest.fixture(autouse=True)
def repairs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much a batch changes, it is followed."""
    monkeypatch.setattr(MaintainedComponents, "always_repairs", True)


def check(graph: DynamicGraph) -> None:
    """Compare with components from nothing, and look at every level."""
    plain = graph.copy(engine="host")
    plain.unmaintain(NAME)
    kept: Any = engine_of(graph).maintained[NAME]
    begun = kept.begun
    found, expected = graph.weakly_connected_components(), plain.weakly_connected_components()
    assert kept.begun == begun, "searched anew"
    assert found.component.tobytes() == expected.component.tobytes()
    graph.audit()


def random_batches(directed: bool, rng: np.random.Generator, batches: int) -> Iterator[UpdateBatch]:
    """Insert edges, then delete a third of those that are there and insert others."""
    edges = rng.integers(0, 90, (60, 2))
    yield UpdateBatch.from_rows(None, *edges.T, directed=directed)
    for _ in range(batches):
        is_gone = rng.random(len(edges)) < 0.3
        new = rng.integers(0, 90, (20, 2))
        rows = np.concatenate([edges[is_gone], new])
        ops = np.repeat([-1, 1], [is_gone.sum(), len(new)]).astype(np.int8)
        yield UpdateBatch.from_rows(ops, *rows.T, directed=directed)
        edges = np.concatenate([edges[~is_gone], new])


def followed(graph: DynamicGraph, rng: np.random.Generator, batches: int) -> None:
    """Apply random batches, and check the graph after each."""
    for batch in random_batches(graph.directed, rng, batches):
        graph.apply(batch)
        check(graph)


@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("directed", [False, True])
def test_the_order_of_threads_does_not_show(
    directed: bool, order: int, emulated_device: EmulatedDevice
) -> None:
    emulated_device.shuffle = order
    graph = DynamicGraph(engine="cuda", directed=directed)
    graph.maintain(NAME)
    followed(graph, np.random.default_rng(order), 6)


@pytest.mark.parametrize("most", [0, 3])
def test_levels_are_small_or_a_launch_each(
    most: int, emulated_device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few levels go with the first launches: the host starts what is left."""
    monkeypatch.setattr(maintained_components, "small_level", lambda _: np.uint64(most))
    emulated_device.shuffle = 1
    graph = DynamicGraph(engine="cuda", directed=False)
    graph.insert_edges(np.arange(20), np.arange(1, 21))
    graph.maintain(NAME)
    graph.insert_edges([0], [20])
    # Half of a cycle is to be reached from its other end, and is cut off then.
    for where in (15, 4):
        graph.delete_edges([where], [where + 1])
        check(graph)
    followed(graph, np.random.default_rng(1), 3)


def test_rows_of_several_pieces(emulated_device: EmulatedDevice) -> None:
    leaves = np.arange(1100)
    graph = DynamicGraph(engine="cuda", directed=False, ids="dense")
    # The root is the first hub, whose star is larger; the other one is cut off, and joined again.
    graph.insert_edges(np.zeros(1200, np.int64), np.arange(2, 1202))
    graph.insert_edges(np.ones(leaves.size, np.int64), 1300 + leaves)
    graph.insert_edges([0], [1])
    graph.maintain(NAME)
    graph.delete_edges([0], [1])
    assert graph.weakly_connected_components().num_components == 2
    check(graph)
    graph.insert_edges([5], [1300])
    assert graph.weakly_connected_components().num_components == 1
    check(graph)


def test_an_end_is_looked_at_whose_other_one_is_lost_before(
    emulated_device: EmulatedDevice,
) -> None:
    """Warps that come later see that the lower end has no level any more."""
    stems = np.arange(1, 71)
    leaves, tips, ends = (stems + 70 * step for step in (1, 2, 3))
    graph = DynamicGraph(engine="cuda", directed=False, ids="dense")
    for pair in ((0 * stems, stems), (stems, leaves), (stems, tips), (tips, ends)):
        graph.insert_edges(*pair)
    graph.maintain(NAME)
    graph.delete_edges(np.concatenate([0 * stems, stems]), np.concatenate([stems, tips]))
    assert graph.weakly_connected_components().num_components == 1 + 2 * stems.size
    check(graph)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.usefixtures("emulated_device")
def test_either_engine_goes_on_where_the_other_was(
    directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Levels of a GPU prove components on the host, and the other way round."""
    graph = DynamicGraph(engine="cuda", directed=directed)
    graph.maintain(NAME)
    monkeypatch.setattr(MaintainedComponents, "begin", lambda *_: pytest.fail("anew"))
    for number, batch in enumerate(random_batches(directed, np.random.default_rng(7), 15)):
        graph.apply(batch)
        if number % 4 == 0:
            # From here both go on by themselves, and every fourth batch the other one is taken.
            other = graph.copy(engine="host" if graph.engine == "cuda" else "cuda")
            graph, other = other, graph
            assert graph.maintained == (NAME,)
        else:
            other.apply(batch)
        found = [each.weakly_connected_components().component for each in (graph, other)]
        assert found[0].tobytes() == found[1].tobytes()
    monkeypatch.undo()
    graph.audit()
