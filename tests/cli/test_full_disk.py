"""A full disk or arena ends a run with one sentence; with room, the same command goes on."""

import json
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import fails, run_here
from graphtide.io.state.directory import StateDirectory
from small_log import files_below, results_below


def write_log(folder: Path, files: int, rows: int, vertices: int) -> Path:
    """Inserts, as many a file."""
    draw = np.random.default_rng(files)
    folder.mkdir()
    for number in range(files):
        columns = {name: draw.integers(0, vertices, rows) * 10**12 for name in ("src", "dst")}
        pq.write_table(pa.table(columns), folder / f"{number:03d}.parquet")
    return folder


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """Writes beyond it fail in this process, which is the one that writes the state."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def options(folder: Path, *others: object) -> list[object]:
    return [folder.parent / "log", "--state", folder, "--checkpoint-every", 1000, *others]


#: What is written -> a log where that is the first file that is too large, and flags.
CASES = {
    "plan/*.json": ((60, 10, 50), ["--analytics", "none"]),
    "results/*/*.parquet": ((2, 3000, 5000), ["--analytics", "pagerank"]),
    "batches/*.parquet": ((1, 1000, 60), ["--batch-rows", 5, "--analytics", "none"]),
    "checkpoints/*/edges.parquet": ((2, 10_000, 5000), ["--analytics", "none"]),
}


@pytest.mark.everyday
@pytest.mark.parametrize("written", CASES)
def test_a_file_that_cannot_be_written_is_named_and_written_next_time(
    tmp_path: Path, scheduler: str, written: str
) -> None:
    log, flags = CASES[written]
    write_log(tmp_path / "log", *log)
    undisturbed, state = tmp_path / "undisturbed", tmp_path / "state"
    done = run_here(scheduler, *options(undisturbed, *flags), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    largest = max(file.stat().st_size for file in undisturbed.glob(written))
    # Far less: reports have times in them, so that no two runs write as many bytes.
    with no_file_larger_than(largest // 2):
        done = run_here(scheduler, *options(state, *flags), cwd=tmp_path)
    folder = written.split("/")[0]
    fails(done, 1, f"{state / folder}", "cannot be written (File too large); make room")
    assert not [*state.rglob("*.tmp")], "half a file is left"
    again = run_here(scheduler, *options(state, *flags), cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert results_below(state) == results_below(undisturbed)
    for kept in ("plan", "checkpoints"):
        ours, theirs = files_below(state / kept), files_below(undisturbed / kept)
        assert ours.keys() == theirs.keys()
        # A manifest says how its batches came to the graph.
        same = [name for name in ours if not name.endswith("manifest.json")]
        assert {name: ours[name] for name in same} == {name: theirs[name] for name in same}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB in memory."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "graphtide-test", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("left_bytes", [0, 4096, 40_000])
def test_a_disk_that_is_full_is_told_and_with_room_the_same_command_goes_on(
    tmp_path: Path, scheduler: str, small_disk: Path, left_bytes: int
) -> None:
    write_log(tmp_path / "log", 2, 10_000, 200)
    filler, state = small_disk / "filler", small_disk / "state"
    command = [tmp_path / "log", "--state", state, "--analytics", "none"]
    filler.write_bytes(bytes((1 << 20) - left_bytes))
    done = run_here(scheduler, *command, cwd=tmp_path)
    fails(done, 1, str(state), "No space left on device")
    filler.unlink()
    assert run_here(scheduler, *command, cwd=tmp_path).returncode == 0
    undisturbed = tmp_path / "undisturbed"
    command[2] = undisturbed
    assert run_here(scheduler, *command, cwd=tmp_path).returncode == 0
    edges = "checkpoints/batch=000000000001/edges.parquet"
    assert (state / edges).read_bytes() == (undisturbed / edges).read_bytes()


def test_an_arena_that_is_full_is_warned_of_and_with_a_larger_one_the_run_goes_on(
    tmp_path: Path, scheduler: str
) -> None:
    write_log(tmp_path / "log", 30, 4000, 1500)
    state, undisturbed = tmp_path / "state", tmp_path / "undisturbed"
    flags = ["--analytics", "none", "--set", "arena_bytes=1MiB"]
    done = run_here(scheduler, *options(state, *flags), "--log-format", "json", cwd=tmp_path)
    events = [json.loads(line) for line in done.stderr.splitlines()]
    # Where the machine is slow, also that it is nearly full.
    warnings = [each for each in events if each["event"] == "warning"]
    assert {each["resource"] for each in warnings} == {"arena"}
    assert "is likely too small for the whole log" in warnings[0]["message"]
    assert done.returncode == 1
    assert "arena too small" in events[-1]["message"]
    (kept,) = StateDirectory(state).checkpoint_ids()
    assert 0 <= kept < 29, "nothing of it fitted, or all of it"
    flags[-1] = "arena_bytes=64MiB"
    again = run_here(scheduler, *options(state, *flags), cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "warning" not in again.stdout
    assert f"applied    {29 - kept} batches" in again.stdout
    assert run_here(scheduler, *options(undisturbed, *flags), cwd=tmp_path).returncode == 0
    edges = "checkpoints/batch=000000000029/edges.parquet"
    assert (state / edges).read_bytes() == (undisturbed / edges).read_bytes()
