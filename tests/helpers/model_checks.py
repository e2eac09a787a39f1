"""A graph against the model that its rows were applied to one by one."""

import itertools
from typing import Any

import numpy as np

from graphtide import DynamicGraph
from oracles import FATES, KEPT, OF_BATCHES, ModelGraph, Row


def model_of(meaning: dict[str, Any]) -> ModelGraph:
    return ModelGraph(**{name: meaning[name] for name in OF_BATCHES if name in meaning})


def expected_report(model: ModelGraph, rows: list[Row]) -> dict[str, int]:
    """Apply rows to the model; the report's counts, net effects as differences of the graphs."""
    vertices, edges = set(model.vertices), set(model.edges)
    counts = model.apply(rows)
    return {name: counts[name] for name in ("rows", *FATES)} | {
        "edges_added": len(model.edges.keys() - edges),
        "edges_removed": len(edges - model.edges.keys()),
        "vertices_created": len(model.vertices - vertices),
        "vertices_removed": len(vertices - model.vertices),
        "num_vertices": len(model.vertices),
        "num_edges": len(model.edges),
    }


def edges_of(graph: DynamicGraph) -> list[tuple[Any, ...]]:
    edges = graph.edges()
    columns = [edges.src, edges.dst, *(edges.properties[name] for name in KEPT[graph.records])]
    assert list(edges.properties) == list(KEPT[graph.records])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def check_same(graph: DynamicGraph, model: ModelGraph) -> None:
    """Everything that can be asked of a graph, against the model."""
    vertices = sorted(model.vertices)
    assert graph.vertices().tolist() == vertices
    assert (graph.num_vertices, graph.num_edges) == (len(vertices), len(model.edges))
    assert edges_of(graph) == model.canonical_edges()
    outward: dict[int, set[int]] = {vertex: set() for vertex in vertices}
    inward: dict[int, set[int]] = {vertex: set() for vertex in vertices}
    for src, dst in model.edges:
        outward[src].add(dst)
        inward[dst].add(src)
        if not model.directed:
            outward[dst].add(src)
            inward[src].add(dst)
    assert graph.degrees().tolist() == [len(outward[vertex]) for vertex in vertices]
    if graph.reverse:
        assert graph.in_degrees().tolist() == [len(inward[vertex]) for vertex in vertices]
    for vertex in vertices[:3]:
        assert graph.neighbors(vertex).tolist() == sorted(outward[vertex])
        if graph.reverse:
            assert graph.predecessors(vertex).tolist() == sorted(inward[vertex])
    asked = [*vertices[:8], 4, -12345]
    assert graph.has_vertices(asked).tolist() == [vertex in model.vertices for vertex in asked]
    pairs = list(itertools.product(asked, asked))
    known = graph.has_edges([src for src, _ in pairs], [dst for _, dst in pairs])
    assert known.tolist() == [model.key(*pair) in model.edges for pair in pairs]
    edges = graph.edges()
    records = graph.edge_records(edges.src[::-1], edges.dst[::-1])
    assert list(records.columns) == list(edges.columns)
    for name, column in edges.columns.items():
        assert records[name].dtype == column.dtype
        assert records[name].tolist() == column[::-1].tolist()
    csr = graph.to_csr()
    assert csr.vertices.tolist() == vertices
    assert np.diff(csr.indptr).tolist() == [len(outward[vertex]) for vertex in vertices]
    assert csr.vertices[csr.indices].tolist() == [
        other for vertex in vertices for other in sorted(outward[vertex])
    ]


def check_accounts(graph: DynamicGraph) -> None:
    memory = graph.memory()
    assert sum(memory.regions.values()) == memory.arena_bytes <= memory.limit_bytes
    assert min(memory.regions.values()) >= 0
    paged = ("adjacencies", "dictionary", "vertex ids", "vertex queue", "page queue")
    held = sum(memory.regions[name] for name in (*paged, "free-run trees"))
    assert held == memory.pages_used * memory.page_bytes
    assert memory.largest_free_run <= memory.pages_free
