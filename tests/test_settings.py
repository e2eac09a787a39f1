"""Settings: where they come from, which one wins, and how a wrong one is refused."""

import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

import dask.config
import pytest
import yaml

from graphtide.config.settings import GraphSettings, RunSettings, load_settings
from graphtide.gpu_core.errors import SettingsError


def test_the_defaults_in_the_file_are_those_of_the_classes() -> None:
    loaded = load_settings()
    pagerank = {"alpha": 0.85, "tol": 1e-6, "max_iter": 500}
    assert loaded == RunSettings(graph=GraphSettings(), pagerank=pagerank)


def test_every_key_has_a_default_a_schema_and_a_description() -> None:
    files = resources.files("graphtide.config")
    defaults = yaml.safe_load(files.joinpath("graphtide.yaml").read_text("utf-8"))["graphtide"]
    schema = yaml.safe_load(files.joinpath("graphtide-schema.yaml").read_text("utf-8"))
    assert set(defaults) == set(schema["properties"])
    for key, entry in schema["properties"].items():
        without = not set(entry) - {"type", "enum"}
        assert entry.get("description") or without, f"{key} has no description"


def test_flags_win_over_a_file_and_a_file_over_dask(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("graphtide:\n  batch_rows: 2\n  window: 2\n  pagerank:\n    tol: 0.5\n")
    ours = {"batch_rows": 1, "window": 1, "workers": 1, "pagerank": {"max_iter": 7}}
    with dask.config.set({"graphtide": ours}):
        loaded = load_settings({"batch_rows": 3, "window": None}, str(file))
    assert (loaded.batch_rows, loaded.window, loaded.workers) == (3, 2, 1)
    assert loaded.pagerank == {"alpha": 0.85, "tol": 0.5, "max_iter": 7}


def test_environment_variables_reach_the_settings() -> None:
    code = (
        "from graphtide.config.settings import load_settings; s = load_settings();"
        "print(s.batch_rows, s.graph.directed, s.pagerank['alpha'], s.analytics)"
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
    assert done.stdout.split(maxsplit=3) == ["123", "False", "0.5", "('pagerank',)\n"]


def test_hyphens_are_as_good_as_underscores() -> None:
    with dask.config.set({"graphtide.self-loops": "reject", "graphtide.pagerank.max-iter": 9}):
        loaded = load_settings()
    assert loaded.graph.self_loops == "reject"
    assert loaded.pagerank["max_iter"] == 9


def test_bytes_and_times_carry_units() -> None:
    loaded = load_settings({"arena_bytes": "2GiB", "start_timeout": "2 minutes"})
    assert loaded.graph.arena_bytes == 2**31
    assert loaded.start_timeout_seconds == 120.0


@pytest.mark.parametrize(
    ("value", "seconds", "batches"),
    [("60s", 60.0, None), ("5m", 300.0, None), (20, None, 20), ("7", None, 7)],
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
        ({"pagerank": {"beta": 1}}, "setting pagerank.beta is unknown.*alpha, max_iter, tol"),
        ({"columns": {"from": "a"}}, "setting columns.from is unknown.*dst, op, src"),
        ({"layout": "heap"}, "setting layout: 'heap' is not allowed; use runs or chain"),
        ({"analytics": ["rank"]}, "setting analytics: 'rank' is not allowed; use pagerank or"),
        ({"analytics": ["pagerank", "pagerank"]}, "name each once"),
        ({"batch_rows": 0}, "setting batch_rows: 0 is not allowed; use 1 or more"),
        ({"batch_rows": 2**31}, "use 2147483647 or less"),
        ({"directed": "yes"}, "setting directed: 'yes' is not allowed; use boolean"),
        ({"pagerank": {"alpha": 1.0}}, "setting pagerank.alpha: 1.0 .* use less than 1"),
        ({"pagerank": {"tol": 0}}, "setting pagerank.tol: 0 .* use more than 0"),
        ({"pagerank": 3}, "setting pagerank: 3 is not allowed; use object"),
        ({"arena_bytes": "a lot"}, "setting arena_bytes: 'a lot' is not allowed; use a number of"),
        ({"arena_bytes": 0}, "setting arena_bytes: 0 is not allowed"),
        ({"page_bytes": 48}, "setting page_bytes: 48 is not allowed; use a power of two"),
        ({"checkpoint_every": "often"}, "setting checkpoint_every: 'often' is not allowed; use a"),
        ({"checkpoint_every": "0"}, "setting checkpoint_every: 0 is not allowed"),
        ({"checkpoint_every": "-5s"}, "setting checkpoint_every: '-5s' is not allowed"),
        ({"self_loops": "keep", "directed": False}, "self_loops: keep is for directed graphs"),
        ({"engine": "tpu"}, "setting engine: 'tpu' is not allowed; use auto, host or cuda"),
        (
            {"engine": "cuda", "layout": "chain"},
            "engine: cuda has no layout chain; use layout: runs",
        ),
        ({"convert": "gpu", "engine": "host"}, "convert: gpu is for a graph on a GPU; use engine"),
        ({"convert": "gpu", "layout": "chain"}, "convert: gpu is for a graph on a GPU; use engine"),
        ({"convert": "tpu"}, "setting convert: 'tpu' is not allowed; use cpu or gpu"),
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
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=message):
        load_settings({}, str(file))


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
        "ids": "any",
        "reverse": True,
        "self_loops": "drop",
        "create_vertices": True,
    }
    assert set(graph.batch_arguments()) == {"directed", "records", "self_loops", "create_vertices"}
    assert graph.graph_arguments()["layout"] == "chain"
