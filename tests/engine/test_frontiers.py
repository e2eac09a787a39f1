"""Operators on frontiers, on every engine: against the built-in algorithms, and plain Python."""

import doctest
import math
import re
import runpy
from pathlib import Path
from types import ModuleType
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphs import SHAPES, from_networkx_graph, random_graphs
from graphtide import (
    DynamicGraph,
    EpochClosedError,
    SettingsError,
    StaleViewError,
    VertexNotFoundError,
)
from graphtide.gpu_core.face import graph_programs
from graphtide.gpu_core.programs import frontier as frontiers
from graphtide.gpu_core.programs import operators
from graphtide.gpu_core.programs.traversals import (
    components_traversal,
    cores_traversal,
    distances_traversal,
    hops_traversal,
    label_of,
)

DOCS = Path(__file__).parents[2] / "docs"

RELAXED = settings(
    deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


# It draws layouts by itself.
@pytest.mark.runs
@pytest.mark.parametrize("algorithm", ["hops", "by weight", "components", "cores"])
@given(
    source=st.booleans().flatmap(lambda directed: random_graphs(directed=directed, weighted=True)),
    shape=st.sampled_from(SHAPES),
    records=st.sampled_from(["simple", "weighted", "weighted64"]),
    data=st.data(),
)
@RELAXED
def test_traversals_compute_what_the_built_in_algorithms_do(
    engine: str,
    algorithm: str,
    source: nx.Graph,
    shape: dict[str, object],
    records: str,
    data: st.DataObject,
) -> None:
    if algorithm in ("components", "cores"):
        shape = {**shape, "reverse": True}
        source.remove_edges_from(list(nx.selfloop_edges(source)))
    graph = from_networkx_graph(source, engine=engine, records=records, **shape)
    start = data.draw(st.sampled_from(sorted(source)))
    found, expected = {
        "hops": lambda: (hops_traversal(graph, start)["hops"], graph.bfs(start).distance),
        "by weight": lambda: (
            distances_traversal(graph, start)["distance"],
            graph.sssp(start).distance,
        ),
        "components": lambda: (
            components_traversal(graph, graph.vertices())["label"],
            graph.weakly_connected_components().component,
        ),
        "cores": lambda: (cores_traversal(graph)["core"], graph.core_number().core_number),
    }[algorithm]()
    assert found.tolist() == expected.tolist()


def mixed(source_a, target_a, target_b, weight, degree, num_vertices, shift):
    """Of all that a function may be told."""
    sent = source_a * 3 - target_a + int(weight * 4) * degree
    if target_b:
        return sent + num_vertices
    return sent - shift


# It draws layouts by itself.
@pytest.mark.runs
@given(
    source=st.booleans().flatmap(lambda directed: random_graphs(directed=directed, weighted=True)),
    shape=st.sampled_from([shape for shape in SHAPES if shape["reverse"]]),
    direction=st.sampled_from(["out", "in", "both"]),
    combine=st.sampled_from(["min", "max", "sum"]),
    data=st.data(),
)
@RELAXED
def test_messages_are_those_of_plain_python(
    engine: str,
    source: nx.Graph,
    shape: dict[str, object],
    direction: str,
    combine: str,
    data: st.DataObject,
) -> None:
    graph = from_networkx_graph(source, engine=engine, records="weighted", **shape)
    vertices = graph.vertices().tolist()
    numbers = st.lists(st.integers(-9, 9), min_size=len(vertices), max_size=len(vertices))
    a = dict(zip(vertices, data.draw(numbers), strict=True))
    b = {vertex: value > 0 for vertex, value in a.items()}
    active = data.draw(st.lists(st.sampled_from(vertices), unique=True))
    edges = [(u, v, w) for u, v, w in source.edges(data="weight")]
    if direction == "in" and source.is_directed():
        edges = [(v, u, w) for u, v, w in edges]
    elif not source.is_directed() or direction == "both":
        edges += [(v, u, w) for u, v, w in edges]
    degree = {vertex: sum(u == vertex for u, _, _ in edges) for vertex in vertices}
    expected = dict(a)
    for u, v, w in edges:
        if u in active:
            sent = mixed(a[u], a[v], b[v], w, degree[u], len(vertices), 2)
            chosen = {"min": min, "max": max, "sum": lambda one, other: one + other}[combine]
            expected[v] = chosen(expected[v], sent)

    state = graph.vertex_state(a=list(a.values()), b=list(b.values()))
    frontier = graph.frontier(active, direction=direction)
    changed = frontier.for_edges(mixed, state, combine=combine, into="a", numbers={"shift": 2})
    assert state["a"].tolist() == [expected[vertex] for vertex in vertices]
    assert changed.vertices.tolist() == [each for each in vertices if expected[each] != a[each]]
    assert changed.direction == direction
    kept = graph.frontier().filter(lambda a, b: b and a % 2 == 0, state)
    assert kept.vertices.tolist() == [v for v in vertices if b[v] and expected[v] % 2 == 0]


def test_one_state_takes_messages_of_every_kind_and_an_edge_sends_one(engine: str) -> None:
    """Without directions, "both" are one."""
    graph = DynamicGraph(directed=False, engine=engine)
    graph.insert_edges([1, 2], [2, 3])
    state = graph.vertex_state(n=[1, 5, -7], x=[-0.0, 0.0, 1.0])
    every = graph.frontier(direction="both")
    for combine, expected in (("min", [1, -7, -7]), ("max", [1, 1, -7]), ("sum", [2, -5, -6])):
        every.for_edges(lambda source_n: source_n, state, combine=combine, into="n")
        assert state["n"].tolist() == expected, combine
    assert not np.signbit(state["x"]).any(), "there is one 0"


def test_messages_that_cancel_each_other_change_nothing(engine: str) -> None:
    graph = DynamicGraph(engine=engine)
    graph.insert_edges([1, 2, 1], [8, 8, 9])
    state = graph.vertex_state(n=[5, -5, 0, 0])
    frontier = graph.frontier([1, 2])
    for expected in (5, 10):
        changed = frontier.for_edges(lambda source_n: source_n, state, combine="sum", into="n")
        assert changed.vertices.tolist() == [9]
        assert state["n"].tolist() == [5, -5, 0, expected]


def test_whole_numbers_of_any_size_are_compared_to_the_last_bit(engine: str) -> None:
    graph = DynamicGraph()
    graph.insert_edges([1, 2, 3], [0, 0, 0])
    labels = [2**63 - 1, 2**63 - 2, 2**63 - 4, 2**63 - 3]
    state = graph.vertex_state(label=labels)
    graph.frontier().for_edges(label_of, state, combine="min", into="label")
    assert state["label"].tolist() == [2**63 - 4, *labels[1:]]


def test_nan_wins_and_is_no_change_afterwards(engine: str) -> None:
    graph = DynamicGraph(engine=engine)
    graph.insert_edges([1, 2, 3], [9, 9, 9])
    state = graph.vertex_state(x=[1.0, math.nan, -5.0, 0.0])
    first = graph.frontier([1, 2, 3])
    for expected in ([9], []):
        changed = first.for_edges(lambda source_x: source_x, state, combine="min", into="x")
        assert changed.vertices.tolist() == expected
        assert math.isnan(state["x"][3])


@pytest.mark.runs
def test_a_frontier_in_users_ids(engine: str) -> None:
    graph = DynamicGraph(engine=engine, ids="string", directed=False)
    graph.insert_edges(["ann", "bob", "eve"], ["bob", "cid", "zoë"])
    state = graph.vertex_state(hops=9)
    frontier = graph.frontier("ann").for_vertices(lambda: 0, state, into="hops")
    seen = []
    while frontier:
        seen.append(frontier.vertices.tolist())
        frontier = frontier.for_edges(
            lambda source_hops: source_hops + 1, state, combine="min", into="hops"
        )
    assert seen == [["ann"], ["bob"], ["cid"]]
    assert dict(zip(state.vertices.tolist(), state["hops"].tolist(), strict=True)) == {
        "ann": 0, "bob": 1, "cid": 2, "eve": 9, "zoë": 9,
    }  # fmt: skip
    table = state.table
    assert list(table.columns) == ["vertex", "hops"]
    assert table.top(1, by="hops").columns["hops"].tolist() == [9]
    assert repr(frontier) == "<Frontier of 0 vertices, along out>"
    assert repr(state) == "<VertexState hops int64>"
    with pytest.raises(VertexNotFoundError, match="vertex nobody is not in the graph"):
        graph.frontier(["nobody"])


@pytest.mark.runs
def test_live_graphs_and_epochs(engine: str) -> None:
    graph = DynamicGraph(engine=engine, directed=True)
    graph.insert_edges([1, 2], [2, 3])
    state, frontier = graph.vertex_state(x=1), graph.frontier([1, 1, 2])
    assert frontier.vertices.tolist() == [1, 2]
    with graph.pin() as epoch:
        graph.insert_edges([1], [3])
        with pytest.raises(StaleViewError, match="the graph was changed after this frontier"):
            frontier.filter(lambda x: x > 0, state)
        for read in (lambda: state["x"], lambda: frontier.vertices, lambda: state.table):
            with pytest.raises(StaleViewError):
                read()
        assert hops_traversal(graph, 1)["hops"].tolist() == [0, 1, 1]
        assert hops_traversal(epoch, 1)["hops"].tolist() == [0, 1, 2]
        kept, of_epoch = epoch.frontier(), epoch.vertex_state(x=1)
        with pytest.raises(SettingsError, match="the state is of another graph, epoch or batch"):
            graph.frontier().filter(lambda x: x > 0, of_epoch)
        with pytest.raises(SettingsError, match="the frontier is of another graph, epoch or"):
            graph.frontier(kept)
        assert len(epoch.frontier(kept)) == 3
    with pytest.raises(EpochClosedError):
        kept.filter(lambda x: x > 0, of_epoch)


@pytest.mark.runs
def test_frontiers_of_nobody_and_of_graphs_of_nothing(engine: str) -> None:
    graph = DynamicGraph(engine=engine)
    state = graph.vertex_state(x=0.0, n=0)
    assert state["x"].tolist() == []
    for made in range(2):
        for frontier in (graph.frontier([]), graph.frontier()):
            told = {"combine": "max", "into": "n"}
            assert not frontier.for_edges(lambda source_n: source_n + 1, state, **told)
            frontier.for_vertices(lambda x: x + 1, state, into="x")
            assert len(frontier.filter(lambda x: x > 9, state)) == 0
        if not made:
            graph.insert_vertices([4, 5])
            state = graph.vertex_state(x=0.0, n=0)
    assert state["x"].tolist() == [1.0, 1.0]


def adding(step: int) -> Any:
    return lambda n: n + step


def test_numbers_of_a_call_are_not_compiled_and_those_outside_are_looked_at(engine: str) -> None:
    graph = DynamicGraph(engine=engine)
    graph.insert_vertices([1, 2, 3])
    state = graph.vertex_state(n=[1, 2, 3])
    frontier = graph.frontier()
    before = operators._operator.cache_info().misses
    for limit in range(4):
        kept = frontier.filter(lambda n, limit: n <= limit, state, numbers={"limit": limit})
        assert len(kept) == limit
    assert operators._operator.cache_info().misses <= before + 1
    for step in (1, 2):
        frontier.for_vertices(adding(step), state, into="n")
    assert state["n"].tolist() == [4, 5, 6]
    for STEPS.wide in (10, 20):
        frontier.for_vertices(lambda n: n + STEPS.wide, state, into="n")
    assert state["n"].tolist() == [34, 35, 36], "a number of a module"


#: A module whose numbers change.
STEPS = ModuleType("steps")


def retyped(n):
    """Local variables that are whole numbers, and floats later on or on some paths."""
    part = n
    is_odd = part % 2 == 1
    part = part / 4
    part += 0.5
    if is_odd:
        left = n - 1
    elif n > 10:
        left = n > 100
    else:
        left = part
    if left > 9007199254740992.0:
        left = 0
    return is_odd, part, left


def test_a_variable_is_whole_until_it_is_a_float(engine: str) -> None:
    numbers = [2**53, 2**53 + 1, 2**60 + 1, 12, 102, 4, 7, -3]
    graph = DynamicGraph(engine=engine)
    graph.insert_vertices(range(len(numbers)))
    state = graph.vertex_state(n=numbers, odd=False, part=0.0, left=0.0)
    graph.frontier().for_vertices(retyped, state, into=("odd", "part", "left"))
    found = zip(*(state[name].tolist() for name in ("odd", "part", "left")), strict=True)
    assert list(found) == [retyped(each) for each in numbers]


def test_sums_of_whole_numbers_wrap_around(engine: str) -> None:
    """Of two of the smallest nothing is left, which a sum that never wraps around cannot give."""
    graph = DynamicGraph(engine=engine)
    graph.insert_edges([1, 2, 1, 2, 3], [4, 4, 5, 5, 5])
    state = graph.vertex_state(n=[1, 2, 3, 4, 5])
    changed = graph.frontier().for_edges(
        lambda: -9223372036854775807 - 1, state, combine="sum", into="n"
    )
    assert changed.vertices.tolist() == [5]
    assert state["n"].tolist() == [1, 2, 3, 4, 5 - 2**63]


def test_the_frontiers_of_the_docs_run_as_they_stand(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (DOCS / "programs.md").read_text(encoding="utf-8")
    section = text.partition("## Frontiers")[2]
    (_, code), (_, printed) = re.findall(r"^```(\w*)\n(.*?)^```", section, re.M | re.S)[:2]
    path = tmp_path / "mine.py"
    path.write_text(code, encoding="utf-8")
    found = runpy.run_path(str(path))
    assert capsys.readouterr().out == printed
    assert found["friends"].engine == engine


def test_examples_in_the_docstrings() -> None:
    for module in (frontiers, graph_programs):
        result = doctest.testmod(module)
        assert result.attempted >= 4
        assert result.failed == 0
