"""Random walks: along edges, as often as they should, the same on every engine."""

import pickle
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from graphs import SHAPES
from graphtide import BatchError, DynamicGraph, SettingsError, VertexNotFoundError
from graphtide.gpu_core.generators.counter_random import random_words
from graphtide.gpu_core.jit import parallel
from oracles import chance_of
from sampled import edges_by_pair, skewed_graph

#: Ways to walk, by the names of the arguments.
MODES: list[dict[str, Any]] = [
    {},
    {"weight": "weight"},
    {"time": "first"},
    {"time": "last", "weight": "weight"},
]


@pytest.mark.parametrize("shape", SHAPES[::3])
@pytest.mark.parametrize("directed", [True, False])
def test_every_step_is_an_edge_that_may_be_taken(
    engine: str, shape: dict[str, Any], directed: bool
) -> None:
    graph = skewed_graph(directed=directed, engine=engine, **shape)
    edges, starts = edges_by_pair(graph), np.repeat(graph.vertices(), 2)
    twin = skewed_graph(directed=directed, engine="host")
    following: dict[int, list[tuple[int, dict[str, Any]]]] = {}
    for (u, v), edge in edges.items():
        following.setdefault(u, []).append((v, edge))
    for mode in MODES:
        found = graph.random_walks(starts, 9, seed=5, **mode)
        assert found.walks.tolist() == twin.random_walks(starts, 9, seed=5, **mode).walks.tolist()
        assert found.walks.shape == (starts.size, 10)
        assert found.walks[:, 0].tolist() == starts.tolist()
        name = mode.get("time")
        for walk, steps in zip(found.walks.tolist(), found.lengths.tolist(), strict=True):
            assert walk[steps + 1 :] == [-1] * (9 - steps)
            time = -1
            for pair in pairwise(walk[: steps + 1]):
                edge = edges[pair]
                assert "weight" not in mode or edge["weight"] > 0
                assert name is None or edge[name] >= time
                time = edge[name] if name else time
            # A walk ends where it cannot go on, and nowhere else.
            ways = [
                edge
                for _, edge in following.get(walk[steps], [])
                if (name is None or edge[name] >= time)
                and ("weight" not in mode or edge["weight"] > 0)
            ]
            assert (steps == 9) or not ways
        assert found.lengths.max() > 3


def _shares(walks: np.ndarray, step: int) -> dict[int, int]:
    vertices, counts = np.unique(walks[:, step], return_counts=True)
    return dict(zip(vertices.tolist(), counts.tolist(), strict=True))


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ({}, {1: 1, 2: 1, 3: 1, 4: 1}),
        ({"weight": "weight"}, {1: 1, 2: 2, 4: 5}),
        ({"time": "first"}, {1: 1, 2: 1, 3: 1, 4: 1}),
        ({"time": "first", "weight": "weight"}, {1: 1, 2: 2, 4: 5}),
    ],
)
def test_steps_are_drawn_by_their_shares(mode: dict[str, Any], expected: dict[int, float]) -> None:
    graph = DynamicGraph(records="semantic", engine="host")
    graph.insert_edges([0] * 4, [1, 2, 3, 4], weight=[1, 2, 0, 5], ts=[4, 3, 2, 1])
    count = 40_000
    walks = graph.random_walks(np.zeros(count, np.int64), 1, seed=11, **mode).walks
    found = _shares(walks, 1)
    assert found.keys() == expected.keys()
    total = sum(expected.values())
    shares = [count * expected[vertex] / total for vertex in sorted(expected)]
    assert chance_of([found[vertex] for vertex in sorted(found)], shares) > 1e-3


def test_steps_by_time_and_weight_are_drawn_of_what_is_left() -> None:
    graph = DynamicGraph(records="semantic", engine="host")
    graph.insert_edges([9, 0, 0, 0], [0, 1, 2, 3], weight=[1, 8, 2, 6], ts=[5, 4, 5, 7])
    walks = graph.random_walks([9] * 20_000, 2, time="last", weight="weight", seed=3).walks
    found = _shares(walks, 2)
    assert found.keys() == {2, 3}
    assert chance_of([found[2], found[3]], [5_000, 15_000]) > 1e-3


def test_successive_steps_are_independent() -> None:
    graph = DynamicGraph(engine="host", self_loops="keep")
    graph.insert_edges(np.repeat(np.arange(4), 4), np.tile(np.arange(4), 4))
    walks = graph.random_walks([0] * 3_000, 30, seed=2).walks[:, 1:]
    pairs = np.zeros((4, 4))
    np.add.at(pairs, (walks[:, :-1].ravel(), walks[:, 1:].ravel()), 1)
    assert chance_of(pairs.ravel()) > 1e-3
    assert chance_of(np.bincount(walks[::2, 9] * 4 + walks[1::2, 9])) > 1e-3


def test_walks_of_a_seed_are_prefixes_of_longer_ones_and_of_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = skewed_graph(engine="host")
    starts = np.resize(graph.vertices(), 500)
    for mode in MODES:
        longer = graph.random_walks(starts, 12, **mode).walks
        assert graph.random_walks(starts, 5, **mode).walks.tolist() == longer[:, :6].tolist()
        fewer = graph.random_walks(starts[:20], 12, **mode).walks
        assert fewer.tolist() == longer[:20].tolist()
        assert graph.random_walks(starts, 12, seed=1, **mode).walks.tolist() != longer.tolist()
        with monkeypatch.context() as patch:
            patch.setattr(parallel, "thread_count", lambda: 1)
            assert graph.random_walks(starts, 12, **mode).walks.tolist() == longer.tolist()
        with graph.pin() as epoch:
            graph.insert_vertices([7_777])
            assert epoch.random_walks(starts, 12, **mode).walks.tolist() == longer.tolist()


def test_draws_are_the_words_of_the_generators() -> None:
    graph = DynamicGraph(ids="dense", engine="host")
    graph.insert_edges(np.repeat(0, 1_000), np.arange(1, 1_001))
    walks = graph.random_walks([0] * 50, 1, seed=21).walks
    words = random_words(21, 0x77616C6B, np.arange(50, dtype=np.uint64) << np.uint64(32))
    expected = 1 + ((words >> np.uint64(32)) * np.uint64(1_000) >> np.uint64(32)).astype(int)
    assert walks[:, 1].tolist() == expected.tolist()


def test_walks_are_tables_and_tensors(engine: str) -> None:
    graph = DynamicGraph()
    graph.insert_edges([1, 2, 3], [2, 3, 5])
    found = graph.random_walks([1, 5, 3], 3)
    assert found.walks.tolist() == [[1, 2, 3, 5], [5, -1, -1, -1], [3, 5, -1, -1]]
    assert found.lengths.tolist() == [3, 0, 1]
    assert [tuple(row) for row in found] == [
        (0, 0, 1), (0, 1, 2), (0, 2, 3), (0, 3, 5), (1, 0, 5), (2, 0, 3), (2, 1, 5),
    ]  # fmt: skip
    if found.__dlpack_device__()[0] == 1:  # host memory
        tensor = np.from_dlpack(found)
        assert tensor.dtype == np.int64
        assert np.shares_memory(tensor, found.walks)
        assert tensor.tolist() == found.walks.tolist()
    again = pickle.loads(pickle.dumps(found))
    assert again.walks.tolist() == found.walks.tolist()
    assert again.to_pandas().vertex.tolist() == found["vertex"].tolist()
    assert graph.random_walks([], 3).walks.shape == (0, 4)
    assert graph.random_walks(2, 0).walks.tolist() == [[2]]


def test_walks_of_names(engine: str) -> None:
    graph = DynamicGraph(ids="string", records="weighted")
    graph.insert_edges(["ann", "bob"], ["bob", "zoë"], weight=[1, 1])
    found = graph.random_walks(["ann", "zoë"], 3, weight="weight")
    expected = [["ann", "bob", "zoë", ""], ["zoë", "", "", ""]]
    assert found.walks.tolist() == expected
    assert pickle.loads(pickle.dumps(found)).walks.tolist() == expected
    with pytest.raises(SettingsError, match="the ids are no int64, which tensors need; use walks"):
        np.from_dlpack(found)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda graph: graph.random_walks([1, 99], 2), VertexNotFoundError, "vertex 99 is not in"),
        (lambda graph: graph.random_walks([1], -1), SettingsError, "length=-1 is not a whole"),
        (lambda graph: graph.random_walks([1], 2**31), SettingsError, "length=2147483648 is bey"),
        (lambda graph: graph.random_walks([1.5], 2), BatchError, "starts has dtype float64"),
        (lambda graph: graph.random_walks([1], 2, seed=-1), SettingsError, "seed=-1 is not"),
        (lambda graph: graph.random_walks([1], 2, weight="w"), SettingsError, "weight='w' is unk"),
        (lambda graph: graph.random_walks([1], 2, time="ts"), SettingsError, "time='ts' is unkn"),
        (
            lambda graph: graph.random_walks([1], 2, time="last"),
            SettingsError,
            "time='last' needs times; make the graph with records='semantic'",
        ),
        (
            lambda graph: graph.random_walks([1], 2, weight="weight"),
            SettingsError,
            "a walk by weight needs weights >= 0, but an edge from vertex 2 has a negative one",
        ),
    ],
)
def test_wrong_walks_are_refused(
    call: Callable[[DynamicGraph], object], error: type[Exception], message: str
) -> None:
    graph = DynamicGraph(records="weighted", engine="host")
    graph.insert_edges([1, 2], [2, 3], weight=[1, -1])
    with pytest.raises(error, match=message):
        call(graph)
    with pytest.raises(SettingsError, match="weight='weight' needs weights"):
        DynamicGraph(engine="host").random_walks([], 2, weight="weight")


def test_what_is_left_of_a_row_is_drawn_by_its_own_weights(engine: str) -> None:
    """However large the weights are of edges before, which a sum of all would be rounded to."""
    graph = DynamicGraph(records="semantic", weights="float64", engine=engine)
    graph.insert_edges([0, 1, 1, 1], [1, 2, 3, 4], weight=[1, 1e17, 1, 3], ts=[5, 1, 6, 7])
    walks = graph.random_walks([0] * 4000, 2, weight="weight", time="first", seed=1).walks
    ends, counts = np.unique(walks[:, 2], return_counts=True)
    assert ends.tolist() == [3, 4]
    assert chance_of(counts, [1000, 3000]) > 1e-4
