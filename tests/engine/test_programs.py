"""Programs of the user's own, on every engine: against the built-in algorithms, and Python."""

import math
import re
import runpy
import signal
import threading
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphs import SHAPES, from_networkx_graph, random_graphs
from graphtide import BatchError, DynamicGraph, Program, SettingsError, VertexNotFoundError
from graphtide.gpu_core.cuda.analytics.programs import programs as programs_of_device
from graphtide.gpu_core.host.analytics.programs import programs as programs_of_host
from graphtide.gpu_core.layouts import LAYOUTS
from graphtide.gpu_core.programs.library import (
    components_program,
    distances_program,
    hops_program,
    pagerank_program,
)

DOCS = Path(__file__).parents[2] / "docs"

DIRECTIONS = ("auto", "push", "pull")


# It draws layouts by itself.
@pytest.mark.runs
@pytest.mark.parametrize("algorithm", ["hops", "by weight", "components", "PageRank"])
@given(
    source=st.booleans().flatmap(lambda directed: random_graphs(directed=directed, weighted=True)),
    shape=st.sampled_from(SHAPES),
    direction=st.sampled_from(DIRECTIONS),
    records=st.sampled_from(["simple", "weighted", "weighted64"]),
    data=st.data(),
)
@settings(
    deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_library_computes_what_the_built_in_algorithms_do(
    engine: str,
    algorithm: str,
    source: nx.Graph,
    shape: dict[str, object],
    direction: str,
    records: str,
    data: st.DataObject,
) -> None:
    graph = from_networkx_graph(source, engine=engine, records=records, **shape)
    start = data.draw(st.sampled_from(sorted(source)))
    searched: dict[str, Any] = {"active": start, "direction": direction}
    if algorithm == "hops":
        found = graph.run_program(hops_program(), {start: 0}, default=-1, **searched)
        expected = graph.bfs(start).distance
    elif algorithm == "by weight":
        found = graph.run_program(distances_program(), {start: 0}, default=math.inf, **searched)
        expected = graph.sssp(start).distance
    elif algorithm == "components":
        found = graph.run_program(components_program(), graph.vertices(), direction=direction)
        expected = graph.weakly_connected_components().component
    else:
        found = graph.run_program(pagerank_program(), 1 / graph.num_vertices, tolerance=1e-10)
        expected = graph.pagerank(tol=1e-10).pagerank
        np.testing.assert_allclose(found.value, expected, rtol=0, atol=1e-9)
        return
    assert found.value.tolist() == expected.tolist()
    assert found.num_active == 0


def sent(source_value, weight):
    return source_value


def counted(old, message, superstep):
    return old + message, superstep < 2


COUNTS = Program(sent, "sum", counted, value="int32", message="int64")
#: A function that combines messages may round: what comes of them depends on their order.
BY_ORDER = Program(sent, lambda one, other: one + other - one * other, counted)


@pytest.mark.runs
def test_what_is_sent_and_taken_superstep_by_superstep(engine: str) -> None:
    """Walks of up to three steps, counted by hand; sums of whole numbers wrap around."""
    graph = DynamicGraph(engine=engine, directed=True)
    graph.insert_edges([1, 1, 2, 3], [2, 3, 3, 1])
    graph.insert_vertices([9])
    for direction in DIRECTIONS:
        found = graph.run_program(
            COUNTS, {1: 1}, default=0, active=[1], direction=direction, max_supersteps=1
        )
        assert found.value.tolist() == [1, 1, 1, 0]
        assert (found.supersteps, found.num_active) == (1, 2)
        begun = graph.run_program(
            COUNTS, {1: 1}, default=0, active=[1], direction=direction, max_supersteps=0
        )
        assert (begun.value.tolist(), begun.num_active) == ([1, 0, 0, 0], 1)
        # 2 and 3 send 1 each, then 1 and 3 send 2 each.
        found = graph.run_program(COUNTS, {1: 1}, default=0, active=[1], direction=direction)
        assert found.value.tolist() == [4, 3, 4, 0]
        assert (found.supersteps, found.num_active) == (3, 0)
        most = 2**31 - 1
        found = graph.run_program(COUNTS, most, active=[1], direction=direction, max_supersteps=1)
        assert found.value.tolist() == [most, -2, -2, most]
    found = graph.run_program(COUNTS, ([9, 1], [6, 7]), default=2, active=[])
    assert found.value.tolist() == [7, 2, 2, 6]
    found = graph.run_program(COUNTS, 1, active=[], direction="push")
    assert (found.value.tolist(), found.supersteps) == ([1, 1, 1, 1], 0)
    assert repr(found) == "<ProgramResult 4 vertices, 0 supersteps>"


def endless(old, message):
    return message, True


def press_ctrl_c(heard: threading.Event) -> None:
    """Once, and again where Python has lost it, as within the callback of a weak reference."""
    wait = 0.05
    while not heard.wait(wait):
        signal.raise_signal(signal.SIGINT)
        wait = 10.0


def test_a_program_that_never_ends_can_be_interrupted(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only Python sees a signal; compiled supersteps return to it now and then."""
    monkeypatch.setattr(programs_of_host, "PUSH_BUDGET", 1 << 6)
    monkeypatch.setattr(programs_of_device, "SMALL_SUPERSTEPS", 1 << 6)

    graph = DynamicGraph(engine=engine)
    graph.insert_edges([1, 2, 3], [2, 3, 1])
    walking = Program(sent, "max", endless, value="int64")
    for direction in DIRECTIONS:
        keywords = {"default": 0, "active": 1, "direction": direction}
        graph.run_program(walking, {1: 5}, **keywords, max_supersteps=1)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        heard = threading.Event()
        presser = threading.Thread(target=press_ctrl_c, args=[heard])
        presser.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                graph.run_program(walking, {1: 5}, **keywords)
        finally:
            heard.set()
            presser.join()
            signal.signal(signal.SIGINT, before)
        found = graph.run_program(walking, {1: 5}, **keywords, max_supersteps=300)
        assert (found.supersteps, found.num_active) == (300, 1)
        # It has gone around the triangle a hundred times, from push to push.
        assert found.value.tolist() == [5, 5, 5]


def lengthened(source_value, weight):
    return source_value + weight


def shortened(old, message):
    return min(old, message), message < old


@pytest.mark.runs
def test_values_that_stay_infinite_or_nan_change_by_nothing(engine: str) -> None:
    """A path, of which each superstep reaches one vertex more, and a vertex that stays nan."""
    graph = DynamicGraph(engine=engine)
    graph.insert_edges([0, 1, 2, 3], [1, 2, 3, 4])
    graph.insert_vertices([9])
    program = Program(lengthened, "min", shortened, all_vertices=True)
    values = {0: 0.0, 9: math.nan}
    for tolerance in (0.0, 0.5, None):
        found = graph.run_program(
            program, values, default=math.inf, tolerance=tolerance, max_supersteps=9
        )
        assert found.value[:-1].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
        assert math.isnan(found.value[-1])
        assert (found.supersteps, found.num_active) == (5, 0)


def replaced(old, message, superstep):
    return message if superstep == 0 else old, True


#: Types, a value before and after, a tolerance, and whether the change is within it.
CHANGES: list[tuple[str, float, float, float, bool]] = [
    ("float64", math.inf, math.inf, 0, True),
    ("float64", -math.inf, -math.inf, 0, True),
    ("float64", math.nan, math.nan, 0, True),
    ("float64", -0.0, 0.0, 0, True),
    ("float64", 1.0, 3.5, 2.5, True),
    ("float64", 3.5, 1.0, 2.25, False),
    ("float64", math.inf, 1.0, 1e300, False),
    ("float64", 1.0, math.inf, 1e300, False),
    ("float64", math.inf, -math.inf, 1e300, False),
    ("float64", math.nan, 1.0, 1e300, False),
    ("float64", 1.0, math.nan, 1e300, False),
    ("float64", math.nan, 1.0, math.inf, True),
    ("float32", math.inf, math.inf, 0, True),
    ("float32", 1.0, 1.5, 0.25, False),
    ("int64", 2**60, 2**60, 0, True),
    ("int64", 2**60, 2**60 + 1, 0, False),
    ("int64", 2**60 + 1, 2**60, 0, False),
    ("int64", 2**60, 2**60 + 1, 1, True),
    # A difference that is no int64.
    ("int64", -(2**63), 2**63 - 1, 2.0**63, False),
    ("int64", 2**63 - 1, -(2**63), 2.0**63, False),
    ("int64", -(2**63), 2**63 - 1, 2.0**64, True),
    ("int32", -(2**31), 2**31 - 1, 2**32 - 2, False),
    ("int32", 2**31 - 1, -(2**31), 2**32 - 1, True),
]


@pytest.mark.runs
def test_a_superstep_that_changes_no_more_than_the_tolerance_is_the_last(engine: str) -> None:
    """Vertex 3 takes the value that 1 and 2 have; the next superstep changes nothing."""
    graph = DynamicGraph(engine=engine)
    graph.insert_edges([1, 2, 1], [2, 1, 3])
    programs = {
        name: Program(sent, "max", replaced, value=name, all_vertices=True)
        for name in ("float64", "float32", "int64", "int32")
    }
    for case in CHANGES:
        name, before, after, tolerance, is_within = case
        values = np.array([after, after, before], name)
        expected = np.full(3, after, name)
        for most, supersteps in ((1, 1), (5, 1 if is_within else 2)):
            found = graph.run_program(
                programs[name], values, tolerance=tolerance, max_supersteps=most
            )
            np.testing.assert_array_equal(found.value, expected, err_msg=str(case))
            assert found.supersteps == supersteps, case
            is_broken_off = most == 1 and not is_within
            assert found.num_active == (3 if is_broken_off else 0), case


def given_by_all(old, message, total):
    return message + int(100 * total), old == 0


@pytest.mark.runs
def test_names_in_a_program_may_have_any_letters(engine: str) -> None:
    def edge(größe, weight):
        länge = größe + weight
        return länge

    graph = DynamicGraph(engine=engine)
    graph.insert_edges([1, 2], [2, 3])
    program = Program(edge, "min", lambda old, message: (min(old, message), message < old))
    found = graph.run_program(program, {1: 0.0}, default=math.inf, active=[1])
    assert found.value.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.runs
def test_of_all_vertices_those_that_want_no_messages_keep_their_values(engine: str) -> None:
    """They send all the same, and are part of totals."""
    graph = DynamicGraph(engine=engine, records="weighted")
    graph.insert_edges([1, 2, 1], [2, 1, 3], weight=[1, 1, 1])
    graph.insert_vertices([4])
    wants = {"wants": lambda value: value < 5, "all_vertices": True}
    for value in ("float64", "int64"):
        for edge in (sent, lambda source_value, weight: int(source_value * weight)):
            program = Program(
                edge, "sum", given_by_all, value=value, total=lambda value: value, **wants
            )
            values = {1: 9, 2: 7, 3: 0, 4: -1}
            found = graph.run_program(program, values, max_supersteps=1, tolerance=0)
            # 3 takes the 9 of 1, and 4 the identity.
            assert found.value.tolist() == [9, 7, 1509, 1500]
            assert (found.supersteps, found.num_active) == (1, 1)
            # Now none of them takes any.
            found = graph.run_program(program, values, tolerance=0)
            assert found.value.tolist() == [9, 7, 1509, 1500]
            assert (found.supersteps, found.num_active) == (2, 0)


@pytest.mark.runs
def test_live_graphs_epochs_and_names(engine: str) -> None:
    graph = DynamicGraph(engine=engine, ids="string", directed=False)
    graph.insert_edges(["ann", "bob", "eve"], ["bob", "cid", "zoë"])
    hops = hops_program()

    def told(reader: Any) -> dict[str, int]:
        found = reader.run_program(hops, {"ann": 0}, default=-1, active="ann")
        assert found.top(1).columns["vertex"][0] in found.vertices
        return dict(zip(found.vertices.tolist(), found.value.tolist(), strict=True))

    before = {"ann": 0, "bob": 1, "cid": 2, "eve": -1, "zoë": -1}
    assert told(graph) == before
    with graph.pin() as epoch:
        graph.insert_edges(["cid"], ["zoë"])
        assert told(graph) == {**before, "zoë": 3, "eve": 4}
        assert told(epoch) == before
    with pytest.raises(VertexNotFoundError, match="active names vertex nobody"):
        graph.run_program(hops, -1, active=["nobody"])


@pytest.mark.runs
def test_a_program_begins_with_the_values_of_a_result(engine: str) -> None:
    graph = DynamicGraph(engine=engine)
    graph.insert_edges([1, 2, 7], [2, 3, 8])
    found = graph.weakly_connected_components()
    graph.insert_edges([9], [9])
    values = dict(zip(found.vertices.tolist(), found.component.tolist(), strict=True))
    given = graph.run_program(COUNTS, found, default=0)
    assert given.value.tolist() == graph.run_program(COUNTS, values, default=0).value.tolist()
    with pytest.raises(BatchError, match="give vertex and value"):
        graph.run_program(COUNTS, graph.clustering())


@pytest.mark.runs
def test_wrong_arguments_are_refused(engine: str) -> None:
    graph = DynamicGraph(engine=engine)
    graph.insert_edges([1, 2], [2, 3])
    refused = {
        "values has shape (2,) but there are 3 vertices": {"values": [1, 2]},
        "values names 1 of 3 vertices; give default=": {"values": {1: 0}},
        "values has 0.5, which is no int32": {"values": 0.5},
        "default is of vertices that values leave out": {"values": 1, "default": 1},
        "direction='up' is unknown": {"values": 1, "direction": "up"},
        "weight='length' is unknown": {"values": 1, "weight": "length"},
        "max_supersteps=-1 is not a whole number, 0 or more": {"values": 1, "max_supersteps": -1},
        "tolerance=0.1 is for programs of all vertices": {"values": 1, "tolerance": 0.1},
        "give (ids, values)": {"values": ([1], [2], [3])},
        "values has 2 numbers for 1 ids": {"values": ([1], [2, 3]), "default": 0},
        "values names vertex 1 more than once": {"values": ([1, 2, 1], [4, 5, 6]), "default": 0},
        "values must be an id (int64) or an array of ids; got float64": {
            "values": ([1.5], [2]),
            "default": 0,
        },
        "values must be an id (int64) or an array of ids; got <U1": {
            "values": {"1": 2},
            "default": 0,
        },
        "default has dtype int32 and 1 dimensions": {"values": {1: 2}, "default": [1, 2]},
        "max_supersteps=1.5 is not a whole number, 0 or more": {"values": 1, "max_supersteps": 1.5},
        "max_supersteps='2' is not a whole number": {"values": 1, "max_supersteps": "2"},
        "max_supersteps=True is not a whole number": {"values": 1, "max_supersteps": True},
    }
    for message, arguments in refused.items():
        with pytest.raises(SettingsError, match=re.escape(message)):
            graph.run_program(COUNTS, **arguments)
    assert graph.run_program(COUNTS, 1, max_supersteps=2**70).supersteps == 3
    with pytest.raises(SettingsError, match="the program is pulled, as it is of all vertices"):
        graph.run_program(pagerank_program(), 0.5, direction="push")
    for wrong in ("x", -1, float("nan"), [1e-6]):
        with pytest.raises(SettingsError, match="is not a number >= 0"):
            graph.run_program(pagerank_program(), 0.5, tolerance=wrong)
    with pytest.raises(SettingsError, match="the order of its messages makes a difference"):
        graph.run_program(BY_ORDER, 0.5, direction="push")
    with pytest.raises(SettingsError, match="is no Program"):
        graph.run_program(sent, 0.5)
    with pytest.raises(VertexNotFoundError, match="values names vertex 7, which is not in"):
        graph.run_program(COUNTS, {7: 1}, default=0)
    with pytest.raises(VertexNotFoundError, match="active vertex 8 is not in the graph"):
        graph.run_program(COUNTS, 1, active=8)
    single = Program(sent, "sum", lambda old, message: (message, False), value="float32")
    with pytest.raises(SettingsError, match=r"values has 1e\+300, which is no float32"):
        graph.run_program(single, 1e300)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("along", ["out", "both"])
def test_without_weights_edges_count_alike_whoever_has_read_these(
    along: str, layout: str, engine: str
) -> None:
    graph = DynamicGraph(records="weighted", layout=layout, engine=engine)
    graph.insert_edges([1, 2, 3], [2, 3, 1], weight=[2.0, 4.0, 8.0])

    def edge(source_value, weight):
        return source_value + weight

    longest = Program(edge, "max", lambda old, message: (message, True), along=along)
    added = Program(
        edge, "sum", lambda old, message: (message, True), along=along, all_vertices=True
    )
    degree = 1.0 if along == "out" else 2.0
    for _ in range(2):
        for direction in DIRECTIONS:
            found = graph.run_program(
                longest, 0.0, max_supersteps=3, weight=None, direction=direction
            )
            assert found.value.tolist() == [3.0] * 3
        found = graph.run_program(added, 0.0, max_supersteps=1, weight=None)
        assert found.value.tolist() == [degree] * 3
        # Until the next batch a graph keeps the rows that it has read, with their weights.
        assert graph.sssp(1).distance.tolist() == [0.0, 2.0, 6.0]
        graph.spmv([1, 1, 1])
        graph.spmv([1, 1, 1], transpose=True)


def test_nan_wins_and_zeros_are_one(engine: str) -> None:
    """Of messages that Python's own `min` would order by which comes first."""
    graph = DynamicGraph(engine=engine)
    graph.insert_edges([1, 2, 3, 4, 5, 6], [9, 9, 9, 8, 8, 8])
    values = {1: 1.0, 2: math.nan, 3: -1.0, 4: -0.0, 5: 0.0, 6: 2.0, 8: 5.0, 9: 5.0}
    for direction in DIRECTIONS:
        found = graph.run_program(distances_program_of_any(), values, direction=direction)
        assert found.value[-2:].tolist()[0] == 0.0
        assert math.copysign(1, found.value[-2]) == 1
        assert math.isnan(found.value[-1])


def distances_program_of_any() -> Program:
    def vertex(old, message):
        return message, False

    return Program(sent, "min", vertex)


def test_the_program_of_the_docs_runs_as_it_stands(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (DOCS / "programs.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (_, first), (_, printed), (_, second) = blocks[:3]
    path = tmp_path / "mine.py"
    path.write_text(f"{first}\n{second}", encoding="utf-8")
    found = runpy.run_path(str(path))
    assert capsys.readouterr().out == printed
    assert found["pipes"].engine == engine
    ranks = found["pipes"].run_program(found["ranks"], 0.25, tolerance=1e-6)
    expected = found["pipes"].pagerank(tol=1e-6)
    np.testing.assert_allclose(ranks.value, expected.pagerank, rtol=0, atol=1e-6)
    assert ranks.supersteps == expected.iterations


def test_the_refusal_of_the_docs_is_what_is_said(tmp_path: Path) -> None:
    text = (DOCS / "programs.md").read_text(encoding="utf-8")
    (said,) = re.findall(r"^```\n(vertex\(\), line .*?)^```", text, re.MULTILINE | re.DOTALL)
    path = tmp_path / "mine.py"
    lines = ["\n" * 6, "def vertex(old, message):", "    for other in range(3):", "        pass"]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(SettingsError) as refused:
        Program(sent, "min", runpy.run_path(str(path))["vertex"])
    assert str(refused.value) == said.rstrip("\n")
