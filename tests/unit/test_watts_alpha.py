"""Watts' alpha model: the graph of its definition, choice by choice, and its two ends."""

from collections import Counter

import numpy as np
import pytest

from graphtide import DynamicGraph, SettingsError
from graphtide.gpu_core.generators.alpha_model import propensities
from graphtide.gpu_core.generators.counter_random import random_words, unit_floats
from graphtide.gpu_core.generators.watts_alpha import BY, watts_alpha_edges


def defined(
    num_vertices: int, degree: float, alpha: float, p: float, seed: int
) -> list[tuple[int, int]]:
    """Edges by the model's definition, vertices being looked at one by one."""

    def word(stream: int, number: int) -> np.ndarray:
        return random_words(seed, stream, np.array([number], dtype=np.uint64))

    adjacent: list[set[int]] = [set() for _ in range(num_vertices)]
    edges: list[tuple[int, int]] = []
    turn = 0
    while True:
        words = [int(word(0x616C7069, turn + each)[0]) for each in range(num_vertices)]
        for vertex in sorted(range(num_vertices), key=words.__getitem__):
            if len(edges) == int(num_vertices * degree / 2):
                return edges
            by_common: dict[float, list[int]] = {}
            for other in range(num_vertices):
                if other != vertex and other not in adjacent[vertex]:
                    common = len(adjacent[vertex] & adjacent[other])
                    by_common.setdefault(min(common, np.ceil(degree)), []).append(other)
            share = {
                m: p if m == 0 else 1.0 if m >= degree else (m / degree) ** alpha * (1 - p) + p
                for m in by_common
            }
            total = sum(len(by_common[m]) * share[m] for m in sorted(by_common))
            draw = unit_floats(word(0x616C7068, 2 * turn))[0] * total
            for m in sorted(by_common):
                draw -= len(by_common[m]) * share[m]
                if draw < 0:
                    rank = (int(word(0x616C7068, 2 * turn + 1)[0]) >> 32) * len(by_common[m]) >> 32
                    other = by_common[m][rank]
                    adjacent[vertex].add(other)
                    adjacent[other].add(vertex)
                    edges.append((vertex, other))
                    break
            turn += 1


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize(
    ("num_vertices", "degree", "alpha", "p"),
    [
        (40, 6, 1.0, 0.01),
        (30, 5.5, 0.0, 0.001),
        (30, 4, 7.0, 0.2),
        (9, 8, 1.0, 0.5),
        (2, 1, 1.0, 1.0),
    ],
)
def test_it_is_the_graph_of_the_definition(
    num_vertices: int, degree: float, alpha: float, p: float, by: str
) -> None:
    for seed in range(3):
        src, dst = watts_alpha_edges(num_vertices, degree, alpha, p=p, seed=seed, by=by)
        found = list(zip(src.tolist(), dst.tolist(), strict=True))
        assert found == defined(num_vertices, degree, alpha, p, seed)


def test_both_ways_grow_one_graph_also_where_threads_share_the_work() -> None:
    ways = [watts_alpha_edges(20_000, 0.02, 1.0, seed=7, by=by) for by in BY]
    ways += [watts_alpha_edges(700, 12, 2.0, by=by) for by in BY]
    for one, other in (ways[:2], ways[2:]):
        assert [each.tolist() for each in one] == [each.tolist() for each in other]


def test_a_choice_follows_the_propensities() -> None:
    """Chi-square of the last edge over seeds, against the propensities of all vertices."""
    found, expected = Counter[tuple[int, bool]](), Counter[tuple[int, bool]]()
    for seed in range(1500):
        src, dst = watts_alpha_edges(12, 3, 1.5, p=0.05, seed=seed)
        pairs = [*zip(src.tolist(), dst.tolist(), strict=True)]
        (vertex, chosen), before = pairs[-1], pairs[:-1]
        adjacent: list[set[int]] = [set() for _ in range(12)]
        for one, other in before:
            adjacent[one].add(other)
            adjacent[other].add(one)
        common = {
            other: min(len(adjacent[vertex] & adjacent[other]), 3)
            for other in range(12)
            if other != vertex and other not in adjacent[vertex]
        }
        shares = propensities(3, 1.5, 0.05)[list(common.values())]
        for (other, m), share in zip(common.items(), shares / shares.sum(), strict=True):
            # Of the upper and of the lower half of the ids: ranks are drawn evenly, too.
            expected[m, other < 6] += share
            found[m, other == chosen and other < 6] += 0
        found[common[chosen], chosen < 6] += 1
    cells = [cell for cell in expected if expected[cell] >= 5]
    chi_square = sum((found[cell] - expected[cell]) ** 2 / expected[cell] for cell in cells)
    assert len(cells) >= 6
    # The 99.99th percentile of chi-square with 7 degrees of freedom.
    assert chi_square < 29.9


def test_as_many_common_neighbors_as_the_degree_count_in_full() -> None:
    found = propensities(5.5, 2.0, 0.1)
    fewer = [0.1 + 0.9 * (common / 5.5) ** 2 for common in range(6)]
    assert found.tolist() == pytest.approx([*fewer, 1])


def test_from_caves_to_a_random_graph() -> None:
    clustering, components = [], []
    for alpha in (0.0, 3.0, 20.0):
        graph = DynamicGraph(directed=False, ids="dense", engine="host")
        graph.insert_edges(*watts_alpha_edges(300, 10, alpha))
        assert graph.num_edges == 1500
        clustering.append(graph.average_clustering())
        components.append(len(np.unique(graph.weakly_connected_components().component)))
    assert clustering[0] > 0.5 > clustering[1] > 0.2 > clustering[2]
    assert components[0] > 5
    assert components[1:] == [1, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_vertices": 0}, "num_vertices=0 cannot be drawn"),
        ({"degree": 0}, "degree=0 is not above 0 and at most 9"),
        ({"degree": 9.5}, "degree=9.5 is not above 0 and at most 9"),
        ({"alpha": -1}, "alpha=-1 is not a number from 0 on"),
        ({"alpha": float("nan")}, "alpha=nan is not a number from 0 on"),
        ({"p": 0}, "p=0 is not above 0"),
        ({"memory": "none"}, "memory='none' is unknown; use 'device' or 'host'"),
        ({"first_room": 2}, "first_room=2 is not a power of two from 4 on"),
        ({"first_room": 6}, "first_room=6 is not a power of two from 4 on"),
        ({"engine": "gpu"}, "engine='gpu' is unknown"),
        ({"by": "hand"}, "by='hand' is unknown; use 'two hops' or 'all pairs'"),
    ],
)
def test_settings_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        watts_alpha_edges(**{"num_vertices": 10, "degree": 2, "alpha": 1.0, **arguments})
