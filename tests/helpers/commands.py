"""Commands, in processes of their own or in this one, and the small logs that they are given."""

import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide.flows.cli import main

PROGRAM = [sys.executable, "-m", "graphtide.flows"]
ENVIRONMENT = {
    **{key: value for key, value in os.environ.items() if not key.startswith("DASK_")},
    "COLUMNS": "80",
    "PYTHONWARNINGS": "default",
}


_PROGRESS = re.compile(r"^\d\d:\d\d:\d\d  .*\n", re.MULTILINE)


def graphtide(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, away from the checkout.

    Without the lines of its progress, which it writes if it takes longer than 10 s.
    """
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
        cwd=cwd or Path(sys.prefix),
    )
    done.stderr = _PROGRESS.sub("", done.stderr)
    return done


def graphtide_here(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The same in this process, which has imported already what takes a new one a second or two.

    Not for what shows in a process alone: its clusters, signals, limits and output that fails. A
    run takes the cluster of its test file: see `run_here`.
    """
    words = list(map(str, arguments))
    output, errors = io.StringIO(), io.StringIO()
    with (
        chdir(cwd or Path(sys.prefix)),
        mock.patch.dict(os.environ, {"COLUMNS": "80"}),
        redirect_stdout(output),
        redirect_stderr(errors),
        pytest.raises(SystemExit) as ended,
    ):
        main(words)
    status = ended.value.code
    assert isinstance(status, int)
    rest = _PROGRESS.sub("", errors.getvalue())
    return subprocess.CompletedProcess(words, status, output.getvalue(), rest)


def run_here(scheduler: str, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """``graphtide run``, in this process and on a cluster that is there already."""
    return graphtide_here("run", *arguments, "--scheduler", scheduler, cwd=cwd)


@contextmanager
def ctrl_c_is_heard() -> Iterator[None]:
    """Processes started in here take SIGINT, also where the tests are in the background of a shell.

    Such a shell has its children ignore the signal, and they hand that down.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def fails(done: subprocess.CompletedProcess[str], status: int, *words: str) -> None:
    """Check that a command ended with this status and one sentence that has these words."""
    assert done.returncode == status, done.stderr
    assert done.stderr.startswith("graphtide")
    assert done.stderr.count("\n") == 1, f"more than one line:\n{done.stderr}"
    for word in words:
        assert word in done.stderr


def write_log(folder: Path, files: dict[str, dict[str, list]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in files.items():
        pq.write_table(pa.table(columns), folder / name)
    return folder


def random_rows(seed: int, count: int) -> dict[str, list]:
    """Inserts and deletes over 30 vertices, self loops among them."""
    draw = np.random.default_rng(seed)
    return {
        "op": draw.choice([1, 1, 1, -1], count).astype(np.int8).tolist(),
        "src": (draw.integers(0, 30, count) * 1_000_000_007 - 5).tolist(),
        "dst": (draw.integers(0, 30, count) * 1_000_000_007 - 5).tolist(),
    }


def replayed(files: list[dict[str, list]], directed: bool) -> list[tuple[int, int]]:
    """The edges after all rows, one by one."""
    edges: set[tuple[int, int]] = set()
    for columns in files:
        for op, src, dst in zip(*(columns[name] for name in ("op", "src", "dst")), strict=True):
            key = (src, dst) if directed else (min(src, dst), max(src, dst))
            if src != dst:
                (edges.add if op == 1 else edges.discard)(key)
    return sorted(edges)


FIRST = {"a.parquet": random_rows(1, 400), "b.parquet": random_rows(2, 300)}
SECOND = {"c.parquet": random_rows(3, 200)}


#: The run that makes ``state`` of ``log``. By default it writes a checkpoint each minute, and so
#: may have more than one where the machine is busy.
RUN = ["run", "log", "--state", "state", "--undirected", "--batch-rows", 150,
       "--checkpoint-every", 1000]  # fmt: skip


def run_first(folder: Path, *options: object, scheduler: str | None = None) -> str:
    """Make ``log`` and ``state`` of an undirected run in ``folder``; what the run printed.

    On a cluster of its own, or on this one.
    """
    write_log(folder / "log", FIRST)
    run = [*RUN, *options]
    done = run_here(scheduler, *run[1:], cwd=folder) if scheduler else graphtide(*run, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def exported(folder: Path, state: str = "state") -> list[tuple[int, int]]:
    done = graphtide_here("export", state, "--edges", "edges.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = (folder / "edges.csv").read_text().splitlines()
    assert lines[0].replace('"', "") == "src,dst"
    return [tuple(map(int, line.split(","))) for line in lines[1:]]
