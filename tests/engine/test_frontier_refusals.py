"""What operators on frontiers refuse: functions, arguments, states of other graphs."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphtide import DynamicGraph, SettingsError


def loops(source_n):
    for _ in range(3):
        pass
    return source_n


def writes(source_n, target_n):
    target_n = source_n
    return target_n


def indexes(source_n, target_n):
    STATE["n"][target_n] = source_n
    return source_n


STATE: dict[str, Any] = {}

# Call, what it says, and the text of the line at fault.
REFUSED: list[tuple[Any, str, str]] = [
    (("for_edges", loops), "a loop is no part of programs", "for _ in range(3):"),
    (("for_edges", writes), "target_n is state, which is read here; return what", "target_n = s"),
    (("for_edges", indexes), "a value is assigned to one name at a time", 'STATE["n"][target_n]'),
    (("for_edges", lambda source_m: source_m), "parameter 'source_m' is unknown: for_edges() may "
     "name weight, degree, num_vertices, source_n, source_x", "source_m"),
    (("for_edges", lambda n: n), "parameter 'n' is unknown", "lambda n: n"),
    (("for_edges", lambda source_x: source_x), "it returns a float where message is declared as an "
     "int", "source_x"),
    (("for_vertices", lambda n, weight: n), "parameter 'weight' is unknown", "weight"),
    (("for_vertices", lambda n: (n, n)), "it returns 2 values, not 1 value", "(n, n)"),
    (("for_vertices", lambda n: n / 2), "returns a float where n is declared as an int", "n / 2"),
    (("filter", lambda n: n), "what it returns is a bool, not an int; compare it", "lambda n: n"),
    (("filter", lambda n: nothing > n), "nothing is unknown here", "nothing"),  # noqa: F821
]  # fmt: skip


@pytest.mark.parametrize(("call", "message", "line"), REFUSED)
def test_a_wrong_function_is_refused_with_the_line_at_fault(
    call: tuple[str, Any], message: str, line: str
) -> None:
    role, function = call
    graph = DynamicGraph(engine="host")
    graph.insert_edges([1], [2])
    state = graph.vertex_state(n=0, x=0.0)
    arguments = {"for_edges": {"combine": "min", "into": "n"}, "for_vertices": {"into": "n"}}
    with pytest.raises(SettingsError) as refused:
        getattr(graph.frontier(), role)(function, state, **arguments.get(role, {}))
    told, shown = str(refused.value).splitlines()
    assert message in told
    assert line in shown
    number = int(re.match(rf"{role}\(\), line (\d+) of test_frontier_refusals.py: ", told)[1])
    assert Path(__file__).read_text().splitlines()[number - 1].strip() == shown.strip()


def test_graphs_of_as_many_batches_are_not_the_same() -> None:
    graph, other = DynamicGraph(engine="host"), DynamicGraph(engine="host")
    for each in (graph, other):
        each.insert_edges([1], [2])
    with pytest.raises(SettingsError, match="the state is of another graph, epoch or batch"):
        graph.frontier().filter(lambda x: x > 0, other.vertex_state(x=1))
    with pytest.raises(SettingsError, match="the frontier is of another graph, epoch or batch"):
        graph.frontier(other.frontier())


def test_wrong_arguments_are_refused() -> None:
    graph = DynamicGraph(engine="host", directed=True, reverse=False)
    graph.insert_edges([1], [2])
    state = graph.vertex_state(n=0, x=0.0, flag=False)
    frontier = graph.frontier()

    def along(**arguments: Any) -> Any:
        told = {"combine": "min", "into": "n", **arguments}
        return lambda: frontier.for_edges(lambda source_n: source_n, state, **told)

    def over(into: Any) -> Any:
        return lambda: frontier.for_vertices(lambda n: n, state, into=into)

    refused = {
        "combine='mean' is unknown; use one of min, max, sum": along(combine="mean"),
        "use an int64 array, or a Program, which adds floats in a fixed order": along(
            combine="sum", into="x"
        ),
        "into='flag' is an array of bool": along(into="flag"),
        "into: state has no array 'm'; it has n, x, flag": along(into="m"),
        "numbers has k='a', which is no number": along(numbers={"k": "a"}),
        "numbers has 3, which is no name": along(numbers={3: 1}),
        "numbers has source_n, which functions take already": along(numbers={"source_n": 1}),
        "numbers has degree, which functions take already": along(numbers={"degree": 1}),
        f"numbers has k={2**63}, which is beyond int64": along(numbers={"k": 2**63}),
        "numbers has k=np.timedelta64(1,'s'), which is no number": along(
            numbers={"k": np.timedelta64(1, "s")}
        ),
        "is to name at least one array": over(()),
        "into=None is to name an array, or several": over(None),
        "into=(1,) is to name an array, or several": over((1,)),
        "into=['n'] is to name one array": along(into=["n"]),
        "state={} is no state of vertices; make one by": lambda: frontier.filter(bool, {}),
        "numbers=[1] is not a mapping": along(numbers=[1]),
        "each once": over(("n", "n")),
        "an array cannot be called 'degree'": lambda: graph.vertex_state(degree=1),
        "'vertex', which the table of a state has already": lambda: graph.vertex_state(vertex=1),
        "which is no name of Python's": lambda: graph.vertex_state(**{"a b": 1}),
        "a state has at least one array": graph.vertex_state,
        "x has shape (3,) but there are 2 vertices": lambda: graph.vertex_state(x=[1, 2, 3]),
        "x has dtype <U1 and 0 dimensions": lambda: graph.vertex_state(x="a"),
        "which is beyond int64": lambda: graph.vertex_state(x=2**63),
        "direction='up' is unknown": lambda: graph.frontier(direction="up"),
        "frontier(direction='in') needs the reverse adjacency": lambda: graph.frontier(
            direction="in"
        ),
        "is no plain Python function": lambda: frontier.filter(abs, state),
        "filter=[] is no plain Python function": lambda: frontier.filter([], state),
    }
    for message, call in refused.items():
        with pytest.raises(SettingsError, match=re.escape(message)):
            call()
    assert graph.vertex_state(self=1)["self"].tolist() == [1, 1]
