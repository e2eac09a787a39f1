"""``graphtide query``: one question about the graph of a state, in this process.

The graph is that of the newest checkpoint, or as it was after an earlier batch (`open_state`). What
can be asked: ``query_syntax.py``. An answer is plain values, which are printed as they are for
programs, and as lines for people.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import click
import numpy as np

from ...gpu_core.algorithms.registry import ANALYTICS
from ...gpu_core.errors import PathNotFoundError, SettingsError, VertexNotFoundError
from ...gpu_core.printable import counted
from ...gpu_core.records import TIME_PROPERTIES
from ...gpu_core.times import shown, time_unit_named
from ...io.state.results import Result, ResultFacts
from ..open_state import OpenState, open_state
from ..printing.activity import Activity
from ..printing.summary import graph_text
from ..printing.text import TIED, json_text, line, table_lines, value_text
from .query_syntax import Question, read_question
from .ranking import left_out_text, top_rows

#: Vertices of a list that people are shown.
_SHOWN = 200

Answer = dict[str, Any]


def show_answer(state: str, words: Sequence[str], *, at: int | None, as_json: bool) -> None:
    """Print the answer to a question, for people or for programs."""
    question = read_question(*words)
    with Activity("reading the graph …"):
        opened = open_state(state, at)
        question = question.of_ids(opened.graph.ids)
        answer = _ANSWERS[question.word](opened, question)
    if as_json:
        values = {"query": str(question), "batch": opened.batch_id, **answer}
        click.echo(json_text(values))
        return
    for text in _LINES[question.word](answer):
        click.echo(text)


# -- answers: plain values


def _size(opened: OpenState, _question: Question) -> Answer:
    graph = opened.graph
    return {
        "num_vertices": graph.num_vertices,
        "num_edges": graph.num_edges,
        "directed": graph.directed,
        "records": graph.records,
        "on_repeat": graph.on_repeat,
    }


def _vertex(opened: OpenState, question: Question) -> Answer:
    [vertex] = question.vertices
    answer = _degree(opened, question)
    rows = {}
    for name, result in opened.results.items():
        for row in np.flatnonzero(result["vertex"] == vertex)[:1]:
            rows[name] = {
                key: column[row : row + 1].tolist()[0]
                for key, column in result.columns.items()
                if key != "vertex"
            }
    if opened.graph.vertex_properties:
        answer["properties"] = opened.graph.vertex_values(vertex)
    return {**answer, "results": rows}


def _degree(opened: OpenState, question: Question) -> Answer:
    graph, [vertex] = opened.graph, question.vertices
    _check_there(opened, vertex)
    answer: Answer = {"vertex": vertex, "directed": graph.directed}
    if not graph.directed:
        return {**answer, "degree": graph.degree(vertex)}
    answer["out_degree"] = graph.out_degree(vertex)
    if graph.reverse:
        answer["in_degree"] = graph.in_degree(vertex)
        answer["degree"] = answer["out_degree"] + answer["in_degree"]
    return answer


def _neighbors(opened: OpenState, question: Question) -> Answer:
    graph, [vertex] = opened.graph, question.vertices
    _check_there(opened, vertex)
    direction = "in" if question.word == "predecessors" else "out"
    if direction == "in" and graph.directed and not graph.reverse:
        msg = (
            "edges in were not kept (--no-reverse); run the log with --reverse into another --state"
        )
        raise SettingsError(msg)
    if graph.weights is None:
        ids = graph.neighbors(vertex) if direction == "out" else graph.predecessors(vertex)
        return {"vertex": vertex, question.word: ids.tolist()}
    ids, weights = graph.weighted_neighbors(vertex, direction)
    return {"vertex": vertex, question.word: ids.tolist(), "weights": weights.tolist()}


def _edge(opened: OpenState, question: Question) -> Answer:
    graph, (source, target) = opened.graph, question.vertices
    answer: Answer = {
        "src": source,
        "dst": target,
        "directed": graph.directed,
        "is_edge": graph.has_edge(source, target),
    }
    if not answer["is_edge"]:
        return answer
    for name, value in graph.edge_records(source, target).items():
        is_time = isinstance(value, np.datetime64)
        answer[name] = _time_text(value, graph.time_unit) if is_time else value
    if graph.properties:
        answer["properties"] = graph.edge_values(source, target)
    return answer


def _time_text(time: np.datetime64, unit: str | None) -> str:
    """A time as exports write it."""
    return shown(int(time.astype(np.int64)), time_unit_named(str(unit)))


def _path(opened: OpenState, question: Question) -> Answer:
    source, target = question.vertices
    _check_there(opened, source, target)
    try:
        ids = opened.graph.shortest_path(source, target).tolist()
    except PathNotFoundError:
        ids = None
    return {
        "src": source,
        "dst": target,
        "hops": None if ids is None else len(ids) - 1,
        "path": ids,
    }


def _top(opened: OpenState, question: Question) -> Answer:
    result, is_computed = _result(opened, question.result)
    rows, left_out = top_rows(result, question.count, None)
    return {
        "result": question.result,
        "is_computed": is_computed,
        "left_out": left_out,
        "rows": rows,
    }


def _result(opened: OpenState, name: str) -> tuple[Result, bool]:
    """A result of the batch, and whether no run wrote it, so that it is computed.

    That is done where it needs no parameter.
    """
    analytic = ANALYTICS.get(name)
    written = opened.result_names
    if name in written or analytic is None or any(p.is_required for p in analytic.parameters):
        return opened.read_results(name), False
    return Result(name, analytic.values(opened.graph.compute(name)), ResultFacts(name)), True


def _check_there(opened: OpenState, *vertices: str | int) -> None:
    for vertex in vertices:
        if vertex not in opened.graph:
            msg = f"vertex {vertex} is not in the graph after batch {opened.batch_id}"
            raise VertexNotFoundError(msg)


# -- lines for people


def _size_lines(answer: Answer) -> Iterator[str]:
    yield line("graph", graph_text(**answer))


def _vertex_lines(answer: Answer) -> Iterator[str]:
    yield line("vertex", value_text(answer["vertex"]))
    yield from _degree_lines(answer)
    if "properties" in answer:
        yield line("properties", _own_text(answer))
    for name, row in answer["results"].items():
        values = [value_text(value) if key == name else f"{key} {value_text(value)}"
                  for key, value in row.items()]  # fmt: skip
        yield line(name, ", ".join(value.replace(" ", TIED) for value in values))


def _degree_lines(answer: Answer) -> Iterator[str]:
    if not answer["directed"]:
        yield line("degree", f"{answer['degree']:,}")
    elif "degree" in answer:
        parts = f"{answer['out_degree']:,} out, {answer['in_degree']:,} in"
        yield line("degree", f"{answer['degree']:,} ({parts})")
    else:
        yield line("degree", f"{answer['out_degree']:,} out; edges in were not kept (--no-reverse)")


def _neighbors_lines(answer: Answer) -> Iterator[str]:
    word = "predecessors" if "predecessors" in answer else "neighbors"
    ids = answer[word]
    each = [value_text(vertex) for vertex in ids[:_SHOWN]]
    if "weights" in answer:
        pairs = zip(each, answer["weights"], strict=False)
        each = [f"{vertex}{TIED}({_stored_text(weight)})" for vertex, weight in pairs]
    count = counted(len(ids), word.removesuffix("s"))
    weights = ", each with its weight" if "weights" in answer and ids else ""
    yield line("vertex", f"{value_text(answer['vertex'])}, {count}{weights}")
    if ids:
        yield line("", ", ".join(each))
    if len(ids) > _SHOWN:
        yield line("", f"… and {len(ids) - _SHOWN:,} more; --json has them all")


def _edge_lines(answer: Answer) -> Iterator[str]:
    kept = [
        f"{name}{TIED}{_stored_text(answer[name])}"
        for name in ("weight", "type", *TIME_PROPERTIES)
        if name in answer
    ]
    if "properties" in answer:
        kept.append(_own_text(answer))
    there = ", ".join(["is there", *kept]) if answer["is_edge"] else "is not there"
    ends = (" → " if answer["directed"] else " — ").join(
        value_text(answer[end]) for end in ("src", "dst")
    )
    yield line("edge", f"{ends} {there}")


def _own_text(answer: Answer) -> str:
    """Properties of the user's own."""
    own = answer["properties"]
    return ", ".join(f"{name}{TIED}{_stored_text(value)}" for name, value in own.items())


def _stored_text(value: Any) -> str:
    """A value that the graph keeps; of a float32 or float64 all digits that tell it from others.

    These are not rounded as results are: amounts of money have more than six digits.
    """
    if not isinstance(value, float):
        return value_text(value)
    with np.errstate(over="ignore"):
        single = np.float32(value)
    return str(single if float(single) == value else value).removesuffix(".0")


def _path_lines(answer: Answer) -> Iterator[str]:
    if answer["path"] is None:
        src, dst = (value_text(answer[end]) for end in ("src", "dst"))
        yield line("path", f"none leads from {src} to {dst}")
        return
    path = " → ".join(map(value_text, answer["path"]))
    yield line("path", f"{counted(answer['hops'], 'hop')}: {path}")


def _top_lines(answer: Answer) -> Iterator[str]:
    if answer["is_computed"]:
        yield line("note", "no run wrote it after this batch; it is computed now, by defaults")
    if answer["left_out"]:
        yield line("left out", left_out_text(answer["left_out"]))
    if not answer["rows"]:
        yield line(answer["result"], "no rows")
        return
    yield from table_lines(answer["rows"])


_ANSWERS: Mapping[str, Callable[[OpenState, Question], Answer]] = {
    "size": _size, "vertex": _vertex, "neighbors": _neighbors, "predecessors": _neighbors,
    "degree": _degree, "edge": _edge, "path": _path, "top": _top,
}  # fmt: skip

_LINES: Mapping[str, Callable[[Answer], Iterable[str]]] = {
    "size": _size_lines, "vertex": _vertex_lines, "neighbors": _neighbors_lines,
    "predecessors": _neighbors_lines, "degree": _degree_lines, "edge": _edge_lines,
    "path": _path_lines, "top": _top_lines,
}  # fmt: skip
