"""Runs as a user starts them: what they print and leave, on a terminal, and when stopped."""

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from commands import (
    ENVIRONMENT,
    FIRST,
    PROGRAM,
    SECOND,
    ctrl_c_is_heard,
    exported,
    fails,
    graphtide,
    graphtide_here,
    replayed,
    run_first,
    write_log,
)
from small_log import files_below
from waiting import PATIENCE, wait_until


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with ``log`` and ``state`` of an undirected run; what the run printed."""
    folder = tmp_path_factory.mktemp("ran")
    return folder, run_first(folder)


def test_a_run_prints_what_it_did(ran: tuple[Path, str]) -> None:
    folder, text = ran
    assert max(len(line) for line in text.splitlines()) <= 80
    edges = replayed(list(FIRST.values()), directed=False)
    loops = sum(
        src == dst
        for columns in FIRST.values()
        for src, dst in zip(columns["src"], columns["dst"], strict=True)
    )
    flat = " ".join(text.split())
    flat = re.sub(r"^dashboard http://127\.0\.0\.1:\d+/graphtide ", "", flat)
    assert flat.startswith("log 2 files, a.parquet … b.parquet applied 5 batches, 700 rows")
    assert f"{loops} dropped (self loops)" in flat
    assert f"graph 30 vertices, {len(edges):,} edges (undirected, simple)" in flat
    assert "average clustering" in flat
    assert "after rows 150 to 299 of b.parquet" in flat
    results = re.search(r"^results +(.+)$", text, re.MULTILINE)
    assert results is not None
    names = sorted(path.name for path in (folder / results.group(1)).iterdir())
    assert names == ["clustering.parquet", "pagerank.parquet"]


def test_triangles_and_clustering_are_printed_as_networkx_has_them(ran: tuple[Path, str]) -> None:
    import networkx

    graph = networkx.Graph(replayed(list(FIRST.values()), directed=False))
    triangles = sum(networkx.triangles(graph).values()) // 3
    flat = " ".join(ran[1].split())
    assert f"triangles {triangles:,};" in flat
    assert f"average clustering {networkx.average_clustering(graph):.6f}" in flat
    assert f"transitivity {networkx.transitivity(graph):.6f}" in flat
    ranks = networkx.pagerank(graph, tol=1e-12)
    top = max(ranks, key=lambda vertex: (ranks[vertex], -vertex))
    assert f"pagerank {top} ({ranks[top]:.6f})"[:-3] in flat


def test_an_export_is_the_replay_of_the_log(ran: tuple[Path, str]) -> None:
    folder, _ = ran
    edges = exported(folder)
    assert edges == replayed(list(FIRST.values()), directed=False)
    done = graphtide_here(
        "export", "state", "--vertices", "v.parquet", "--edges", "e.parquet", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    table = pq.read_table(folder / "e.parquet")
    pairs = list(zip(table["src"].to_pylist(), table["dst"].to_pylist(), strict=True))
    assert pairs == edges
    vertices = pq.read_table(folder / "v.parquet")["vertex"].to_pylist()
    assert vertices == sorted(vertices)
    assert len(vertices) == 30


def test_an_export_names_the_endings_that_it_knows(ran: tuple[Path, str]) -> None:
    folder, _ = ran
    fails(graphtide_here("export", "state", "--edges", "e.xyz", cwd=folder), 2, ".xyz", ".parquet")
    for ending in ("graphml", "mtx"):
        done = graphtide_here("export", "state", "--vertices", f"v.{ending}", cwd=folder)
        fails(done, 2, f"v.{ending}", "holds edges", f"--edges v.{ending}", ".txt")
    assert not (folder / "e.xyz").exists()


def test_status_shows_the_state(ran: tuple[Path, str]) -> None:
    folder, _ = ran
    done = graphtide_here("status", "state", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    # How long the path of the log is, is the user's choice.
    lines = done.stdout.replace(str(folder), "folder").splitlines()
    assert max(map(len, lines)) <= 80
    edges = len(replayed(list(FIRST.values()), directed=False))
    flat = " ".join(done.stdout.split())
    assert "5 of 5 batches" in flat
    assert "handover 5 batches by ring" in flat
    assert f"30 vertices, {edges} edges (undirected, simple)" in flat
    values = json.loads(graphtide_here("status", "state", "--json", cwd=folder).stdout)
    assert values["batches_applied"] == values["batches_planned"] == 5
    assert values["rows_applied"] == values["rows_planned"] == 700
    assert values["num_edges"] == edges
    assert values["is_running"] is False
    assert values["handover"] == {"ring": 5}
    fates = ("inserted", "updated", "deleted", "overridden", "missing", "dropped")
    assert sum(values[name] for name in fates) == 700


def test_a_search_from_sources_that_are_there_and_not(
    ran: tuple[Path, str], tmp_path: Path
) -> None:
    """Results that were not asked for before are computed without applying a batch."""
    import networkx

    shutil.copytree(ran[0], tmp_path, dirs_exist_ok=True)
    graph = networkx.Graph(replayed(list(FIRST.values()), directed=False))
    source = min(graph)
    search = ["--analytics", "bfs", "--set", f"bfs.sources=[{source}, 77]"]
    done = graphtide(*RUN_AGAIN, *search, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = networkx.single_source_shortest_path_length(graph, source)
    line = f"bfs {len(expected)} of 30 vertices reached from 1 source, the farthest after"
    assert line in " ".join(done.stdout.split())
    # How long the paths of the two logs are, is the user's choice.
    shown = done.stdout.replace(str(tmp_path), "folder").replace(str(ran[0]), "folder")
    assert max(map(len, shown.splitlines())) <= 80
    values = json.loads(graphtide_here("status", "state", "--json", cwd=tmp_path).stdout)
    assert values["summary"].keys() == {"bfs", "clustering", "pagerank"}
    assert values["summary"]["bfs"] == {
        "analytic": "bfs",
        "parameters": {"sources": [source, 77], "parents": False},
        "vertices": 30,
        "sources": 1,
        "reached": len(expected),
        "depth": max(expected.values()),
    }
    table = pq.read_table(tmp_path / values["results"]["bfs"], partitioning=None)
    assert [str(kind) for kind in table.schema.types] == ["int64", "int32"]
    found = dict(zip(table["vertex"].to_pylist(), table["distance"].to_pylist(), strict=True))
    assert found == {vertex: expected.get(vertex, -1) for vertex in sorted(found)}


RUN_AGAIN = ["run", "log", "--state", "state", "--undirected", "--batch-rows", 150]


def test_a_finished_log_has_nothing_to_do(ran: tuple[Path, str]) -> None:
    folder, _ = ran
    before = files_below(folder)
    done = graphtide_here(*RUN_AGAIN, cwd=folder)  # it starts no cluster
    assert done.returncode == 0, done.stderr
    assert "nothing to do" in done.stdout
    assert files_below(folder) == before


def test_a_new_file_is_all_that_is_applied(ran: tuple[Path, str], tmp_path: Path) -> None:
    shutil.copytree(ran[0], tmp_path, dirs_exist_ok=True)
    write_log(tmp_path / "log", SECOND)
    done = graphtide(*RUN_AGAIN, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "applied    2 batches, 200 rows" in done.stdout
    assert exported(tmp_path) == replayed([*FIRST.values(), *SECOND.values()], directed=False)


# -- a terminal, Ctrl-C, and a run that is looked at


@contextmanager
def on_a_terminal(*arguments: object, cwd: Path) -> Iterator[tuple[subprocess.Popen, int]]:
    """Start a command whose standard error is a terminal; yield it and the terminal's other end."""
    ours, theirs = pty.openpty()
    with ctrl_c_is_heard():
        process = subprocess.Popen(
            [*PROGRAM, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
            env={**ENVIRONMENT, "COLUMNS": "80"},
            cwd=cwd,
            start_new_session=True,
        )
    os.close(theirs)
    try:
        yield process, ours
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
        os.close(ours)


def read_until(terminal: int, pattern: str | None, seconds: float = PATIENCE) -> str:
    """Read a terminal until ``pattern`` is there; None: until the command has closed it."""
    text = ""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            piece = os.read(terminal, 65536).decode(errors="replace")
        except OSError:  # the other end is closed
            piece = ""
        text += piece
        if pattern is None and not piece:
            return text
        if pattern is not None and re.search(pattern, text):
            return text
        if not piece:
            break
    msg = f"{pattern!r} did not come; there was {text!r}"
    raise AssertionError(msg)


def long_log(folder: Path, rows: int = 60_000) -> Path:
    draw = np.random.default_rng(9)
    columns = {name: draw.integers(0, 2000, rows) for name in ("src", "dst")}
    return write_log(folder, {"a.parquet": columns})


def test_progress_is_one_line_on_a_terminal_and_gone_at_the_end(tmp_path: Path) -> None:
    long_log(tmp_path / "log")
    run = ["run", "log", "--state", "state", "--batch-rows", 1000]
    with on_a_terminal(*run, cwd=tmp_path) as (process, terminal):
        text = read_until(terminal, None)
        summary, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "applied    60 batches" in summary
    # The end of a line may be cut off, as it is where kernels are compiled until the last batch.
    assert re.search(r"batch \d+/60 .* rows/s .* (vertices .* edges|compiling kernels)", text)
    assert "\n" not in text
    written = [line for line in re.split(r"\r|\x1b\[K", text) if line]
    assert max(map(len, written)) <= 79
    assert text.endswith("\r\x1b[K")


def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(tmp_path: Path) -> None:
    long_log(tmp_path / "log", 20_000)
    run = ["run", "log", "--state", "state", "--batch-rows", 100, "--checkpoint-every", 40]
    with on_a_terminal(*run, cwd=tmp_path) as (process, terminal):
        checkpoints = tmp_path / "state" / "checkpoints"
        wait_until(lambda: any(checkpoints.glob("batch=*")))
        os.kill(process.pid, signal.SIGSTOP)  # held still, or it may be done too soon
        # The state of a run that goes on can be looked at.
        values = json.loads(graphtide_here("status", "state", "--json", cwd=tmp_path).stdout)
        assert values["is_running"] is True
        # As a terminal does it: to every process of the group, workers included.
        os.killpg(process.pid, signal.SIGINT)
        os.kill(process.pid, signal.SIGCONT)
        text = read_until(terminal, None)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    last = re.split(r"\r|\x1b\[K", text.rstrip())[-1]
    assert last.startswith("graphtide run: stopped; state keeps everything up to batch ")
    assert "Traceback" not in text
    values = json.loads(graphtide_here("status", "state", "--json", cwd=tmp_path).stdout)
    assert values["is_running"] is False
    assert 0 < values["batches_applied"] < 200
    done = graphtide(*run, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    applied = re.search(r"applied +([\d,]+) batches", done.stdout)
    assert applied is not None
    assert int(applied.group(1)) == 200 - values["batches_applied"]
    table = pq.read_table(tmp_path / "log" / "a.parquet")
    pairs = zip(table["src"].to_pylist(), table["dst"].to_pylist(), strict=True)
    assert exported(tmp_path) == sorted({(src, dst) for src, dst in pairs if src != dst})


def test_a_second_run_on_the_same_state_is_refused_while_the_first_goes_on(tmp_path: Path) -> None:
    long_log(tmp_path / "log")
    run = ["run", "log", "--state", "state", "--batch-rows", 200]
    with on_a_terminal(*run, cwd=tmp_path) as (process, terminal):
        read_until(terminal, r"batch \d+/300")
        os.kill(process.pid, signal.SIGSTOP)  # held still, or it may be done too soon
        fails(graphtide_here(*run, cwd=tmp_path), 1, "state")
        os.kill(process.pid, signal.SIGTERM)
        os.kill(process.pid, signal.SIGCONT)
        read_until(terminal, None)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 143


def test_the_demo_says_what_it_did_and_where(tmp_path: Path) -> None:
    done = graphtide("demo", "here", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    assert "12 batches" in done.stdout
    next_line = re.search(r"^next +graphtide (.+)$", done.stdout, re.MULTILINE)
    assert next_line is not None
    assert graphtide_here(*next_line.group(1).split(), cwd=tmp_path).returncode == 0
    results = sorted(path.name for path in (tmp_path / "here/state/results").glob("batch=*"))
    assert results == [f"batch={number:012d}" for number in (3, 7, 11)]
    fails(graphtide_here("demo", "here", cwd=tmp_path), 2, "here", "not empty")
