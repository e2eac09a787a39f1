"""The command line before anything runs: help, usage, settings; and logs that it makes itself."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from commands import (
    ENVIRONMENT,
    PROGRAM,
    contents,
    fails,
    graphtide,
    graphtide_here,
    run_here,
    write_log,
)
from emulated_device import EmulatedDevice
from graphtide import DynamicGraph, UpdateBatch
from graphtide.config.settings import default_text, load_settings, settings_schema
from graphtide.flows.cli import names_a_cluster
from graphtide.flows.commands import generate
from graphtide.gpu_core.algorithms.registry import ANALYTICS
from graphtide.gpu_core.generators.watts_alpha import watts_alpha_edges
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


# -- generate and import


def ops_of(table: pa.Table) -> np.ndarray:
    assert table.schema.field("op").type == pa.binary(1)
    return np.frombuffer(b"".join(table["op"].to_pylist()), np.int8)


def test_generated_logs_are_reproducible_and_whole(tmp_path: Path) -> None:
    options = ["--rows", 5000, "--files", 3, "--vertex-deletes", 0.01, "--seed", 7]
    done = graphtide_here("generate", "uniform", "one", *options, cwd=tmp_path)
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
    fails(graphtide_here("generate", "uniform", "one", cwd=tmp_path), 2, "one", "not empty")


def test_a_killed_call_leaves_nothing_that_looks_like_a_log(tmp_path: Path) -> None:
    script = (
        "import os, signal\n"
        "from graphtide.flows.commands.generate import write_log\n"
        "from graphtide.gpu_core.generators.update_streams import UpdateMix\n"
        "def edges(numbers):\n"
        "    if numbers.size and numbers.max() >= 20:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return numbers.astype('i8'), numbers.astype('i8') + 1\n"
        "write_log('log', edges, 40, mix=UpdateMix(), files=4, properties=False, seed=0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=False)
    assert done.returncode == -signal.SIGKILL
    whole = [*(tmp_path / "log").glob("updates-?????.parquet.tmp")]
    assert len(whole) == 2, "it was killed at its third file"
    fails(graphtide_here("inspect", tmp_path / "log"), 1, "log")


def test_a_call_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*arguments: object) -> int:
        path = arguments[4]
        assert isinstance(path, Path)
        path.touch()
        if len([*path.parent.iterdir()]) == 3:
            raise KeyboardInterrupt
        return 1

    monkeypatch.setattr(generate, "_write_file", write)
    with pytest.raises(KeyboardInterrupt):
        generate.generate_uniform(
            str(tmp_path / "log"), 100, 10,
            {"files": 5, "repeats": 0, "deletes": 0, "vertex_deletes": 0, "properties": False,
             "seed": 0},
        )  # fmt: skip
    assert not [*(tmp_path / "log").iterdir()]


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


def test_a_log_of_a_model_is_its_edges(tmp_path: Path) -> None:
    sizes = {
        ("watts-alpha", "--vertices", 60, "--degree", 5): 150,
        ("watts-strogatz", "--vertices", 60, "--degree", 6): 180,
        ("barabasi-albert", "--vertices", 60, "--degree", 2): 120,
        ("erdos-renyi", "--vertices", 60, "--degree", 5): 150,
        ("geometric", "--vertices", 60, "--degree", 5, "--rows", 90): 90,
        ("grid", "--vertices", 60, "--width", 10): 104,
    }
    for (model, *words), rows in sizes.items():
        done = graphtide_here("generate", model, model, *words, "--files", 2, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        table = pa.concat_tables(pq.read_table(each) for each in (tmp_path / model).iterdir())
        assert table.num_rows == rows
    table = pq.read_table(tmp_path / "watts-alpha")
    src, dst = table["src"], table["dst"]
    edges = watts_alpha_edges(60, 5, 1.0)
    assert [src.to_pylist(), dst.to_pylist()] == [each.tolist() for each in edges]
    first = ("--vertices", 60, "--degree", 5, "--rows", 40)
    done = graphtide_here("generate", "watts-alpha", "first", *first, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        pq.read_table(tmp_path / "first")
        .select(["src", "dst"])
        .equals(table.select(["src", "dst"]).slice(0, 40))
    )


@pytest.mark.parametrize(
    ("model", "computation"),
    [("watts-alpha", "watts_alpha_edges"), ("geometric", "geometric_size")],
)
def test_a_folder_that_takes_no_log_is_refused_before_edges_are_computed(
    model: str, computation: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def computes(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(generate, computation, computes)
    (tmp_path / "full" / "log").mkdir(parents=True)
    (tmp_path / "file").touch()
    for out, words in (
        ("full", "full is not empty; name a new folder"),
        ("file", "file is a file; name a new folder"),
        ("file/log", "cannot be written (Not a directory)"),
    ):
        fails(graphtide_here("generate", model, out, cwd=tmp_path), 2, words)


def test_a_log_of_two_vertices_has_one_file(tmp_path: Path) -> None:
    done = graphtide_here("generate", "grid", "log", "--vertices", 2, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (only,) = (tmp_path / "log").iterdir()
    assert pq.read_table(only).select(["src", "dst"]).to_pylist() == [{"src": 0, "dst": 1}]


def test_a_gpu_grows_the_log_of_the_host(emulated_device: EmulatedDevice, tmp_path: Path) -> None:
    for engine in ("host", "cuda"):
        sizes = ("--vertices", 30, "--degree", 4, "--engine", engine)
        done = graphtide_here("generate", "watts-alpha", engine, *sizes, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
    assert contents(tmp_path / "host") == contents(tmp_path / "cuda")
    assert emulated_device.launches


def test_a_log_of_a_window_leaves_its_edges(tmp_path: Path) -> None:
    """The graph at the end, told row by row; a run's counts of it, too."""
    stream = ("--stream", "sliding-window", "--window", 30, "--files", 2)
    done = graphtide_here(
        "generate", "erdos-renyi", "log", "--vertices", 40, *stream, "--rows", 201, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    table = pa.concat_tables(pq.read_table(each) for each in sorted(tmp_path.glob("log/*")))
    there: list[tuple[int, int]] = []
    ends = zip(table["src"].to_pylist(), table["dst"].to_pylist(), strict=True)
    for op, edge in zip(ops_of(table), ends, strict=True):
        if op > 0:
            there.append(edge)
        else:
            assert edge == there.pop(0)
    graph = DynamicGraph(engine="host")
    for name in sorted(tmp_path.glob("log/*")):
        part = pq.read_table(name)
        ends_of = (part[column].to_numpy() for column in ("src", "dst"))
        graph.apply(UpdateBatch.from_rows(ops_of(part), *ends_of))
    edges = graph.edges()
    assert sorted(zip(edges.src.tolist(), edges.dst.tolist(), strict=True)) == sorted(there)
    assert graph.num_edges == 31


def test_a_window_of_more_edges_than_rows_is_never_full(tmp_path: Path) -> None:
    size = ("--vertices", 40, "--rows", 60, "--files", 1)
    for window in (60, 2**70):
        stream = ("--stream", "sliding-window", "--window", window)
        done = graphtide_here("generate", "erdos-renyi", window, *size, *stream, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert (ops_of(pq.read_table(tmp_path / str(window))) == 1).all()
    assert contents(tmp_path / "60") == contents(tmp_path / str(2**70))


def test_a_generated_log_can_carry_properties(tmp_path: Path) -> None:
    done = graphtide_here(
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
    done = graphtide_here("import", "karate.txt", "log", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 edges" in done.stdout
    files = list((tmp_path / "log").iterdir())
    table = pa.concat_tables(pq.read_table(path) for path in files)
    assert table.select(["src", "dst"]).to_pylist() == [
        {"src": 1, "dst": 2},
        {"src": 3, "dst": 1},
    ]
    # A second import under the same name would repeat the first.
    fails(graphtide_here("import", "karate.txt", "log", cwd=tmp_path), 2, "karate")
    assert list((tmp_path / "log").iterdir()) == files


def test_how_a_matrix_is_read_is_told_as_that_of_an_edge_list_is(tmp_path: Path) -> None:
    kinds = {"symmetric": 4, "general": 2}
    for symmetry, edges in kinds.items():
        text = f"%%MatrixMarket matrix coordinate pattern {symmetry}\n3 3 2\n2 1\n3 1\n"
        (tmp_path / f"{symmetry}.mtx").write_text(text)
        done = graphtide_here("import", f"{symmetry}.mtx", "log", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert f"{symmetry}.mtx: a Matrix Market matrix, pattern, {symmetry};" in done.stdout
        assert ("in both directions; --undirected" in done.stdout) == (symmetry == "symmetric")
        assert f"\n{edges} edges, " in done.stdout


def test_an_import_tells_how_it_reads_the_file(scheduler: str, tmp_path: Path) -> None:
    (tmp_path / "messages.txt").write_text(
        "1 2 1082040961\n3 4 1082155839\n5 2 1082414391\n1 1 1\n"
    )
    done = graphtide_here("import", "messages.txt", "log", cwd=tmp_path)
    flat = " ".join(done.stdout.split())
    assert "messages.txt: fields separated by white space, no header" in flat
    assert "columns src int64, dst int64, weight double" in flat
    (tmp_path / "messages.txt").write_text("1 2 1082040961\n3 4 1082155839\n5 2 1082414391\n")
    done = graphtide_here("import", "messages.txt", "times", cwd=tmp_path)
    flat = " ".join(done.stdout.split())
    assert "columns src int64, dst int64, ts int64" in flat
    assert "rows src dst ts 1 2 1082040961 3 4 1082155839 5 2 1082414391" in flat
    assert "3 edges" in flat
    assert flat.endswith("next: graphtide run times --state STATE --records semantic")
    next_run = ["times", "--state", "state", "--records", "semantic", "--analytics", "none"]
    run = run_here(scheduler, *next_run, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "3 edges (directed, semantic)" in " ".join(run.stdout.split())
    done = graphtide_here(
        "import", "messages.txt", "weights", "--columns", "from,to,weight", cwd=tmp_path
    )
    assert "weight double" in done.stdout
    done = graphtide_here("import", "messages.txt", "no", "--columns", "from,to,x", cwd=tmp_path)
    fails(done, 2, "'x' is unknown")
    assert not (tmp_path / "no").exists()


def test_a_matrix_market_file_becomes_a_log(tmp_path: Path) -> None:
    (tmp_path / "m.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n3 1 2\n"
    )
    done = graphtide_here("import", "m.mtx", "log", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table = pq.read_table(next((tmp_path / "log").iterdir()))
    assert table["src"].to_pylist() == [1, 3]
    assert table["weight"].to_pylist() == [0.5, 2.0]


def test_a_file_that_is_no_edge_list_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("1 2\none two\n")
    fails(graphtide_here("import", "bad.txt", "log", cwd=tmp_path), 1, "bad.txt", "line 2")
    assert not (tmp_path / "log").exists()
    fails(graphtide_here("import", "none.txt", "log", cwd=tmp_path), 1, "none.txt")
