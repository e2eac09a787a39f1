"""Every analytic, by its entry in the registry alone: settings, results, summaries, docs."""

import inspect
import itertools
import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import dask.config
import jsonschema
import numpy as np
import pytest

from graphs import KARATE
from graphtide import DynamicGraph, GraphtideError, SettingsError
from graphtide.config.settings import default_text, load_settings
from graphtide.flows import reference
from graphtide.flows.printing.summary import result_lines, result_summaries
from graphtide.gpu_core.algorithms import registry
from graphtide.gpu_core.algorithms.analytic import Analytic, Column, Needs, Parameter
from graphtide.gpu_core.algorithms.registry import ANALYTICS
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.results import ResultFacts, read_result, result_files, write_result

ROOT = Path(__file__).resolve().parents[2]

analytics = pytest.mark.parametrize("analytic", ANALYTICS.values(), ids=list(ANALYTICS))


@analytics
def test_parameters_are_those_of_the_function_with_values_that_are_allowed(
    analytic: Analytic,
) -> None:
    arguments = inspect.signature(analytic.compute).parameters
    for each in analytic.parameters:
        argument = arguments[each.name]
        if each.is_required:
            assert argument.default is inspect.Parameter.empty
            jsonschema.validate(each.example, each.allowed)
        else:
            assert argument.default == each.default
        jsonschema.validate(each.default, each.allowed)


@analytics
@pytest.mark.parametrize("given", ["x", [1], {}, 1j, b"x"], ids=repr)
def test_a_value_of_the_wrong_type_is_a_sentence(analytic: Analytic, given: object) -> None:
    graph = DynamicGraph(directed=False, records="weighted", engine="host")
    graph.insert_edges(*np.array(KARATE).T)
    calls = [partial(graph.compute, analytic.name), getattr(graph, analytic.name)]
    for call, each in itertools.product(calls, analytic.parameters):
        if each.has_vertices and given == [1]:
            continue
        with pytest.raises(GraphtideError, match=each.name):
            call(**analytic.example | {each.name: given})


#: Types of Python and NumPy that are a number or a yes or no of JSON Schema.
TYPES: dict[str, list[Callable[[Any], Any]]] = {
    "number": [np.float16, np.float32, np.longdouble, np.array, Fraction],
    "integer": [np.int8, np.uint64],
    "boolean": [np.bool_],
}


@analytics
def test_a_number_of_any_type_is_the_number(analytic: Analytic) -> None:
    """Also where it would not be: a float16, once it is multiplied by the number of vertices."""
    graph = DynamicGraph.from_edges(*np.array(KARATE).T, directed=False, engine="host")
    graph.insert_vertices(np.arange(70_000 if "tol" in analytic.defaults else 70))
    calls = [partial(graph.compute, analytic.name), getattr(graph, analytic.name)]
    for call, each in itertools.product(calls, analytic.parameters):
        value = {"tol": 2.0**-10, "alpha": 0.03125}.get(each.name, each.default)
        kinds = each.allowed.get("type", ()) if isinstance(value, int | float) else ()
        for given in TYPES.get(kinds, []) if isinstance(kinds, str) else ():
            if given is np.int8 and value > 127:
                continue
            expected = call(**analytic.example | {each.name: value})
            found = call(**analytic.example | {each.name: given(value)})
            for column in found.columns:
                np.testing.assert_array_equal(found[column], expected[column])
            figures = analytic.figures_of(found)
            assert figures == analytic.figures_of(expected)
            assert {type(figure) for figure in figures.values()} <= {int, float}


def test_a_number_beyond_float64_is_a_sentence() -> None:
    graph = DynamicGraph.from_edges([1], [2], engine="host")
    for large in (10**400, Fraction(10**400)):
        with pytest.raises(SettingsError, match="alpha is beyond"):
            graph.pagerank(alpha=large)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="max_iter is beyond"):
        graph.compute("pagerank", max_iter=10**400)


#: Analytics with values of parameters: by default, and where all columns are asked for.
WITH_COLUMNS = [
    pytest.param(analytic, dict.fromkeys(names, True), id="-".join([analytic.name, *names]))
    for analytic in ANALYTICS.values()
    for names in sorted({(), tuple(each.asked_by for each in analytic.results if each.asked_by)})
]


@pytest.mark.parametrize(("analytic", "asked"), WITH_COLUMNS)
@pytest.mark.parametrize("edges", [KARATE, []], ids=["karate", "empty"])
def test_results_are_tables_of_the_declared_columns(
    analytic: Analytic,
    asked: dict[str, bool],
    edges: list[tuple[int, int]],
    engine: str,
    tmp_path: Path,
) -> None:
    graph = DynamicGraph(directed=False)
    graph.insert_edges([src for src, _ in edges], [dst for _, dst in edges])
    parameters = {**analytic.defaults, **analytic.example, **asked}
    declared = analytic.columns_for(parameters)
    assert bool(asked) == (len(declared) > len(analytic.columns_for(analytic.defaults)))
    result = graph.compute(analytic.name, **parameters)
    state = StateDirectory(str(tmp_path))
    values = analytic.values(pickle.loads(pickle.dumps(result)))
    write_result(state, 3, analytic.name, values, ResultFacts(analytic.name, parameters))
    files = result_files(state, 3)
    found = read_result(files[analytic.name])
    columns, kept = found.columns, found.parameters
    assert kept == parameters
    assert {name: str(column.dtype) for name, column in columns.items()} == {
        column.name: "int64" if column.dtype == "id" else column.dtype for column in declared
    }
    assert columns["vertex"].tolist() == graph.vertices().tolist()
    for column in declared:
        assert columns[column.name].tobytes() == column.values(result).tobytes()

    paths = list(files.values())
    notes: list[str] = []
    summaries = result_summaries(paths, notes)
    assert notes == []
    assert json.loads(json.dumps(summaries)).keys() == {analytic.name}
    first, *_ = lines = list(result_lines(paths, summaries))
    assert len(analytic.label or analytic.name) <= 10
    assert first.startswith(f"{analytic.label or analytic.name} ")
    assert lines[-1] == f"results    {paths[0].parent}"


@analytics
def test_a_run_can_be_told_to_compute_it(analytic: Analytic) -> None:
    given = analytic.example
    directed = not analytic.needs.undirected
    settings = load_settings(
        {"analytics": [analytic.name], analytic.name: given or None, "directed": directed}
    )
    assert settings.analytics == {analytic.name: analytic.name}
    assert settings.parameters.get(analytic.name, {}) == {**analytic.defaults, **given}


def test_unknown_and_missing_parameters_are_refused() -> None:
    graph = DynamicGraph()
    with pytest.raises(SettingsError, match=r"bfs has no parameter 'source'; it has sources"):
        graph.compute("bfs", source=5)
    with pytest.raises(SettingsError, match="bfs needs sources: "):
        graph.compute("bfs")


def test_nothing_above_names_an_analytic() -> None:
    """Or it would have to be touched for another one.

    The defaults name two, the demo shows them, benchmarks and studies measure some, and networkx
    has names of its own.
    """
    names = "|".join(ANALYTICS)
    allowed = {"config/settings.py", "flows/state_commands.py", "flows/commands/demo.py"}
    allowed |= {"io/interchange/networkx_backend.py", "io/interchange/networkx_info.py"}
    for layer in ("config", "flows", "io", "pipeline"):
        for path in (ROOT / layer).rglob("*.py"):
            place = path.relative_to(ROOT).as_posix()
            if place not in allowed and not place.startswith(("flows/bench/", "flows/study/")):
                found = re.findall(rf"[\"'._](?:{names})\b", path.read_text("utf-8"))
                assert not found, f"{place} names {found}"


@pytest.mark.parametrize("page", list(reference.PAGES))
def test_the_tables_of_the_documentation_are_those_of_the_registry(page: str) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    made = reference.with_tables(text, page)
    assert text == made, f"run: python -m graphtide.flows.reference docs/{page}"


def test_the_tables_have_what_analytics_declare() -> None:
    made = reference.analytics_tables()
    for analytic in ANALYTICS.values():
        for each in (*analytic.columns, *analytic.parameters):
            assert each.about in made
    # Ids are ids, rather than numbers between bounds of int64 and uint64, rounded to six digits.
    assert "`bfs.sources` | id, or array of ids |" in made
    assert "e+1" not in made.replace("e+100", "")


def test_what_can_be_maintained_is_told_of() -> None:
    names = [name for name, each in ANALYTICS.items() if each.maintained]
    assert f"any of\n{' ' * 30}# {', '.join(names)}\n" in default_text()
    page = (ROOT / "docs" / "maintained.md").read_text("utf-8")
    for name in names:
        assert f"\n| `{name}`" in page.partition(reference.END)[2], (
            f"docs/maintained.md: no row with what {name} takes, and how exact it is"
        )


def test_the_registry_imports_no_engine() -> None:
    code = (
        "import sys, graphtide.gpu_core.algorithms.registry\n"
        "heavy = {'numba', 'cupy', 'graphtide.gpu_core.host', 'graphtide.gpu_core.cuda'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- an analytic that is not there yet


def of_weights(reader: Any, *, above: float) -> Any:
    raise AssertionError


NEW = Analytic(
    name="new",
    title="something new",
    about="Something.",
    compute=of_weights,
    parameters=(
        Parameter("above", "least weight", {"type": ["number", "null"]}, is_required=True),
    ),
    results=(Column("something", "int64", "of each vertex"),),
    needs=Needs(weights=True, undirected=True),
    summary=lambda columns, parameters: {},
    text=str,
)


@pytest.fixture
def with_new(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """There is one more analytic; nothing of it is left in Dask's configuration afterwards."""
    from graphtide.config import analytics as section
    from graphtide.config import settings

    more = {**ANALYTICS, "new": NEW}
    for module in (registry, section):
        monkeypatch.setattr(module, "ANALYTICS", more)
    for cached in (settings._defaults, settings.settings_schema):
        monkeypatch.setattr(settings, cached.__name__, cached.__wrapped__)
    before, defaults = deepcopy(dask.config.config), list(dask.config.defaults)
    yield
    dask.config.config.clear()
    dask.config.config.update(before)
    dask.config.defaults[:] = defaults


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({}, r"analytics: new needs new.above \(least weight\).*--set new.above="),
        ({"new": {"above": 1}}, "analytics: new needs weights; use records weighted"),
        (
            {"new": {"above": 1}, "records": "weighted"},
            "is for undirected graphs; use .*--undirected",
        ),
        ({"new": {"above": "x"}}, "setting new.above: 'x' is not allowed; use a number or null"),
        ({"new": {"below": 1}}, "setting new.below is unknown"),
    ],
)
@pytest.mark.usefixtures("with_new")
def test_what_it_lacks_is_told_before_a_run_begins(overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_settings({"analytics": ["new"], **overrides})


@pytest.mark.usefixtures("with_new")
def test_needs_are_checked_by_the_graph_too() -> None:
    with pytest.raises(SettingsError, match="new needs weights"):
        DynamicGraph(engine="host").compute("new", above=1)
    with pytest.raises(SettingsError, match=r"analytic 'old' is unknown; there are .*pagerank"):
        DynamicGraph(engine="host").compute("old")


def test_of_equal_ranks_the_smaller_ids_are_shown() -> None:
    columns = {"vertex": np.arange(1, 8), "pagerank": np.full(7, 1 / 7)}
    summary = ANALYTICS["pagerank"].summary(columns, {})
    assert [vertex for vertex, _ in summary["top"]] == [1, 2, 3, 4, 5]
    assert ANALYTICS["pagerank"].text(summary).startswith("1 (0.142857), 2 (")


@analytics
def test_the_sentence_of_a_result_is_of_printable_characters(analytic: Analytic) -> None:
    graph = DynamicGraph(ids="string", directed=False, engine="host")
    graph.insert_edges(["a\x1b[31m"] * 2, ["b\n", "c"])
    parameters = analytic.defaults | dict.fromkeys(analytic.example, "a\x1b[31m")
    result = graph.compute(analytic.name, **parameters)
    figures = analytic.figures_of(result)
    text = analytic.text(analytic.brief_of(result, parameters) | figures)
    assert text
    assert text.isprintable()


def test_the_definition_of_clustering_is_a_parameter_of_directed_graphs_alone() -> None:
    clustering = ANALYTICS["clustering"]
    given = {"directed": "ldbc"}
    assert clustering.parameters_for(given, directed=True) == given
    assert clustering.parameters_for(given, directed=False) == {}
    columns = {name: np.array([2, 2, 2]) for name in ("degree", "triangles", "clustering")}
    assert "clustering (ldbc) " in clustering.text(clustering.summary(columns, given))
    assert "clustering 2.0" in clustering.text(clustering.summary(columns, {}))


@analytics
@pytest.mark.parametrize("directed", [False, True])
def test_an_epoch_computes_what_its_graph_did(
    analytic: Analytic, engine: str, directed: bool
) -> None:
    graph = DynamicGraph(directed=directed)
    src, dst = np.array(KARATE).T
    graph.insert_edges(src, dst)
    parameters = {**analytic.defaults, **analytic.example}
    if analytic.needs.unmet(directed=directed, has_weights=False) is not None:
        with pytest.raises(SettingsError, match=f"{analytic.name} (is for|needs)"):
            graph.compute(analytic.name, **parameters)
        return
    expected = analytic.values(graph.compute(analytic.name, **parameters))
    with graph.pin() as epoch:
        graph.delete_vertices(src[:9])
        found = analytic.values(epoch.compute(analytic.name, **parameters))
    for name, column in expected.items():
        assert found[name].tobytes() == column.tobytes()
