"""Summaries of results whose columns stay where they are: the values that their columns give."""

import math
from typing import Any

import numpy as np
import pytest

from actor_copies import computed_result
from emulated_device import EmulatedDevice
from graphs import KARATE
from graphtide import DynamicGraph
from graphtide.gpu_core import table
from graphtide.gpu_core.algorithms.analytic import Analytic
from graphtide.gpu_core.algorithms.registry import ANALYTICS
from graphtide.gpu_core.algorithms.shared.sums import sum_by_halves
from graphtide.gpu_core.cuda.analytics.parts.reductions import sums
from graphtide.gpu_core.cuda.analytics.parts.reductions.largest import largest
from graphtide.pipeline.graph_worker.batch_results import ResultRequest

analytics = pytest.mark.parametrize("analytic", ANALYTICS.values(), ids=list(ANALYTICS))


#: Where the defaults do not converge on graphs with hubs.
PARAMETERS = {"katz_centrality": {"alpha": 0.01}}


def scattered(**kind: Any) -> DynamicGraph:
    """A graph whose ids do not grow with their indices, with gaps, hubs and equal vertices."""
    draw = np.random.default_rng(7)
    graph = DynamicGraph(directed=False, **kind)
    src, dst = draw.integers(0, 60, (2, 400)) ** 2 * 97 % 1009 - 300
    graph.insert_edges(src, dst)
    graph.insert_edges(np.full(40, 2000), np.arange(3000, 3040))
    graph.delete_vertices(np.unique(src)[:9])
    return graph


def karate() -> DynamicGraph:
    """Zachary's club."""
    graph = DynamicGraph(directed=False)
    graph.insert_edges(*np.array(KARATE).T)
    return graph


GRAPHS = {
    "empty": lambda: DynamicGraph(directed=False),
    "karate": karate,
    "scattered": scattered,
    "no-dictionary": lambda: _circle(ids="dense"),
}


def _circle(**kind: Any) -> DynamicGraph:
    """All ranks are equal but for what rounding makes of them; two indices are of no vertex."""
    graph = DynamicGraph(directed=False, **kind)
    graph.insert_edges(np.arange(40), np.roll(np.arange(40), 1))
    graph.delete_vertices([0, 3])
    return graph


@analytics
@pytest.mark.parametrize("name", GRAPHS)
def test_a_summary_is_the_same_with_columns_and_without(
    analytic: Analytic, name: str, engine: str
) -> None:
    graph = GRAPHS[name]()
    given = {**analytic.example, **PARAMETERS.get(analytic.name, {})}
    if analytic.needs.unmet(directed=False, has_weights=False) is not None:
        pytest.skip("it needs a directed or a weighted graph")
    result = graph.compute(analytic.name, **given)
    brief, whole = (
        computed_result(ResultRequest(analytic.name, given, given, written), result)
        for written in (None, "whole")
    )
    of_columns = {**analytic.summary(whole.columns, given), **whole.figures}
    assert brief.summary == whole.summary == of_columns
    assert list(map(type, brief.summary.values())) == list(map(type, of_columns.values()))
    assert brief.columns is None


@pytest.mark.parametrize("name", ["clustering", "pagerank", "katz_centrality"])
def test_columns_are_not_fetched_for_a_summary(
    name: str, engine: str, is_emulated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = scattered()
    if not is_emulated:
        pytest.skip("copies are counted on the emulated device alone")
    result = graph.compute(name, **PARAMETERS.get(name, {}))
    fetched = []
    for copy in ("to_host", "to_locked_host", "read_words"):
        real = getattr(EmulatedDevice, copy)
        monkeypatch.setattr(
            EmulatedDevice, copy, lambda self, a, real=real: fetched.append(a.size) or real(self, a)
        )
    computed_result(ResultRequest(name, {}, {}, None), result)
    assert fetched, "the summary was not made on the device"
    assert max(fetched) <= 10 < graph.num_vertices


def test_average_clustering_has_the_same_bits_on_every_engine(engine: str) -> None:
    found = scattered().clustering()
    on_host = scattered(engine="host").clustering()
    assert (found.average, found.transitivity) == (on_host.average, on_host.transitivity)
    assert found.average == pytest.approx(math.fsum(on_host.clustering) / len(on_host), rel=1e-15)


def test_of_equal_ranks_the_smaller_ids_are_ranked_first(engine: str) -> None:
    graph = DynamicGraph(directed=False)
    graph.insert_edges([90, 70, -50, 30], [80, 60, 40, 20])
    assert [vertex for vertex, _ in graph.pagerank().ranked(5)] == [-50, 20, 30, 40, 60]
    assert len(graph.pagerank().ranked(20)) == 8


@pytest.mark.parametrize("count", [1, 256, 257, 3000])
@pytest.mark.parametrize("k", [1, 7])
def test_the_largest_on_the_device_are_those_on_the_host(
    emulated_device: EmulatedDevice, count: int, k: int
) -> None:
    """Over several blocks, with equal values, keys in any order, and vertices that are absent."""
    draw = np.random.default_rng(count)
    values = draw.integers(-3, 400, count) / 8.0
    values[draw.random(count) < 0.1] = np.nan
    keys = draw.permutation(np.arange(count) * 5 - 1000)
    present = np.flatnonzero(values >= 0)
    present = present[np.argsort(keys[present])]
    expected = present[table.largest(values[present], k)]
    found_keys, found = largest(emulated_device, values, keys, k, least=0.0)
    assert found_keys.tolist() == keys[expected].tolist()
    assert found.tolist() == values[expected].tolist()


def test_absent_vertices_have_no_rank_however_many_are_asked_for(engine: str) -> None:
    graph = _circle(ids="dense")
    ranked = graph.pagerank().ranked(60)
    assert {vertex for vertex, _ in ranked} == set(range(40)) - {0, 3}
    assert len(ranked) == 38


@pytest.mark.parametrize("name", ["bfs", "sssp", "core_number", "spmv"])
def test_results_of_any_type_are_ranked_as_their_tables(engine: str, name: str) -> None:
    """Hops are int32, and of vertices that cannot be reached the distance is infinite."""
    graph = DynamicGraph(directed=False, records="weighted")
    graph.insert_edges([5, 6, 7, 7, 50], [6, 7, 8, 5, 51], weight=[0.5, 2, 0.25, 1, 1])
    given = {"bfs": (5,), "sssp": (5,), "core_number": (), "spmv": (np.arange(6) - 1e3,)}[name]
    result = getattr(graph, name)(*given)
    column = result.columns[list(result.columns)[1]]
    top = result.top(8, list(result.columns)[1])
    rows = zip(top["vertex"].tolist(), top[list(result.columns)[1]].tolist(), strict=True)
    expected = [row for row in rows if math.isfinite(row[1])]
    assert result.ranked(8) == expected
    assert len(expected) == int(np.isfinite(column).sum()) > 0
    assert result.ranked(2) == expected[:2]


def test_vertices_are_ranked_by_the_names_that_users_have(engine: str) -> None:
    graph = DynamicGraph(directed=False, ids="string")
    graph.insert_edges(["hub"] * 9, list("abcdefghi"))
    assert graph.pagerank().ranked(1)[0][0] == "hub"


def _by_halves(values: np.ndarray) -> float:
    padded = np.zeros(1 << max(values.size - 1, 0).bit_length())
    padded[: values.size] = values
    while padded.size > 1:
        padded = padded[: padded.size // 2] + padded[padded.size // 2 :]
    return float(padded[0])


@pytest.mark.parametrize("size", [0, 1, 2, 1023, 1024, 1025, 32768, 32769, 70_001])
def test_a_device_adds_up_in_the_same_order(device: Any, size: int) -> None:
    values = np.random.default_rng(size).random(size) * 1e9
    total = device.empty(1, np.float64)
    sums.sum_by_halves(device, device.to_device(values), total)
    assert device.to_host(total)[0] == sum_by_halves(values) == _by_halves(values)


@pytest.mark.parametrize("size", [*range(20), 63, 64, 65, 1000])
def test_a_sum_by_halves_adds_the_upper_half_to_the_lower_one(size: int) -> None:
    values = np.random.default_rng(size).random(size) * 1e9
    before = values.copy()
    assert sum_by_halves(values) == _by_halves(values)
    assert np.array_equal(values, before), "the values were changed"
