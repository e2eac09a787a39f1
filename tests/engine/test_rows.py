"""Rows of a graph, live and pinned, on every engine and layout: the CSR of the graph."""

from typing import Any

import numpy as np
import pytest

from graphtide import DynamicGraph
from graphtide.gpu_core.algorithms.shared.adjacencies import adjacencies_of
from graphtide.gpu_core.layouts import LAYOUTS
from graphtide.gpu_core.records import RECORDS
from graphtide.gpu_core.rows import Rows
from graphtide.testing import engine_of
from pairs import in_pairs

pytestmark = pytest.mark.usefixtures("engine")

KINDS = [
    {"directed": directed, "reverse": reverse, "storage": storage, "ids": ids}
    for directed, reverse in ((True, True), (True, False), (False, True))
    for storage, ids in (("soa", "any"), ("aos", "dense"))
]


def changed_graph(layout: str, records: str, kind: dict[str, Any]) -> DynamicGraph:
    """Rows of many lengths, empty ones among them, absent vertices and isolated ones."""
    rng = np.random.default_rng(5)
    graph = DynamicGraph(
        layout=layout, records=records, self_loops="keep" if kind["directed"] else "drop", **kind
    )
    for _ in range(3):
        src = np.append(rng.integers(0, 200, 600), np.full(90, 7))
        dst = rng.integers(0, 200, 690)
        weight = None if records == "simple" else rng.random(690)
        ts = np.arange(690) if RECORDS[records].has_times else None
        graph.insert_edges(src, dst, weight=weight, ts=ts)
        graph.delete_vertices(rng.integers(0, 200, 9))
    graph.insert_vertices([3, 250])
    return graph


def host(array: Any) -> np.ndarray:
    return array if isinstance(array, np.ndarray) else array.get()


def entries_of(rows: Rows) -> list[tuple[list[int], list[float]]]:
    """Neighbors and weights of each row, read as `Rows` says."""
    degrees = host(rows.degree)

    def read(base: Any, begin: Any) -> list[list[Any]]:
        words, begins = host(base), host(begin).tolist()
        return [
            words[first + rows.step * np.arange(degree)].tolist()
            for first, degree in zip(begins, degrees.tolist(), strict=True)
        ]

    neighbors = read(rows.columns, rows.begin)
    if rows.weights is None:
        return [(row, []) for row in neighbors]
    return list(zip(neighbors, read(rows.weights, rows.weight_begin), strict=True))


@in_pairs(layout=LAYOUTS, records=RECORDS, kind=KINDS)
def test_rows_are_the_csr_of_the_graph(layout: str, records: str, kind: dict[str, Any]) -> None:
    graph = changed_graph(layout, records, kind)
    reader = engine_of(graph)
    everyone = np.arange(reader.vertex_count)
    present = reader.present()
    for direction in ["out", "in"] if graph.reverse else ["out"]:
        expected: dict[int, list[tuple[int, float]]] = {vertex: [] for vertex in everyone.tolist()}
        indptr, columns, properties = reader.csr(everyone)
        sources = np.repeat(everyone, np.diff(indptr))
        weights = properties.get("weight", np.zeros(columns.size, np.float32))
        for src, dst, weight in zip(
            *(each.tolist() for each in (sources, columns, weights)), strict=True
        ):
            row, column = (src, dst) if direction == "out" or not graph.directed else (dst, src)
            expected[row].append((column, weight))
        weighted = records != "simple"
        for rows in (
            reader.rows(direction),
            reader.rows(direction, weighted=weighted),
            reader.pinned_rows(direction, weighted=weighted),
        ):
            assert rows.count == reader.vertex_count
            assert (rows.num_entries, rows.num_vertices) == (columns.size, present.sum())
            assert host(rows.present).tolist() == present.tolist()
            assert host(rows.degree).dtype == np.uint32
            assert host(rows.begin).dtype == np.int64
            read = entries_of(rows)
            for vertex, entries in expected.items():
                neighbors, found = read[vertex]
                assert neighbors == [column for column, _ in sorted(entries)]
                if rows.weights is not None:
                    assert rows.weights.dtype == RECORDS[records].weights
                    assert found == [weight for _, weight in sorted(entries)]
            if rows.indptr is not None:
                ends = np.cumsum(host(rows.degree), dtype=np.int64)
                assert host(rows.indptr).tolist() == [0, *ends.tolist()]
                assert rows.step == 1
            if rows.in_pairs:
                assert not (host(rows.begin)[host(rows.degree) > 0] % 2).any()
        assert rows.indptr is not None, "pinned rows have no gaps"


def test_live_rows_are_made_once_between_two_batches() -> None:
    graph = changed_graph("runs", "weighted", KINDS[0])
    reader = engine_of(graph)
    without = entries_of(reader.rows("out"))
    rows = reader.rows("out", weighted=True)
    assert rows.weights is not None
    assert [neighbors for neighbors, _ in entries_of(rows)] == [each for each, _ in without]
    assert reader.rows("out") is rows
    before = host(rows.degree).copy()
    pinned = reader.pinned_rows("out")
    graph.delete_vertices(graph.vertices()[::2])
    assert reader.rows("out") is not rows
    assert host(reader.rows("out").degree).sum() == graph.num_edges
    assert host(pinned.degree).tolist() == before.tolist()


def test_an_undirected_graph_has_one_direction_and_a_directed_one_may_have() -> None:
    for kind, has_into in ((KINDS[0], True), (KINDS[2], False), (KINDS[4], True)):
        adjacencies = adjacencies_of(engine_of(changed_graph("runs", "simple", kind)))
        assert adjacencies.directed == kind["directed"]
        assert (adjacencies.into is not None) == has_into
        assert (adjacencies.into is adjacencies.out) == (not kind["directed"])
