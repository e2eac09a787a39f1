"""Programs of the user's own, on every engine: against the built-in algorithms, and Python."""

import math
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulated_device import EmulatedDevice
from graphs import SHAPES, from_networkx_graph, random_graphs
from graphtide import DynamicGraph, Program, SettingsError, VertexNotFoundError
from graphtide.gpu_core.programs.library import (
    components_program,
    distances_program,
    hops_program,
    pagerank_program,
)
from graphtide.gpu_core.programs.run import run_program
from image_engine import ImageEngine, changed_graph, make_graph, skewed_edges, star_edges

DIRECTIONS = ("auto", "push", "pull")


@given(
    source=st.booleans().flatmap(lambda directed: random_graphs(directed=directed, weighted=True)),
    shape=st.sampled_from(SHAPES),
    direction=st.sampled_from(DIRECTIONS),
    records=st.sampled_from(["simple", "weighted", "weighted64"]),
    data=st.data(),
)
@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_library_computes_what_the_built_in_algorithms_do(
    engine: str,
    source: nx.Graph,
    shape: dict[str, object],
    direction: str,
    records: str,
    data: st.DataObject,
) -> None:
    graph = from_networkx_graph(source, engine=engine, records=records, **shape)
    start = data.draw(st.sampled_from(sorted(source)))
    searched: dict[str, Any] = {"active": start, "direction": direction}
    found = graph.run_program(hops_program(), {start: 0}, default=-1, **searched)
    assert found.value.tolist() == graph.bfs(start).distance.tolist()
    assert found.num_active == 0
    found = graph.run_program(distances_program(), {start: 0}, default=math.inf, **searched)
    assert found.value.tolist() == graph.sssp(start).distance.tolist()
    for values, expected in ((graph.vertices(), graph.weakly_connected_components().component),):
        found = graph.run_program(components_program(), values, direction=direction)
        assert found.value.tolist() == expected.tolist()
    ranks = graph.run_program(pagerank_program(), 1 / graph.num_vertices, tolerance=1e-10).value
    np.testing.assert_allclose(ranks, graph.pagerank(tol=1e-10).pagerank, rtol=0, atol=1e-9)
