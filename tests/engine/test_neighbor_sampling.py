"""Neighbor sampling: edges of the graph, seen before, as often as they should; on every engine."""

import math
import pickle
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from graphs import SHAPES
from graphtide import BatchError, DynamicGraph, SettingsError, VertexNotFoundError
from graphtide.gpu_core.face.samples import in_host_memory
from graphtide.gpu_core.generators.counter_random import stream_start
from graphtide.gpu_core.host.analytics.sampling.draws import exponential
from graphtide.gpu_core.jit import parallel
from oracles import chance_of
from sampled import edges_by_pair, skewed_graph

#: Ways to sample, by the names of the arguments.
MODES: list[dict[str, Any]] = [
    {"fanouts": [4, 3, 2]},
    {"fanouts": [3, 3], "replace": True},
    {"fanouts": [4, 3], "weight": "weight"},
    {"fanouts": [3, 3], "weight": "weight", "replace": True},
    {"fanouts": [3, 3], "before": 20},
    {"fanouts": [3, 3], "before": 20, "time": "last", "weight": "weight"},
    {"fanouts": [3, 3], "before": 9, "replace": True},
    {"fanouts": [-1, 2], "before": 30},
    {"fanouts": [2, -1]},
]


def _candidates(edges: dict[tuple[int, int], Any], mode: dict[str, Any], end: int) -> Counter[int]:
    """For each vertex, how many edges end (1) or begin (0) there that may be sampled."""
    return Counter(
        pair[end]
        for pair, edge in edges.items()
        if ("weight" not in mode or edge["weight"] > 0)
        and ("before" not in mode or edge[mode.get("time", "first")] < mode["before"])
    )


@pytest.mark.parametrize("shape", [each for each in SHAPES if each["reverse"]][::2])
@pytest.mark.parametrize("direction", ["in", "out", "undirected", "undirected out"])
def test_samples_are_whole_and_of_edges_that_may_be_drawn(
    engine: str, shape: dict[str, Any], direction: str
) -> None:
    directed, along = not direction.startswith("undirected"), direction.split()[-1]
    graph = skewed_graph(directed=directed, engine=engine, **shape)
    twin = skewed_graph(directed=directed, engine="host")
    edges, given = edges_by_pair(graph), graph.vertices()[::7]
    of = {} if along == "undirected" else {"direction": along}
    # Which end of an edge is expanded.
    end = 0 if along == "out" else 1
    for mode in MODES:
        sample = graph.sample_neighbors(given, **mode, **of, seed=3)
        same = twin.sample_neighbors(given, **mode, **of, seed=3)
        assert sample.edge_index.tolist() == same.edge_index.tolist()
        assert sample.vertices.tolist() == same.vertices.tolist()
        assert sample.vertices[: given.size].tolist() == given.tolist()
        assert np.unique(sample.vertices).size == sample.vertices.size
        assert sum(sample.vertices_per_hop) == sample.vertices.size
        candidates = _candidates(edges, mode, end)
        # Hop by hop, what the hop before has found is expanded, and nothing else.
        first, last, at = 0, given.size, 0
        for hop, fanout in enumerate(mode["fanouts"]):
            count = sample.edges_per_hop[hop]
            rows = sample.edge_index[:, at : at + count]
            drawn: dict[int, list[int]] = {}
            for pair in rows.T.tolist():
                drawn.setdefault(pair[end], []).append(pair[1 - end])
            assert set(drawn) <= set(range(first, last))
            for position in range(first, last):
                there = candidates[int(sample.vertices[position])]
                expected = min(there, fanout) if fanout >= 0 else there
                if mode.get("replace"):
                    expected = fanout if there else 0
                else:
                    assert len(set(drawn.get(position, []))) == len(drawn.get(position, []))
                assert len(drawn.get(position, [])) == expected
            at += count
            first, last = last, last + sample.vertices_per_hop[hop + 1]
            assert rows.max(initial=0) < last
        assert at == sample.edge_index.shape[1]
        for pair in zip(sample.src.tolist(), sample.dst.tolist(), strict=True):
            edge = edges[pair]
            assert "weight" not in mode or edge["weight"] > 0
            assert "before" not in mode or edge[mode.get("time", "first")] < mode["before"]


def test_each_tree_has_a_time_of_its_own(engine: str) -> None:
    graph = skewed_graph(engine=engine)
    given = np.repeat(graph.vertices()[1::9], 2)
    before = np.resize([3, 25, 0, 40], given.size)
    first = {pair: edge["first"] for pair, edge in edges_by_pair(graph).items()}
    sample = graph.sample_neighbors(given, [3, 2], disjoint=True, before=before, seed=1)
    assert sample.batch is not None
    assert sample.batch[: given.size].tolist() == list(range(given.size))
    assert sample.vertices[: given.size].tolist() == given.tolist()
    tree = sample.batch[sample.edge_index]
    assert (tree[0] == tree[1]).all()
    pairs = zip(sample.src.tolist(), sample.dst.tolist(), strict=True)
    assert all(first[pair] < before[t] for pair, t in zip(pairs, tree[0].tolist(), strict=True))
    both = np.stack([sample.batch, sample.vertices])
    assert np.unique(both, axis=1).shape == both.shape
    assert np.isin(np.flatnonzero(before == 0), tree).sum() == 0
    assert len(sample) > 100
    alone = graph.sample_neighbors(given, [3, 2], disjoint=True, before=25, seed=1)
    assert max(first[tuple(pair)] for pair in zip(alone.src, alone.dst, strict=True)) == 24


def _star(weights: list[float], **kind: Any) -> DynamicGraph:
    graph = DynamicGraph(records="semantic", engine="host", **kind)
    leaves = np.arange(1, len(weights) + 1)
    graph.insert_edges(leaves, np.zeros_like(leaves), weight=weights, ts=leaves)
    return graph


def _drawn(graph: DynamicGraph, fanout: int, count: int, **mode: Any) -> list[tuple[int, ...]]:
    """What is drawn of vertex 0, again and again."""
    sample = graph.sample_neighbors([0] * count, [fanout], disjoint=True, **mode)
    return [tuple(row) for row in sample.src.reshape(count, -1).tolist()]


@pytest.mark.parametrize("mode", [{}, {"before": 6}])
def test_every_subset_is_drawn_alike(mode: dict[str, Any]) -> None:
    # Of five neighbors, whatever time the sixth has.
    graph = _star([1.0] * (6 if mode else 5))
    found = Counter(tuple(sorted(each)) for each in _drawn(graph, 3, 20_000, seed=4, **mode))
    subsets = list(combinations(range(1, 6), 3))
    assert found.keys() == set(subsets)
    assert chance_of([found[each] for each in subsets]) > 1e-3


def test_hops_draw_independently_of_each_other() -> None:
    """Each tree expands as many vertices in both hops, in the same order."""
    first, second = np.arange(1, 5), np.arange(5, 9)
    graph = DynamicGraph(engine="host")
    graph.insert_edges(first, np.zeros_like(first))
    graph.insert_edges(np.repeat(second, 4), np.tile(first, 4))
    sample = graph.sample_neighbors([0] * 20_000, [1, 1], disjoint=True, seed=5)
    drawn = sample.src.reshape(2, -1)
    found = Counter(zip(*drawn.tolist(), strict=True))
    assert len(found) == 16
    assert chance_of(list(found.values())) > 1e-3


@pytest.mark.parametrize("mode", [{}, {"before": 5}])
def test_draws_with_replacement_are_independent(mode: dict[str, Any]) -> None:
    graph = _star([1.0] * (6 if mode else 4))
    found = Counter(_drawn(graph, 2, 20_000, seed=9, replace=True, **mode))
    assert len(found) == 16
    assert chance_of(list(found.values())) > 1e-3


def test_an_exponential_number_is_a_logarithm() -> None:
    words = np.random.default_rng(5).integers(0, 2**64, 200, np.uint64, endpoint=False)
    # The smallest and the largest, too: neither 0 nor infinite.
    for word in (np.uint64(0), *words, np.uint64(2**64 - 1)):
        unit = ((int(word) >> 12) * 2 + 1) / 2**53
        assert exponential.py_func(word) == pytest.approx(-math.log(unit), rel=1e-13, abs=0)


def test_weights_are_shares_with_and_without_replacement() -> None:
    weights = [1.0, 0.0, 2.0, 5.0]
    graph, count = _star(weights), 30_000
    one = Counter(_drawn(graph, 2, count, seed=6, weight="weight", replace=True))
    pairs = [(a, b) for a in (1, 3, 4) for b in (1, 3, 4)]
    shares = [count * weights[a - 1] * weights[b - 1] / 64 for a, b in pairs]
    assert one.keys() == set(pairs)
    assert chance_of([one[pair] for pair in pairs], shares) > 1e-3
    # The second one by the weights that are left.
    two = Counter(_drawn(graph, 2, count, seed=7, weight="weight"))
    pairs = [(a, b) for a, b in pairs if a != b]
    shares = [count * weights[a - 1] / 8 * weights[b - 1] / (8 - weights[a - 1]) for a, b in pairs]
    assert two.keys() == set(pairs)
    assert chance_of([two[pair] for pair in pairs], shares) > 1e-3


def test_samples_are_those_of_the_seed_whatever_else(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = skewed_graph(engine="host")
    given = graph.vertices()[::7]
    for mode in MODES:
        sample = graph.sample_neighbors(given, seed=8, **mode)
        other = graph.sample_neighbors(given, seed=9, **mode)
        assert sample.edge_index.tolist() != other.edge_index.tolist()
        with monkeypatch.context() as patch:
            patch.setattr(parallel, "thread_count", lambda: 1)
            again = graph.sample_neighbors(given, seed=8, **mode)
        assert again.edge_index.tolist() == sample.edge_index.tolist()
        with graph.pin() as epoch:
            graph.insert_edges([1], [2], ts=[1])
            again = epoch.sample_neighbors(given, seed=8, **mode)
            assert again.edge_index.tolist() == sample.edge_index.tolist()
            graph.delete_edges([1], [2])


def test_times_are_those_of_the_graph_as_it_is(engine: str) -> None:
    graph = DynamicGraph(records="semantic")
    may, july = np.array(["2024-05-01", "2024-07-01"], "M8[us]")
    graph.insert_edges([1], [0], ts=[may])
    before = datetime(2024, 6, 1, tzinfo=UTC)
    assert graph.sample_neighbors(0, [5], before=before).src.tolist() == [1]
    graph.insert_edges([1, 2], [0, 0], ts=[july, july])
    assert graph.sample_neighbors(0, [5], before=before).src.tolist() == [1]
    assert graph.sample_neighbors(0, [5], before=before, time="last").src.tolist() == []
    assert sorted(graph.sample_neighbors(0, [5], before="2024-07-02").src.tolist()) == [1, 2]


@pytest.mark.parametrize("direction", ["in", "out"])
def test_a_time_beyond_int64_is_after_all_times(engine: str, direction: str) -> None:
    graph = DynamicGraph(records="semantic")
    graph.insert_edges([1, 2, 0, 0], [0, 0, 1, 2], ts=[2**63 - 1, 5] * 2)
    graph.insert_edges([3, 0], [0, 3], ts=[-(2**63)] * 2)
    found = [
        sorted(graph.sample_neighbors(0, [5], direction=direction, before=each).vertices.tolist())
        for each in (2**63, 10**30, 2**63 - 1, -(10**30), -(2**63), 1 - 2**63)
    ]
    assert found == [[0, 1, 2, 3], [0, 1, 2, 3], [0, 2, 3], [0], [0], [0, 3]]


def test_samples_are_tables_and_tensors(engine: str) -> None:
    graph = DynamicGraph(ids="string")
    graph.insert_edges(["ann", "zoë"], ["bob", "ann"])
    sample = graph.sample_neighbors(["bob"], [2, 2, 2])
    assert [tuple(row) for row in sample] == [(1, "ann", "bob"), (2, "zoë", "ann")]
    assert (sample.vertices_per_hop, sample.edges_per_hop) == ([1, 1, 1, 0], [1, 1, 0])
    for array in (sample.edge_index, graph.sample_neighbors(["bob"], [2], disjoint=True).batch):
        tensor = np.from_dlpack(array)
        assert np.shares_memory(tensor, array)
        assert array.dtype == np.int64
        assert array.flags.c_contiguous
    with pytest.raises(SettingsError, match="the ids are no int64, which tensors need"):
        sample.where_made()
    assert sample.to_pandas().src.tolist() == ["ann", "zoë"]
    assert pickle.loads(pickle.dumps(sample)).src.tolist() == ["ann", "zoë"]
    nothing = graph.sample_neighbors([], [3, 3])
    assert nothing.edge_index.shape == (2, 0)
    assert (nothing.vertices_per_hop, nothing.edges_per_hop) == ([0, 0, 0], [0, 0])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"vertices": [99]}, VertexNotFoundError, "vertex 99 is not in the graph"),
        ({"vertices": [1, 1]}, SettingsError, "vertices names a vertex more than once; name it"),
        ({"vertices": ["a"]}, BatchError, "vertices has dtype"),
        ({"fanouts": 5}, SettingsError, "fanouts=5 are no numbers of edges, one a hop"),
        ({"fanouts": []}, SettingsError, r"fanouts=\[\] are no numbers"),
        ({"fanouts": [-2]}, SettingsError, "fanouts=-2 is not a whole number, 0 or more"),
        ({"fanouts": [-1], "replace": True}, SettingsError, "replace=True draws a number of"),
        ({"direction": "both"}, SettingsError, "direction='both' is unknown; use one of in, out"),
        ({"direction": "in"}, SettingsError, "needs the reverse adjacency"),
        ({"time": "ts", "before": 1}, SettingsError, "time='ts' is unknown"),
        ({"time": 5}, SettingsError, "time=5 is unknown; use one of first, last"),
        ({"before": [1]}, SettingsError, "before has 1 times; give one, or with disjoint=True"),
        (
            {"before": [-(2**63), 1], "vertices": [1, 2], "disjoint": True},
            SettingsError,
            "which is the least time that there is",
        ),
        ({"before": [1, 2], "disjoint": True}, SettingsError, "for each of the 1 vertices"),
        ({"before": "soon"}, BatchError, "'soon' is no time"),
        ({"weight": "weight"}, SettingsError, "a sample by weight needs weights >= 0, but an edge"),
        ({"weight": "weight", "replace": True}, SettingsError, "needs weights >= 0, but an edge"),
        ({"weight": "weight", "fanouts": [-1]}, SettingsError, "needs weights >= 0, but an edge"),
    ],
)
def test_wrong_samples_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    graph = DynamicGraph(records="semantic", reverse=False, engine="host")
    graph.insert_edges([1, 1, 2], [2, 3, 3], weight=[-1, 4, 1], ts=[1, 1, 2])
    given = {"vertices": [1], "fanouts": [2], "direction": "out"} | arguments
    with pytest.raises(error, match=message):
        graph.sample_neighbors(**given)
    with pytest.raises(SettingsError, match="time='first' needs times; make the graph with"):
        DynamicGraph(engine="host").sample_neighbors([], [1], before=5)


@pytest.mark.parametrize("replace", [False, True])
def test_weights_that_add_up_to_no_number_are_not_drawn_by(engine: str, replace: bool) -> None:
    graph = DynamicGraph(engine=engine, records="weighted64")
    graph.insert_edges([1, 1], [2, 3], weight=[1e308, 1e308])
    with pytest.raises(SettingsError, match="weights"):
        graph.sample_neighbors([1], [1], direction="out", weight="weight", replace=replace)


@pytest.mark.parametrize("ids", ["any", "dense"])
def test_arrays_where_they_were_made_stay_what_the_sample_is(engine: str, ids: str) -> None:
    graph = DynamicGraph(engine=engine, ids=ids)
    graph.insert_edges([7, 9, 9, 4], [1, 1, 7, 9])
    sample = graph.sample_neighbors([1, 7], [2, 2], disjoint=True, seed=2)
    # Vertices that are looked up after a batch would be others.
    graph.delete_vertices([9, 1])
    graph.insert_edges([5], [3])
    made = sample.where_made()
    assert in_host_memory(made.vertices).tolist() == sample.vertices.tolist()
    assert in_host_memory(made.edge_index).tolist() == sample.edge_index.tolist()
    assert sample.batch is not None
    assert in_host_memory(made.batch).tolist() == sample.batch.tolist()
    pairs = zip(sample.src.tolist(), sample.dst.tolist(), strict=True)
    assert set(pairs) == {(7, 1), (9, 1), (9, 7), (4, 9)}


def test_a_hub_is_sampled_at_random_places() -> None:
    graph = DynamicGraph(engine="host")
    graph.insert_edges(np.arange(1, 100_001), np.zeros(100_000, np.int64))
    sample = graph.sample_neighbors([0] * 2_000, [10], disjoint=True)
    counts = np.histogram(sample.src, np.linspace(0, 100_001, 21))[0]
    assert chance_of(counts) > 1e-3
    assert len(sample) == 20_000


@pytest.mark.parametrize("name", ["random_walks", "sample_neighbors"])
def test_seeds_of_any_size_are_taken(name: str) -> None:
    graph = DynamicGraph(engine="host")
    graph.insert_edges([1, 2], [2, 1])
    call: Callable[..., Any] = getattr(graph, name)
    rest: Any = 3 if name == "random_walks" else [3]
    assert len(call([1], rest, seed=2**70)) > 0


def test_seeds_are_told_apart_by_all_their_bits() -> None:
    seeds = [0, 1, 2**63, 2**64 - 1, 2**64, 2**64 + 1, 2**70, 2**128, 2**200 + 5, 5]
    assert len({int(stream_start(seed, 3)) for seed in seeds}) == len(seeds)
    # What was drawn stays so.
    assert int(stream_start(7, 3)) == 9_458_330_621_802_958_762
