"""The command line before anything runs: help, usage, settings; and logs that it makes itself."""

import os
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from commands import ENVIRONMENT, PROGRAM, contents, graphtide, graphtide_here, told
from graphtide.flows import generate

COMMANDS = ["demo", "run", "status", "export", "import", "generate", "bench"]


@pytest.mark.parametrize(
    "command",
    [
        "",
        *COMMANDS,
        "generate uniform",
        "generate rmat",
        "bench updates",
        "bench analytics",
        "bench pipeline",
    ],
)
def test_help_fits_80_columns(command: str) -> None:
    done = graphtide(*command.split(), "--help")
    assert done.returncode == 0
    assert done.stderr == ""
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    assert not re.search(r"(?<!\])\.\.\.", done.stdout), "a summary is cut short"


def test_help_lists_every_command() -> None:
    text = graphtide("--help").stdout
    listed = re.findall(r"^  (\w+) {2,}", text.split("Commands:")[1], re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)


def test_help_names_the_choices_and_defaults_that_the_settings_have() -> None:
    text = " ".join(graphtide("run", "--help").stdout.split())
    files = resources.files("graphtide.config")
    schema = yaml.safe_load(files.joinpath("graphtide-schema.yaml").read_text("utf-8"))
    settings = yaml.safe_load(files.joinpath("graphtide.yaml").read_text("utf-8"))["graphtide"]
    for key in ("records", "layout", "storage", "engine", "ids", "self_loops"):
        about = text.split(f"--{key.replace('_', '-')} ")[1].split(" --")[0]
        for choice in schema["properties"][key]["enum"]:
            assert re.search(rf"\b{choice}\b", about), f"help of {key} does not name {choice}"
        assert about.endswith(f"[{settings[key]}]")
    assert f"[{settings['checkpoint_every']}]" in text


def test_the_command_line_is_also_there_under_dask() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "dask"), "graphtide", "run", "--bogus"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=ENVIRONMENT,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "dask graphtide run: No such option '--bogus'; try 'dask graphtide run --help'\n"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("run log", ["--state"]),
        ("run log --state s --bogus", ["--bogus"]),
        ("run log --state s --batch-rows many", ["many", "--batch-rows"]),
        ("bogus", ["bogus"]),
        ("--bogus run", ["--bogus"]),
        ("generate bogus", ["bogus"]),
        ("export s", ["--edges"]),
        ("run log --state s --records heavy", ["records", "heavy", "simple"]),
        ("run log --state s --layout tree", ["layout", "tree", "runs", "chain"]),
        ("run log --state s --ids some", ["ids", "some", "dense"]),
        ("run log --state s --batch-rows 0", ["batch_rows", "0"]),
        ("run log --state s --checkpoint-every soon", ["checkpoint_every", "soon", "60s"]),
        ("run log --state s --analytics ranks", ["analytics", "ranks", "pagerank"]),
        ("run log --state s --undirected --self-loops keep", ["self_loops", "directed"]),
        ("run log --state s --scheduler tcp://h:1 --workers 2", ["workers", "scheduler"]),
        ("run log --state s --set colour=red", ["colour", "unknown"]),
        ("run log --state s --set colour", ["colour", "key=value"]),
        ("run log --state s --set pagerank.alpha=[", ["pagerank.alpha", "YAML"]),
        ("run log --state s --config none.yaml", ["none.yaml"]),
        ("generate uniform out --rows 3 --files 4", ["3 rows", "4 files"]),
        ("generate uniform out --deletes 0.7 --repeats 0.3", ["deletes=0.7"]),
        ("generate rmat out --scale 40", ["scale=40"]),
        ("generate rmat out --scale -1", ["scale=-1"]),
        ("generate rmat out --scale -1 --rows 8", ["scale=-1"]),
    ],
)
def test_wrong_usage_and_settings_are_told_before_anything_is_begun(
    arguments: str, words: list[str], tmp_path: Path
) -> None:
    told(graphtide_here(*arguments.split(), cwd=tmp_path), 2, *words)
    assert list(tmp_path.iterdir()) == []


def test_a_settings_file_is_checked_like_the_flags(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("graphtide:\n  records: heavy\n")
    run = ["run", "log", "--state", "s", "--config", "s.yaml"]
    told(graphtide_here(*run, cwd=tmp_path), 2, "heavy")


def test_debug_shows_the_traceback_and_then_the_sentence() -> None:
    for arguments in (["--debug", "status", "none"], ["status", "none", "--debug"]):
        done = graphtide(*arguments)
        assert done.returncode == 1
        assert done.stderr.startswith("Traceback")
        assert done.stderr.splitlines()[-1].startswith("graphtide status: ")


def test_a_closed_pipe_ends_quietly() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    process = subprocess.Popen(
        [*PROGRAM, "--help"], stdout=write_end, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    os.close(write_end)
    _, errors = process.communicate(timeout=60)
    assert errors == ""


# -- generate and import


def ops_of(table: pa.Table) -> np.ndarray:
    assert table.schema.field("op").type == pa.binary(1)
    return np.frombuffer(b"".join(table["op"].to_pylist()), np.int8)


def test_generated_logs_are_reproducible_and_whole(tmp_path: Path) -> None:
    options = ["--rows", 5000, "--files", 3, "--vertex-deletes", 0.01, "--seed", 7]
    done = graphtide("generate", "uniform", "one", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "5,000 rows in 3 files" in done.stdout
    graphtide("generate", "uniform", "two", *options, cwd=tmp_path)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    table = pa.concat_tables(pq.read_table(path) for path in sorted(tmp_path.glob("one/*")))
    assert table.schema.names == ["op", "src", "dst"]
    assert table.schema.types[1:] == [pa.int32()] * 2
    assert table.num_rows == 5000
    is_vertex = table["dst"].is_null().to_numpy()
    assert 20 < is_vertex.sum() < 90
    assert (ops_of(table)[is_vertex] == -1).all()
    told(graphtide("generate", "uniform", "one", cwd=tmp_path), 2, "one", "not empty")


def test_several_processes_write_the_log_that_one_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = dict.fromkeys(("repeats", "deletes", "vertex_deletes"), 0.1)
    for name, rows in (("one", 2_001), ("several", 2_000)):
        monkeypatch.setattr(generate, "_PARALLEL_ROWS", rows)
        generate.generate_uniform(
            str(tmp_path / name), 2_000, 64,
            {**options, "files": 3, "properties": True, "seed": 5, "quiet": True},
        )  # fmt: skip
    assert contents(tmp_path / "one") == contents(tmp_path / "several")


def test_a_generated_log_can_carry_properties(tmp_path: Path) -> None:
    done = graphtide(
        "generate", "rmat", "log", "--scale", 6, "--properties", "--files", 1, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    table = pq.read_table(next((tmp_path / "log").iterdir()))
    assert table.num_rows == 16 * 64
    assert table.schema.names == ["op", "src", "dst", "weight", "type", "ts"]
    is_insert = ops_of(table) == 1
    assert not table["weight"].is_null().to_numpy()[is_insert].any()
    assert table["weight"].is_null().to_numpy()[~is_insert].all()


def test_an_edge_list_becomes_a_log(tmp_path: Path) -> None:
    (tmp_path / "karate.txt").write_text("# two edges\n1 2\n3 1\n")
    done = graphtide("import", "karate.txt", "log", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 edges" in done.stdout
    files = list((tmp_path / "log").iterdir())
    table = pa.concat_tables(pq.read_table(path) for path in files)
    assert table.select(["src", "dst"]).to_pylist() == [
        {"src": 1, "dst": 2},
        {"src": 3, "dst": 1},
    ]
    # A second import under the same name would repeat the first.
    told(graphtide("import", "karate.txt", "log", cwd=tmp_path), 2, "karate")
    assert list((tmp_path / "log").iterdir()) == files


def test_a_matrix_market_file_becomes_a_log(tmp_path: Path) -> None:
    (tmp_path / "m.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n3 1 2\n"
    )
    done = graphtide("import", "m.mtx", "log", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table = pq.read_table(next((tmp_path / "log").iterdir()))
    assert table["src"].to_pylist() == [1, 3]
    assert table["weight"].to_pylist() == [0.5, 2.0]


def test_a_file_that_is_no_edge_list_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("1 2\none two\n")
    told(graphtide("import", "bad.txt", "log", cwd=tmp_path), 1, "bad.txt", "line 2")
    assert not (tmp_path / "log").exists()
    told(graphtide("import", "none.txt", "log", cwd=tmp_path), 1, "none.txt")
