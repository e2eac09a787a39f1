"""Settings: where they come from, which one wins, and how a wrong one is refused."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import dask.config
import numpy as np
import pytest
import yaml

from graphtide import DynamicGraph
from graphtide.config.settings import (
    GraphSettings,
    RunSettings,
    default_text,
    load_settings,
    settings_schema,
)
from graphtide.config.yaml_text import read_yaml
from graphtide.flows.flag_settings import settings_from_options
from graphtide.gpu_core.algorithms.registry import ANALYTICS
from graphtide.gpu_core.errors import SettingsError
from graphtide.gpu_core.kind import row_meaning
from graphtide.gpu_core.layouts import LAYOUTS


def test_the_defaults_in_the_file_are_those_of_the_classes() -> None:
    loaded = load_settings()
    parameters = {name: each.defaults for name, each in ANALYTICS.items() if each.parameters}
    assert loaded == RunSettings(graph=GraphSettings(), parameters=parameters)
    assert parameters["pagerank"].items() >= {"alpha": 0.85, "tol": 1e-6}.items()
    assert parameters["clustering"] == {"directed": "networkx"}


def test_layouts_and_ids_are_those_of_the_graph() -> None:
    properties = settings_schema()["properties"]
    assert properties["layout"]["enum"] == list(LAYOUTS)
    assert properties["records"]["enum"] == ["simple", "weighted", "semantic"]
    for ids in properties["ids"]["enum"]:
        assert DynamicGraph(ids=ids).ids == ids


def test_every_key_has_a_default_a_schema_and_a_description() -> None:
    defaults = yaml.safe_load(default_text())["graphtide"]
    schema = settings_schema()
    assert set(defaults) == set(schema["properties"])
    for key, entry in schema["properties"].items():
        without = not set(entry) - {"type", "enum"}
        assert entry.get("description") or without, f"{key} has no description"
    for analytic in ANALYTICS.values():
        for each in analytic.parameters:
            entry = schema["properties"][analytic.name]["properties"][each.name]
            assert entry["description"] == each.about
            assert defaults[analytic.name][each.name] == each.default


def test_flags_win_over_a_file_and_a_file_over_dask(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("graphtide:\n  batch_rows: 2\n  window: 2\n  pagerank:\n    tol: 0.5\n")
    ours = {"batch_rows": 1, "window": 1, "workers": 1, "pagerank": {"max_iter": 7}}
    with dask.config.set({"graphtide": ours}):
        loaded = load_settings({"batch_rows": 3, "window": None}, str(file))
    assert (loaded.batch_rows, loaded.window, loaded.workers) == (3, 2, 1)
    expected = {**ANALYTICS["pagerank"].defaults, "tol": 0.5, "max_iter": 7}
    assert loaded.parameters["pagerank"] == expected


def test_numbers_with_an_exponent_need_no_point(tmp_path: Path) -> None:
    """YAML reads 1e-9 as text, which a name may be as well."""
    file = tmp_path / "run.yaml"
    file.write_text("graphtide:\n  pagerank: {tol: 1e-9, personalization: {7: 1e-2, 8: 1E+1}}\n")
    values = [
        "analytics=[pagerank, far=sssp]",
        "far.source=1e5",
        "ids=string",
        "arena_growth=15e-1",
    ]
    loaded = settings_from_options({"config_file": str(file), "assignments": values})
    assert loaded.parameters["pagerank"]["tol"] == 1e-9
    assert loaded.parameters["pagerank"]["personalization"] == {7: 0.01, 8: 10.0}
    assert loaded.parameters["far"]["source"] == "1e5"
    assert loaded.graph.arena_growth == 1.5


@pytest.mark.parametrize("is_in_file", [True, False])
def test_a_number_is_what_it_looks_like(tmp_path: Path, *, is_in_file: bool) -> None:
    """YAML 1.1 takes 0123 for 83, and 1:30 for 90: another vertex, and batches for seconds."""
    file = tmp_path / "run.yaml"

    def loaded(**values: str) -> RunSettings:
        lines = {"analytics": "[bfs]", **values}
        texts = [f"  {key.replace('.', ': {')}: {value}" for key, value in lines.items()]
        texts = [text + "}" * text.count("{") for text in texts]
        file.write_text("\n".join(["graphtide:", *texts]))
        if is_in_file:
            return settings_from_options({"config_file": str(file)})
        return settings_from_options(
            {"assignments": [f"{key}={value}" for key, value in lines.items()]}
        )

    names = loaded(**{"ids": "string", "bfs.sources": "[00123, '7', 1:30, 0x_, 1:30.5]"})
    assert names.parameters["bfs"]["sources"] == ["00123", "7", "1:30", "0x_", "1:30.5"]
    numbers = loaded(**{"bfs.sources": "[0, -5, +7, 1_000, 0x10]", "batch_rows": "100"})
    assert numbers.parameters["bfs"]["sources"] == [0, -5, 7, 1000, 16]
    for values, words in (
        ({"bfs.sources": "[0123]"}, "'0123' is no id of a graph with ids: any; these are int64"),
        ({"bfs.sources": "[1]", "batch_rows": "010"}, "batch_rows: '010' is not allowed"),
        ({"bfs.sources": "[1]", "checkpoint_every": "1:00"}, "checkpoint_every: '1:00'"),
    ):
        with pytest.raises(SettingsError, match=words):
            loaded(**values)


def test_null_is_a_value_where_it_is_assigned(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("graphtide:\n  window: 2\n  batch_rows: 2\n")
    loaded = load_settings({"batch_rows": 3}, str(file), {"window": None, "batch_rows": 1})
    assert (loaded.window, loaded.batch_rows) == (None, 3)
    assert load_settings({}, None, {"checkpoint_every": None}).checkpoint_seconds is None


@pytest.mark.parametrize(
    "address", ["localhost:8786", "tcp://10.0.0.1:8786", "tls://[::1]:1", "inproc://10.0.0.1/7/1"]
)
def test_addresses_of_schedulers(address: str) -> None:
    assert load_settings({"scheduler": address}).scheduler == address


@pytest.mark.parametrize("address", ["localhost", "tcp://localhost", "a:", "a:0", "a:99999", "a:b"])
def test_an_address_without_a_port_is_refused(address: str) -> None:
    with pytest.raises(SettingsError, match=r"has no port; write it as .*:8786"):
        load_settings({"scheduler": address})


def test_environment_variables_reach_the_settings() -> None:
    code = (
        "from graphtide.config.settings import load_settings; s = load_settings();"
        "print(s.batch_rows, s.graph.directed, s.parameters['pagerank']['alpha'], *s.analytics)"
    )
    variables = {
        "DASK_GRAPHTIDE__BATCH_ROWS": "123",
        "DASK_GRAPHTIDE__DIRECTED": "false",
        "DASK_GRAPHTIDE__PAGERANK__ALPHA": "0.5",
        "DASK_GRAPHTIDE__ANALYTICS": "['pagerank']",
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split(maxsplit=3) == ["123", "False", "0.5", "pagerank\n"]


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("DASK_GRAPHTIDE_BATCH_ROWS", "5", "as in DASK_GRAPHTIDE__BATCH_ROWS"),
        ("DASK_GRAPHTIDE__ANALYTICS", "[pagerank]", "a variable, as in .'name'."),
        ("DASK_GRAPHTIDE__BATCH_ROWZ", "5", "did you mean batch_rows"),
    ],
)
def test_wrong_environment_variables_are_refused(variable: str, value: str, message: str) -> None:
    config = dask.config.collect_env({variable: value})
    with dask.config.set(config), pytest.raises(SettingsError, match=message):
        load_settings()


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("PROPERTIES", "amount:float64", "setting properties: 'amount:float64' is not allowed"),
        ("COLUMNS", "src", "setting columns: 'src' is not allowed"),
        ("", "pagerank", "graphtide: in Dask's configuration is 'pagerank'"),
    ],
)
def test_a_text_where_a_mapping_belongs_is_not_lost(
    variable: str, value: str, message: str
) -> None:
    """Of a process that has read no settings yet, as each command is."""
    code = "from graphtide.config.settings import load_settings; load_settings()"
    name = f"DASK_GRAPHTIDE{'__' if variable else ''}{variable}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, name: value},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, "the setting was dropped"
    assert message in done.stderr


def test_variables_of_others_are_no_settings() -> None:
    """Kubernetes sets them in every process beside a service called dask-graphtide."""
    of_others = {"DASK_GRAPHTIDE_PORT": "tcp://10.0.0.1:80", "DASK_GRAPHTIDE_SERVICE_HOST": "a"}
    with dask.config.set(dask.config.collect_env(of_others)):
        settings = load_settings()
    assert settings == load_settings()


def test_a_setting_in_both_spellings_is_refused() -> None:
    with pytest.raises(SettingsError, match="the flags: batch_rows is there with - and with _"):
        load_settings({"batch-rows": 5, "batch_rows": 6})


def test_keys_of_a_mapping_that_is_merged_in_are_none_that_stand_twice() -> None:
    text = "base: &b {tol: 1}\nx: {y: {a: &A {<<: *b, tol: 2}}}\nc: {<<: *A}\nd: {<<: *b, <<: *A}"
    read = read_yaml(text)
    assert read["x"]["y"]["a"] == read["c"] == read["d"] == {"tol": 2}


def test_hyphens_are_as_good_as_underscores() -> None:
    with dask.config.set({"graphtide.self-loops": "reject", "graphtide.pagerank.max-iter": 9}):
        loaded = load_settings()
    assert loaded.graph.self_loops == "reject"
    assert loaded.parameters["pagerank"]["max_iter"] == 9


@pytest.mark.parametrize("number", [np.int64(4), 4.0, "4e0", np.float32(4)], ids=repr)
def test_a_whole_number_is_one_however_it_was_made(number: object) -> None:
    """A float went on as such, and ended the run where rows were counted."""
    loaded = load_settings({"batch_rows": number, "pagerank": {"max_iter": number}})
    kept = loaded.batch_rows, loaded.parameters["pagerank"]["max_iter"]
    assert kept == (4, 4)
    assert {type(each) for each in kept} == {int}
    if not isinstance(number, str):
        loaded = load_settings({"checkpoint_every": number})
        assert (loaded.checkpoint_seconds, loaded.checkpoint_batches) == (None, 4)


def test_values_of_python_are_as_good_as_those_of_yaml() -> None:
    loaded = load_settings(
        {
            "directed": np.bool_(False),
            "analytics": ("bfs", "pagerank"),
            "bfs": {"sources": np.array([3, 4])},
            "pagerank": {"alpha": np.float32(0.5), "personalization": Path("seeds.parquet")},
        }
    )
    assert loaded.graph.directed is False
    assert loaded.parameters["bfs"]["sources"] == [3, 4]
    ranks = loaded.parameters["pagerank"]
    assert (ranks["alpha"], ranks["personalization"]) == (0.5, "seeds.parquet")
    json.dumps(loaded.parameters)


def test_bytes_and_times_carry_units() -> None:
    loaded = load_settings({"arena_bytes": "2GiB", "start_timeout": "2 minutes"})
    assert loaded.graph.arena_bytes == 2**31
    assert loaded.start_timeout_seconds == 120.0


@pytest.mark.parametrize(
    ("value", "seconds", "batches"),
    [("60s", 60.0, None), ("500ms", 0.5, None), (20, None, 20), ("7", None, 7), (1, None, 1)],
)
def test_checkpoints_by_time_or_by_batches(
    value: object, seconds: float | None, batches: int | None
) -> None:
    loaded = load_settings({"checkpoint_every": value})
    assert (loaded.checkpoint_seconds, loaded.checkpoint_batches) == (seconds, batches)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"batch_row": 1},
            r"setting batch_row is unknown \(did you mean batch_rows\?\); there are",
        ),
        ({"pagerank": {"beta": 1}}, "setting pagerank.beta is unknown.*alpha, dangling, max_iter"),
        ({"columns": {"from": "a"}}, "setting columns.from is unknown.*dst, op, src"),
        ({"layout": "heap"}, "setting layout: 'heap' is not allowed; use runs.* or "),
        (
            {"analytics": ["rank"]},
            "setting analytics: 'rank' is not allowed; use .*bfs, .*pagerank, .*or one of them",
        ),
        ({"analytics": ["pagerank", "pagerank"]}, "name each once"),
        ({"analytics": ["pagerank:0"]}, "'pagerank:0' is not allowed; use .*with :N after it"),
        ({"analytics": ["pagerank:1", "pagerank:2"]}, "analytics: pagerank is there twice"),
        ({"changes_beyond": 0}, "between whole columns.*; give columns_every too"),
        ({"changes_beyond": float("nan"), "columns_every": 2}, "changes_beyond: nan is not"),
        ({"changes_beyond": 10**400, "columns_every": 2}, "changes_beyond: a number beyond 1.8e"),
        ({"katz_centrality": {"alpha": 10**400}}, "katz_centrality.alpha: a number beyond"),
        ({"columns_every": 0}, "setting columns_every: 0 is not allowed; use 1 or more"),
        ({"result_floats": "float16"}, "'float16' is not allowed; use float64 or float32"),
        ({"batch_rows": 0}, "setting batch_rows: 0 is not allowed; use 1 or more"),
        ({"batch_rows": 2**31}, "use 2147483647 or less"),
        ({"directed": "yes"}, "setting directed: 'yes' is not allowed; use true or false"),
        ({"pagerank": {"alpha": 1.0}}, "setting pagerank.alpha: 1.0 .* use less than 1"),
        ({"pagerank": {"tol": 0}}, "setting pagerank.tol: 0 .* use more than 0"),
        ({"pagerank": {"tol": math.nan}}, "setting pagerank.tol: nan .* that is finite"),
        ({"katz_centrality": {"alpha": -math.inf}}, "katz_centrality.alpha: -inf is not allowed"),
        ({"pagerank": 3}, "pagerank: 3 is not allowed; use a mapping, such as {name: value}"),
        ({"analytics": "none"}, r"analytics: 'none' is not .* \[a, b\]; \[\] computes none"),
        ({"window": "7d"}, "window: '7d' is not .* or null; .* is the setting time_window"),
        ({"window": 86400}, "window: 86400 is not .* 4096.*; .* is the setting time_window"),
        ({"op_insert": "c,u"}, r"op_insert: 'c,u' is not allowed; use a list, such as \[a, b\]"),
        ({"arena_bytes": "a lot"}, "setting arena_bytes: 'a lot' is not allowed; use a number of"),
        ({"arena_bytes": 0}, "setting arena_bytes: 0 is not allowed"),
        ({"max_arena_bytes": "63kiB"}, "max_arena_bytes: 64512 bytes are too few; use 64kiB"),
        ({"arena_bytes": "1e400"}, "setting arena_bytes: '1e400' is not allowed"),
        ({"max_arena_bytes": "inf"}, "setting max_arena_bytes: 'inf' is not allowed"),
        ({"start_timeout": "inf"}, "setting start_timeout: 'inf' is not allowed"),
        ({"start_timeout": "nan"}, "setting start_timeout: 'nan' is not allowed"),
        ({"checkpoint_every": "1e400 s"}, "setting checkpoint_every: '1e400 s' is not allowed"),
        ({"page_bytes": 48}, "setting page_bytes: 48 is not allowed; use a power of two"),
        ({"mean_degree": 0.5}, r"setting mean_degree: 0\.5 is not allowed; use 1 or more"),
        ({"mean_degree": "first"}, "setting mean_degree: 'first' is not allowed; use the number"),
        ({"checkpoint_every": "often"}, "setting checkpoint_every: 'often' is not allowed; use a"),
        ({"checkpoint_every": "0"}, "setting checkpoint_every: 0 is not allowed"),
        ({"checkpoint_every": ""}, "setting checkpoint_every: '' is not allowed; use a number"),
        ({"start_timeout": ""}, "setting start_timeout: '' is not allowed; use a time such as"),
        ({"checkpoint_every": "1.5"}, "setting checkpoint_every: '1.5' is not allowed; use a"),
        ({"checkpoint_every": "-5s"}, "setting checkpoint_every: '-5s' is not allowed"),
        ({"keep_checkpoints": "0"}, "keep_checkpoints: '0' is not allowed; use a number from 1"),
        ({"keep_checkpoints": "some"}, "keep_checkpoints: 'some' is not allowed; use a number"),
        ({"self_loops": "keep", "directed": False}, "self_loops: keep is for directed graphs"),
        ({"engine": "tpu"}, "setting engine: 'tpu' is not allowed; use auto, host or cuda"),
        ({"convert": "gpu", "engine": "host"}, "convert: gpu is for a graph on a GPU; use engine"),
        (
            {"convert": "gpu", "vertex_properties": {"age": "int64"}},
            "convert: gpu knows no vertex_properties; use convert: cpu",
        ),
        ({"convert": "gpu", "ids": "string"}, "convert: gpu takes int64 ids, but ids: string"),
        ({"weights": "float64"}, "weights: float64, but simple records keep no weights"),
        ({"on_repeat": "sum"}, "on_repeat: sum, but simple records keep no weights; use records"),
        (
            {"on_repeat": "min", "records": "weighted", "convert": "gpu"},
            "convert: gpu keeps the last weight alone, but on_repeat: min; use convert: cpu",
        ),
        ({"on_repeat": "mean"}, "setting on_repeat: 'mean' is not allowed; use last, sum, min"),
        ({"convert": "tpu"}, "setting convert: 'tpu' is not allowed; use cpu or gpu"),
        (
            {"op_insert": ["c", "U"], "op_delete": ["d", "u"]},
            r"op_insert and op_delete both name 'u' \(capitals make no difference\)",
        ),
        ({"order_within": "folder"}, "order_within is for .*; name it as order_by, such as ts"),
        ({"columns": {"src": "a", "dst": "a"}}, "columns: 'a' stands for two columns"),
        ({"graph_worker": "w"}, "give its address as scheduler"),
        ({"scheduler": "tcp://h:1", "workers": 2}, "leave one of them out"),
    ],
)
def test_wrong_settings_are_refused_by_name(overrides: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_settings(overrides)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("batch_rows: 1", "holds batch_rows; put all settings below 'graphtide:'"),
        ("- 1", "holds list; put all settings"),
        ("graphtide: [1]", "write keys and values below it"),
        ("graphtide: {a: ", "is not YAML"),
        ("graphtide: {a: 1}", "setting a is unknown"),
        (
            "graphtide:\n  pagerank: {tol: 1e-9}\n  window: 2\n  pagerank: {alpha: 0.5}\n",
            "run.yaml, line 4: pagerank is there twice; write it once",
        ),
        (
            "graphtide: {pagerank: {personalization: {17: 1, 4: 1, 17: 5}}}",
            "run.yaml, line 1: 17 is there twice",
        ),
        ("graphtide: {maintain: &x [*x]}", "run.yaml is nested too deeply; an alias"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=message):
        load_settings({}, str(file))


def test_keys_of_an_anchor_may_be_written_over(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(
        "graphtide:\n  analytics: [pagerank, far=pagerank]\n"
        "  pagerank: &usual {tol: 0.1, alpha: 0.5}\n  far:\n    <<: *usual\n    alpha: 0.9\n"
    )
    far = load_settings({}, str(file)).parameters["far"]
    assert (far["tol"], far["alpha"]) == (0.1, 0.9)


def test_a_section_may_be_assigned_in_parts_in_any_order() -> None:
    parts = ["pagerank.alpha=0.5", "pagerank={tol: 0.1}", "pagerank.max_iter=7"]
    for assignments in (parts, parts[::-1]):
        found = settings_from_options({"assignments": assignments}).parameters["pagerank"]
        assert (found["alpha"], found["tol"], found["max_iter"]) == (0.5, 0.1, 7)
    with pytest.raises(SettingsError, match=r"^17 is there twice; write it once"):
        settings_from_options({"assignments": ["pagerank.personalization={17: 1, 17: 2}"]})


def test_a_missing_file_and_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings({}, str(tmp_path / "none.yaml"))
    (tmp_path / "empty.yaml").write_text("")
    assert load_settings({}, str(tmp_path / "empty.yaml")) == load_settings()


def test_what_the_layers_get() -> None:
    graph = load_settings({"directed": False, "layout": "chain"}).graph
    assert graph.identity() == {
        "directed": False,
        "records": "simple",
        "weights": "float32",
        "ids": "any",
        "reverse": True,
        "self_loops": "drop",
        "create_vertices": True,
        "on_repeat": "last",
        "properties": {},
        "vertex_properties": {},
        "time_window": None,
    }
    assert graph.row_meaning() == row_meaning(directed=False)
    assert graph.graph_arguments()["layout"] == "chain"
    wide = load_settings({"records": "semantic", "weights": "float64"}).graph
    assert wide.row_meaning() == row_meaning(records="semantic64")
