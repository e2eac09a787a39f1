"""Programs give the same on every engine, in any order of threads, for rows of every length."""

import math
from typing import Any

import numpy as np
import pytest

from emulated_device import EmulatedDevice
from graphtide import DynamicGraph, Program
from graphtide.gpu_core.jit import parallel
from graphtide.gpu_core.programs.library import distances_program, hops_program, pagerank_program
from graphtide.gpu_core.programs.run import PIECE, RunOptions, run_program
from image_engine import ImageEngine, changed_graph, make_graph, star_edges


def noisy_or(one: float, other: float) -> float:
    return one + other - one * other


def infected() -> Program:
    """Chance that a vertex is reached, of edges that fail: sums that round by their order."""

    def edge(source_value, weight):
        return source_value * weight * 0.3

    def vertex(old, message, superstep):
        new = old + message - old * message
        return new, superstep < 3

    return Program(edge, noisy_or, vertex, value="float64", message="float32")


@pytest.mark.parametrize("reverse", [True, False])
def test_the_engines_agree_to_the_bit_on_rows_of_every_length(
    emulated_device: EmulatedDevice, reverse: bool
) -> None:
    """Hubs of more pieces than a block has warps, of two and of one; in any order of threads."""
    kind = {"directed": True, "reverse": reverse, "records": "weighted"}
    hubs = star_edges(9_000)
    leaf = hubs[1][:9_000]
    few, fewer = leaf[:1_500], leaf[:PIECE]
    others = np.concatenate([few, fewer]), np.repeat([8, 9], [few.size, fewer.size])
    many = make_graph(tuple(map(np.concatenate, zip(hubs, others, strict=True))), **kind)
    for graph in (many, changed_graph(**kind)):
        on_device = ImageEngine(emulated_device, graph)
        first = graph.vertices()[::5].tolist()
        tasks: list[tuple[Program, Any, dict[str, Any]]] = [
            (infected(), dict.fromkeys(first, 0.25), {"default": 0.0, "active": first}),
            (pagerank_program(), 1 / graph.num_vertices, {"tolerance": 1e-9}),
        ]
        for program, values, keywords in tasks:
            expected = graph.run_program(program, values, **keywords)
            options = RunOptions(tolerance=keywords.pop("tolerance", None))
            for seed in range(2):
                emulated_device.shuffle = seed
                found = run_program(on_device, program, values, **keywords, options=options)
                assert found.value.tobytes() == expected.value.tobytes()
                assert (found.supersteps, found.pulled) == (expected.supersteps, expected.pulled)


def test_pushed_and_pulled_is_the_same_in_any_order_of_threads(
    emulated_device: EmulatedDevice,
) -> None:
    graph = changed_graph(directed=True, reverse=True, records="weighted64")
    on_device = ImageEngine(emulated_device, graph)
    start = int(graph.vertices()[40])
    expected = graph.sssp(start).distance.tolist()
    for seed, direction in enumerate(("auto", "push", "pull")):
        emulated_device.shuffle = seed
        found = run_program(
            on_device, distances_program(), {start: 0.0}, default=math.inf, active=start,
            options=RunOptions(direction=direction),
        )  # fmt: skip
        assert found.value.tolist() == expected
        assert found.pulled == {"push": 0, "pull": found.supersteps}.get(direction, found.pulled)


def test_a_superstep_goes_on_whichever_thread_has_its_vertices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parallel, "thread_count", lambda: 4)
    path = np.arange(6_000)
    graph = DynamicGraph(engine="host", ids="dense")
    graph.insert_edges(path[:-1], path[1:])
    found = graph.run_program(
        hops_program(), {5_990: 0}, default=-1, active=[5_990], direction="pull"
    )
    assert found.value[5_988:].tolist() == [-1, -1, *range(10)]
    assert found.pulled == found.supersteps > 9


def test_sums_over_several_blocks_of_vertices_are_whole() -> None:
    """Rank of leaves without out-edges, and what a superstep changes."""
    leaves = np.arange(1, 6_001)
    graph = DynamicGraph(engine="host", ids="dense")
    graph.insert_edges(np.zeros_like(leaves), leaves)
    found = graph.run_program(pagerank_program(), 1 / graph.num_vertices, tolerance=1e-10)
    np.testing.assert_allclose(found.value, graph.pagerank(tol=1e-10).pagerank, rtol=1e-8)
    ring = np.arange(6_000)
    graph = DynamicGraph(engine="host", ids="dense")
    graph.insert_edges(ring, np.roll(ring, 1))
    found = graph.run_program(pagerank_program(), {5_900: 1.0}, default=0.0, tolerance=1e-4)
    # The first superstep changes 2 in sum, mostly near its one vertex, and each that follows 0.85
    # of that.
    assert found.supersteps == 62
