"""The command line before anything runs: help, usage, settings, output."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from commands import ENVIRONMENT, PROGRAM, fails, graphtide_here, write_log
from graphtide.config.settings import default_text, load_settings, settings_schema
from graphtide.flows.cli import names_a_cluster
from graphtide.gpu_core.algorithms.registry import ANALYTICS
from waiting import PATIENCE

COMMANDS = [
    "demo", "run", "settings", "inspect", "status", "query", "export", "replay", "verify", "diff",
    "top", "plot", "report", "requeue", "import", "generate", "bench", "study",
]  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [
        "",
        *COMMANDS,
        "generate uniform",
        "generate rmat",
        "generate watts-alpha",
        "generate grid",
        "bench updates",
        "bench analytics",
        "bench pipeline",
    ],
)
def test_help_fits_80_columns(command: str) -> None:
    done = graphtide_here(*command.split(), "--help")
    assert done.returncode == 0
    assert done.stderr == ""
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    _usage, about = done.stdout.split("\n\n", 1)  # which has dots behind what may be repeated
    assert "..." not in about, "a summary is cut short"


def test_help_lists_every_command() -> None:
    text = graphtide_here("--help").stdout
    listed = re.findall(r"^  (\w+) {2,}", text.split("Commands:")[1], re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)


def test_help_names_the_choices_and_defaults_that_the_settings_have() -> None:
    text = " ".join(graphtide_here("run", "--help").stdout.split())
    schema, settings = settings_schema(), yaml.safe_load(default_text())["graphtide"]
    for key in ("records", "layout", "storage", "engine", "ids", "self_loops"):
        about = text.split(f"--{key.replace('_', '-')} ")[1].split(" --")[0]
        for choice in schema["properties"][key]["enum"]:
            assert re.search(rf"\b{choice}\b", about), f"help of {key} does not name {choice}"
        assert about.endswith(f"[{settings[key]}]")
    assert f"[{settings['checkpoint_every']}]" in text
    assert "CPU workers of the local cluster. [from the cores]" in text
    about = text.split("--analytics ")[1].split(" --")[0]
    assert f"Any of {', '.join(ANALYTICS)}, " in about
    assert about.endswith(f"[{','.join(settings['analytics'])}]")


def test_settings_are_printed_as_a_file_of_settings(tmp_path: Path) -> None:
    done = graphtide_here("settings")
    assert done.returncode == 0
    (tmp_path / "s.yaml").write_text(done.stdout, encoding="utf-8")
    assert load_settings({}, str(tmp_path / "s.yaml")) == load_settings()
    for analytic in ANALYTICS.values():
        for each in analytic.parameters:
            assert re.search(rf"^    {each.name}: .*# {re.escape(each.about)}", done.stdout, re.M)


def test_the_command_line_is_also_there_under_dask() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "dask"), "graphtide", "run", "--bogus"],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env=ENVIRONMENT,
    )
    assert done.returncode == 2
    # Click 8.2 has a colon, and no quotes.
    assert re.fullmatch(
        r"dask graphtide run: No such option:? ('?)--bogus\1; try 'dask graphtide run --help'\n",
        done.stderr,
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
        ("run log --state s --layout heap", ["layout", "heap", "runs", "chain"]),
        ("run log --state s --ids some", ["ids", "some", "dense"]),
        ("run log --state s --batch-rows 0", ["batch_rows", "0"]),
        ("run log --state s --checkpoint-every soon", ["checkpoint_every", "soon", "60s"]),
        ("run log --state s --analytics ranks", ["analytics", "ranks", "pagerank"]),
        ("run log --state s --analytics bfs", ["bfs.sources", "--set"]),
        ("run log --state s --set bfs.sources=[]", ["bfs.sources"]),
        ("run log --state s --set bfs.sources=[1.5]", ["bfs.sources", "1.5"]),
        ("run log --state s --undirected --self-loops keep", ["self_loops", "directed"]),
        ("run log --state s --scheduler tcp://h:1 --workers 2", ["workers", "scheduler"]),
        ("run log --state s --set colour=red", ["colour", "unknown"]),
        ("run log --state s --set colour=null", ["colour", "unknown"]),
        ("run log --state s --set directed=null", ["directed", "null", "true or false"]),
        ("run log --state s --set arena_bytes=1000", ["arena_bytes", "1000", "64kiB"]),
        ("run log --state s --set max_arena_bytes=17", ["max_arena_bytes", "17", "64kiB"]),
        ("run log --state s --scheduler localhost", ["'localhost'", "tcp://localhost:8786"]),
        ("run log --state s --scheduler tls://a:b", ["no port", "tls://a:8786"]),
        ("run log --state s --set colour", ["colour", "key=value"]),
        (
            "run log --state s --set bfs=5 --set bfs.sources=[3]",
            ["--set bfs.sources", "contradict"],
        ),
        ("run log --state s --set analytics=[layout=pagerank]", ["'layout=pagerank' has a name"]),
        ("run log --state s --set pagerank.alpha=[", ["pagerank.alpha", "YAML"]),
        ("run log --state s --config none.yaml", ["none.yaml"]),
        ("generate uniform out --rows 3 --files 4", ["3 rows", "4 files"]),
        ("generate grid out --vertices 400 --rows 5000", ["need 5,000 edges", "has 760"]),
        ("generate erdos-renyi out --vertices 5 --rows 11", ["need 11 edges", "has 10"]),
        ("generate barabasi-albert out --vertices 9 --degree 1 --rows 10", ["has 9;"]),
        ("generate watts-strogatz out --vertices 9 --degree 2 --rows 10", ["has 9;"]),
        ("generate barabasi-albert out --vertices 9 --rows 999", ["--rows", "--vertices"]),
        ("generate uniform out --deletes 0.7 --repeats 0.3", ["--deletes 0.7"]),
        ("generate rmat out --scale 40", ["--scale 40"]),
        ("generate watts-alpha out --degree -1", ["--degree -1.0"]),
        ("generate watts-alpha out --vertices 9 --degree 2 --rows 10", ["--rows 10", "9 edges"]),
        ("generate watts-alpha out --engine tpu", ["--engine tpu"]),
        ("generate watts-strogatz out --degree 3", ["--degree 3 must be even"]),
        ("generate barabasi-albert out --degree 0", ["--degree 0"]),
        ("generate erdos-renyi out --vertices 1", ["--vertices 1"]),
        ("generate geometric out --degree 0", ["--degree 0.0"]),
        ("generate grid out --width 0", ["--width 0"]),
        ("generate grid out --stream sweep", ["sweep", "uniform or rmat"]),
        ("generate uniform out --window 5", ["--window", "sliding-window"]),
        (
            "generate uniform out --stream sliding-window --vertex-deletes 0.1",
            ["--vertex-deletes"],
        ),
        ("generate rmat out --scale -1", ["--scale -1"]),
        ("generate rmat out --scale -1 --rows 8", ["--scale -1"]),
        ("generate uniform out --rows 0", ["--rows 0", "from 1 to 4294967296"]),
        ("generate uniform out --rows 100000000000000", ["--rows 100000000000000"]),
        ("generate uniform out --repeats nan", ["--repeats nan"]),
        ("generate erdos-renyi out --vertices 5", ["--degree 16 must be from 1 to 4"]),
        ("generate watts-strogatz out --degree -2", ["--degree -2 must be even"]),
        ("generate barabasi-albert out --vertices 0", ["--vertices 0"]),
        ("generate barabasi-albert out --degree 99999999999", ["2147483648"]),
    ],
)
def test_wrong_usage_and_settings_are_told_before_anything_is_begun(
    arguments: str, words: list[str], tmp_path: Path
) -> None:
    fails(graphtide_here(*arguments.split(), cwd=tmp_path), 2, *words)
    assert list(tmp_path.iterdir()) == []


def test_a_settings_file_is_checked_like_the_flags(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("graphtide:\n  records: heavy\n")
    run = ["run", "log", "--state", "s", "--config", "s.yaml"]
    fails(graphtide_here(*run, cwd=tmp_path), 2, "heavy")


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        (default_text(), False),
        ("graphtide:\n  scheduler:\n  engine: host\n", False),
        ("graphtide: {scheduler: ~}", False),
        ("graphtide:\n  scheduler: tcp://there:8786\n", True),
        ("{graphtide: {\"scheduler\": 'there:8786'}}", True),
        (None, True),
    ],
)
def test_workers_begin_to_start_where_the_settings_name_no_cluster(
    text: str | None, is_named: bool, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    if text is None:
        os.mkfifo(path)  # as of `--config <(...)`, which can be read once
    else:
        path.write_text(text)
    assert names_a_cluster(None, str(path)) == is_named
    assert names_a_cluster("there:8786", str(path))
    assert not names_a_cluster(None, None)


def test_debug_shows_the_traceback_and_then_the_sentence() -> None:
    for arguments in (["--debug", "status", "none"], ["status", "none", "--debug"]):
        done = graphtide_here(*arguments)
        assert done.returncode == 1
        assert done.stderr.startswith("Traceback")
        assert done.stderr.splitlines()[-1].startswith("graphtide status: ")


@pytest.mark.parametrize("command", ["--help", "inspect log", "inspect log --json"])
def test_output_that_cannot_be_written_is_told(command: str, tmp_path: Path) -> None:
    write_log(tmp_path / "log", {f"{n}.parquet": {"src": [1], "dst": [2]} for n in range(50)})
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PROGRAM, *command.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=ENVIRONMENT,
            cwd=tmp_path,
        )
    fails(done, 1, "standard output cannot be written", "No space left on device")


@pytest.mark.parametrize(("kilobytes", "words"), [(200_000, "0.205 GB"), (1_200_000, "1.23 GB")])
def test_a_limit_of_address_space_is_named(tmp_path: Path, kilobytes: int, words: str) -> None:
    write_log(tmp_path / "log", {"a.parquet": {"src": [1], "dst": [2]}})
    command = f"ulimit -v {kilobytes}; exec {' '.join(PROGRAM)} run log --state s"
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True, text=True, check=False, timeout=PATIENCE, env=ENVIRONMENT,
        cwd=tmp_path,
    )  # fmt: skip
    fails(done, 1, words, "ulimit -v", "need 2 GB")


@pytest.mark.parametrize(
    ("files", "workers", "words"),
    [
        (8, 1, "a process may have 8 files open (ulimit -n), but a cluster of 1 CPU worker needs"),
        (40, 1, "a process may have 40 files open"),
        (80, 9, "9 CPU workers needs 143; raise the limit, or take fewer workers"),
    ],
)
def test_a_limit_of_open_files_is_named(
    tmp_path: Path, files: int, workers: int, words: str
) -> None:
    write_log(tmp_path / "log", {"a.parquet": {"src": [1], "dst": [2]}})
    run = f"run log --state s --workers {workers}"
    command = f"ulimit -n {files}; exec {' '.join(PROGRAM)} {run}"
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True, text=True, check=False, timeout=PATIENCE, env=ENVIRONMENT,
        cwd=tmp_path,
    )  # fmt: skip
    fails(done, 1, words)


def test_a_limit_of_open_files_that_a_process_may_raise_is_raised(tmp_path: Path) -> None:
    write_log(tmp_path / "log", {"a.parquet": {"src": [1], "dst": [2]}})
    run = "run log --state s --workers 1 --analytics none"
    done = subprocess.run(
        ["bash", "-c", f"ulimit -S -n 30; exec {' '.join(PROGRAM)} {run}"],
        capture_output=True, text=True, check=False, timeout=PATIENCE, env=ENVIRONMENT,
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_numba_that_compiles_nothing_is_told(tmp_path: Path) -> None:
    write_log(tmp_path / "log", {"a.parquet": {"src": [1], "dst": [2]}})
    words = "NUMBA_DISABLE_JIT is set, so Numba compiles nothing"
    for command in (["run", "log", "--state", "s"], ["replay", "log", "--to", "1"]):
        done = subprocess.run(
            [*PROGRAM, *command], capture_output=True, text=True, check=False, timeout=PATIENCE,
            env={**ENVIRONMENT, "NUMBA_DISABLE_JIT": "1"}, cwd=tmp_path,
        )  # fmt: skip
        fails(done, 1, words)


def test_a_machine_without_locks_between_processes_is_told(tmp_path: Path) -> None:
    write_log(tmp_path / "log", {"a.parquet": {"src": [1], "dst": [2]}})
    user = [] if os.getuid() == 0 else ["--map-root-user"]
    own_shm = "mount -t tmpfs -o ro none /dev/shm"

    def with_own_shm(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["unshare", "--mount", *user, "bash", "-c", f"{own_shm} && {command}"],
            capture_output=True, text=True, check=False, timeout=PATIENCE, env=ENVIRONMENT,
            cwd=tmp_path,
        )  # fmt: skip

    if with_own_shm("true").returncode:
        pytest.skip("this machine lets nobody mount")
    done = with_own_shm(f"exec {' '.join(PROGRAM)} run log --state s")
    fails(done, 1, "have locks in /dev/shm, where none can be made (Read-only file system)")


def test_a_closed_pipe_ends_quietly() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    process = subprocess.Popen(
        [*PROGRAM, "--help"], stdout=write_end, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    os.close(write_end)
    _, errors = process.communicate(timeout=PATIENCE)
    assert errors == ""
