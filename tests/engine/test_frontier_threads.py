"""Operators on frontiers give the same in any order of threads, in three launches."""

import math
from typing import Any

import numpy as np
import pytest

from emulated_device import EmulatedDevice
from graphtide import DynamicGraph
from graphtide.gpu_core.jit import parallel
from graphtide.gpu_core.programs.frontier import make_frontier
from graphtide.gpu_core.programs.traversals import hops_traversal
from graphtide.gpu_core.programs.vertex_state import Origin, VertexState
from graphtide.testing import engine_of
from image_engine import ImageEngine, changed_graph, make_graph, star_edges


def odd(source_x, weight, target_n):
    """Nothing, both zeros, and numbers."""
    if target_n % 3 == 0:
        return math.sqrt(-1.0 - weight)
    return -0.0 if target_n % 3 == 1 else source_x * weight / 3


def large(source_n, target_x, bits):
    return (source_n * 6_364_136_223_846_793_005 + bits) if target_x < 2 else 0


def shaken(x, n, degree):
    return x / (n % 2), n + degree, x < 0.5


def outcome(reader: Any, values: np.ndarray, direction: str) -> list[Any]:
    """What some calls leave of a graph, bit by bit."""
    origin = Origin(lambda: reader, lambda ids: ids)
    state = VertexState(origin, {"x": values, "n": np.arange(values.size), "is_low": False})
    frontier = make_frontier(origin, direction, None)
    left: list[Any] = []

    def note(found: Any) -> None:
        left.append(found.vertices.tolist())
        left.extend(state[name].tobytes() for name in ("x", "n", "is_low"))

    for combine in ("min", "max", "min"):
        note(frontier.for_edges(odd, state, combine=combine, into="x"))
        told = {"bits": 12_345}
        frontier = frontier.for_edges(large, state, combine="sum", into="n", numbers=told)
        note(frontier)
        note(frontier.for_vertices(shaken, state, into=("x", "n", "is_low")))
        frontier = frontier.filter(lambda is_low, n: not is_low or n < 0, state)
        note(frontier)
    return left


@pytest.mark.parametrize("direction", ["out", "both"])
def test_the_engines_agree_to_the_bit_with_any_number_of_threads(
    emulated_device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch, direction: str
) -> None:
    """A hub of 2,500 neighbors, whose row is cut into pieces; in any order of threads."""
    kind = {"directed": True, "reverse": True, "records": "weighted"}
    for graph in (make_graph(star_edges(2_500), **kind), changed_graph(**kind)):
        values = np.sin(graph.vertices())
        by_threads = []
        for threads in (1, 4):
            monkeypatch.setattr(parallel, "thread_count", lambda count=threads: count)
            by_threads.append(outcome(engine_of(graph), values, direction))
        assert by_threads[0] == by_threads[1]
        on_device = ImageEngine(emulated_device, graph)
        for seed in range(2):
            emulated_device.shuffle = seed
            assert outcome(on_device, values, direction) == by_threads[0]


def test_a_call_is_three_launches_however_long_rows_are(emulated_device: EmulatedDevice) -> None:
    graph = make_graph(star_edges(2_500), directed=False)
    engine = ImageEngine(emulated_device, graph)
    origin = Origin(lambda: engine, lambda ids: ids)
    state = VertexState(origin, {"degree_of": graph.degrees(), "hops": 0})
    frontier = make_frontier(origin, "out", None).filter(lambda hops: hops == 0, state)
    begin = len(emulated_device.launches)
    reached = frontier.for_edges(
        lambda source_degree_of: source_degree_of, state, combine="max", into="hops"
    )
    assert len(reached) == graph.num_vertices
    assert sorted(state["hops"])[-2:] == [2_500, 2_500]
    found = [kernel for _, kernel in emulated_device.launches[begin:]]
    assert found == ["queue_frontier", "send_messages", "take_messages"]


def test_no_message_is_lost_between_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """All threads at once combine what they send into one vertex."""
    monkeypatch.setattr(parallel, "thread_count", lambda: 4)
    leaves = np.arange(1, 400_001)
    graph = DynamicGraph(engine="host", directed=True)
    graph.insert_edges(leaves, np.zeros_like(leaves))
    state = graph.vertex_state(n=0, least=graph.vertices() + 0.5)
    frontier = graph.frontier()
    for calls in range(1, 41):
        changed = frontier.for_edges(lambda: 1, state, combine="sum", into="n")
        assert (changed.vertices.tolist(), state["n"][0]) == ([0], calls * leaves.size)
    frontier.for_edges(lambda source_least: -source_least, state, combine="min", into="least")
    assert state["least"][0] == -400_000.5


def test_vertices_that_any_thread_has_reached_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "thread_count", lambda: 4)
    graph, leaves = DynamicGraph(engine="host", ids="dense"), np.arange(1, 6_001)
    graph.insert_edges(np.zeros_like(leaves), leaves)
    graph.insert_edges(leaves, leaves + leaves.size)
    hops = hops_traversal(graph, 0)["hops"]
    assert np.array_equal(hops, np.repeat([0, 1, 2], [1, leaves.size, leaves.size]))


def test_messages_of_a_call_that_breaks_off_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = DynamicGraph.from_edges([1, 2], [2, 3], engine="host")
    state = graph.vertex_state(n=[5, 6, 7])
    twin: Any = engine_of(graph).algorithms.operators

    def sends_and_breaks_off(_workspace: None, _call: Any, _vertices: Any, inbox: Any) -> None:
        inbox.combined[:], inbox.has[:] = -9, 1
        raise KeyboardInterrupt

    def step(source_n):
        return source_n

    graph.frontier().for_edges(step, state, combine="min", into="n")
    with monkeypatch.context() as patch:
        patch.setattr(twin, "for_edges", sends_and_breaks_off)
        with pytest.raises(KeyboardInterrupt):
            graph.frontier().for_edges(step, state, combine="min", into="n")
    assert state["n"].tolist() == [5, 5, 6]
    reached = graph.frontier().for_edges(step, state, combine="min", into="n")
    assert state["n"].tolist() == [5, 5, 5]
    assert reached.vertices.tolist() == [3]
