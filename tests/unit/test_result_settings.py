"""Settings of results: their names, parameters and cadences, and the vertices that they name."""

from pathlib import Path
from typing import Any

import pytest

from graphtide.config.settings import load_settings
from graphtide.flows.flag_settings import settings_from_options
from graphtide.gpu_core.algorithms.registry import ANALYTICS
from graphtide.gpu_core.errors import SettingsError


def test_results_of_one_analytic_have_names_and_sections_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("graphtide:\n  analytics: [pagerank, fast=pagerank]\n  fast: {alpha: 0.5}\n")
    loaded = load_settings({}, str(file), {"fast": {"tol": 0.1}})
    assert loaded.analytics == {"pagerank": "pagerank", "fast": "pagerank"}
    assert loaded.parameters["pagerank"] == ANALYTICS["pagerank"].defaults
    assert loaded.parameters["fast"] == {**loaded.parameters["pagerank"], "alpha": 0.5, "tol": 0.1}
    loaded = settings_from_options(
        {"analytics": "near=bfs,all=clustering", "assignments": ["near.sources=[1, 2]"]}
    )
    assert loaded.analytics == {"near": "bfs", "all": "clustering"}
    assert loaded.parameters["near"] == {"sources": [1, 2], "parents": False}


@pytest.mark.parametrize("vertex", ["--5", "1_0", "-", "x", 1.5])
def test_values_of_vertices_need_whole_numbers_where_ids_are_numbers(vertex: object) -> None:
    """Before a run is started: only its worker would meet such an id otherwise."""
    values: dict[str, Any] = {"analytics": ["pagerank"]}
    values["pagerank"] = {"personalization": {17: 1.0, vertex: 1.0}}
    with pytest.raises(SettingsError, match=rf"personalization: {vertex!r} is no number"):
        load_settings(values)
    values["pagerank"] = {"personalization": {-5: 1.0, 17: 0.5}}
    assert load_settings(values).parameters["pagerank"]["personalization"] == {-5: 1.0, 17: 0.5}


def test_each_result_may_have_a_cadence_of_its_own() -> None:
    given = {"analytics": "pagerank:1,fast=pagerank:10,clustering", "analytics_every": 4}
    loaded = settings_from_options({**given, "assignments": ["fast.alpha=0.5"]})
    assert loaded.analytics == {
        "pagerank": "pagerank", "fast": "pagerank", "clustering": "clustering",
    }  # fmt: skip
    assert loaded.cadences == {"pagerank": 1, "fast": 10, "clustering": 4}
    assert loaded.parameters["fast"]["alpha"] == 0.5
    loaded = load_settings({"analytics": ["pagerank:3", "clustering"]})
    assert loaded.cadences == {"pagerank": 3, "clustering": None}


def test_clustering_of_every_batch_is_maintained_on_a_gpu() -> None:
    def maintained(**settings: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
        loaded = load_settings({"analytics_every": 1, **settings})
        return loaded.maintain, loaded.maintain_on_gpu

    assert maintained() == ((), ("clustering",))
    assert maintained(clustering={"directed": "ldbc"}) == ((), ("clustering",))
    assert maintained(maintain=[]) == ((), ())
    assert maintained(maintain=["pagerank"]) == (("pagerank",), ())
    # Only of results of every batch, of the analytic's own name, that such a graph can maintain.
    for other in (
        {"analytics_every": 2}, {"analytics_every": None}, {"analytics": ["pagerank"]},
        {"analytics": ["clustering:2"]}, {"analytics": ["near=clustering"]}, {"reverse": False},
    ):  # fmt: skip
        assert maintained(**other) == ((), ()), other
    assert maintained(reverse=False, directed=False) == ((), ("clustering",))


def test_what_is_maintained_is_auto_or_a_list_of_names() -> None:
    allowed = (
        "use auto, or a list of any of clustering, pagerank, weakly_connected_components; [] is of "
        "none"
    )
    # As of a variable, a file and the command line; the last by Dask, which needs quotes in it.
    variable = "; texts in it are in quotes where it is a variable, as in ['name']"
    for value, more in (
        ("all", ""), ("clustering", ""), ("", ""), (None, ""), (1, ""), ("[clustering]", variable)
    ):  # fmt: skip
        shown = "null" if value is None else repr(value)
        with pytest.raises(SettingsError) as refused:
            load_settings({}, assignments={"maintain": value})
        assert str(refused.value) == f"setting maintain: {shown} is not allowed; {allowed}{more}"
    with pytest.raises(SettingsError, match=r"'auto' is not allowed; use clustering, pagerank or"):
        load_settings({"maintain": ["auto"]})


@pytest.mark.parametrize(
    ("analytics", "section", "message"),
    [
        (["workers=pagerank"], {}, "'workers=pagerank' has a name that is taken; give"),
        (["bfs=pagerank"], {}, "'bfs=pagerank' has a name that is taken"),
        (["pagerank=pagerank"], {}, "has a name that is taken"),
        (["fast=pagerank", "fast=bfs"], {}, "'fast=bfs' has a name that is taken"),
        (["fast=rank"], {}, "setting analytics: 'fast=rank' is not allowed; use .*bfs, .*NAME="),
        (["a/b=pagerank"], {}, "'a/b=pagerank' is not allowed"),
        (["../b=pagerank"], {}, "is not allowed"),
        (["fast=pagerank"], {"fast": {"beta": 1}}, "setting fast.beta is unknown.*alpha"),
        (["fast=pagerank"], {"fast": {"alpha": 2}}, "setting fast.alpha: 2 is not allowed"),
        (
            ["pagerank"],
            {"fast": {"alpha": 0.5}},
            "fast is unknown, nor named in analytics, as",
        ),
        (["near=bfs"], {}, r"near needs near.sources .*--set near.sources="),
        (
            ["fast=pagerank"],
            {"fast": {"weight": "weight"}},
            "fast.weight: weight needs weights",
        ),
        (["pagerank"], {"pagerank": {"weight": "w"}}, "'w' is not allowed; use null or weight"),
        (
            ["pagerank"],
            {"pagerank": {"dangling": {"x": 1}}},
            "use ids of vertices with a value",
        ),
        (
            ["pagerank"],
            {"pagerank": {"dangling": {1: -1}}},
            "dangling: -1 is not allowed; use 0",
        ),
        (["pagerank"], {"pagerank": {"dangling": {}}}, "pagerank.dangling: {} is not allowed"),
    ],
)
def test_names_and_parameters_of_results_are_checked(
    analytics: list[str], section: dict[str, object], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        load_settings({"analytics": analytics, **section})


@pytest.mark.parametrize(
    ("ids", "sources", "message"),
    [
        ("any", "a", "near.sources: 'a' is no id of a graph with ids: any; these are int64"),
        ("dense", [1, 2**63], "9223372036854775808 is no id of a graph with ids: dense"),
        ("uint64", [-1], "-1 is no id of a graph with ids: uint64; these are uint64"),
        ("any", [1.0], "1.0 is no id of a graph with ids: any; these are int64"),
        ("string", [16], "16 is no id of a graph with ids: string; these are texts, in quotes"),
        ("uuid", 17, "17 is no id of a graph with ids: uuid"),
        ("uuid", "b", "'b' is no id of a graph with ids: uuid; these are texts such as '0123"),
    ],
)
def test_vertices_that_are_no_ids_are_refused_before_a_run(
    ids: str, sources: Any, message: str
) -> None:
    near = {"analytics": ["near=bfs"], "ids": ids}
    with pytest.raises(SettingsError, match=message):
        load_settings({**near, "near": {"sources": sources}})
    first, last = (0, 2**64 - 1) if ids == "uint64" else (-(2**63), 2**63 - 1)
    names = {"string": ["17", "b"], "uuid": ["0123456789ABCDEF0123456789ABCDEF"]}
    allowed = names.get(ids, [first, last])
    assert load_settings({**near, "near": {"sources": allowed}}).graph.ids == ids
