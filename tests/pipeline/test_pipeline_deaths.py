"""Workers and runs that are killed or interrupted: nothing is lost, and nothing remains."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from distributed import Client, KilledWorker

from commands import ctrl_c_is_heard
from graphtide.config.settings import RunSettings, load_settings
from graphtide.gpu_core.errors import ClusterError, StateError, UpdateLogError
from graphtide.io.log.columns.column_types import op_bytes
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.reports import read_reports
from graphtide.pipeline.graph_client.answers import explain
from graphtide.pipeline.graph_client.generation import GraphLostError
from graphtide.pipeline.graph_worker.pinned import Arrays, Copy
from graphtide.pipeline.ingest import run
from graphtide.pipeline.monitoring.progress import Progress
from graphtide.pipeline.run_files import RunFiles
from graphtide.pipeline.run_summary import RunSummary
from graphtide.pipeline.tasks import GraphGoneError
from memory_files import memory_files
from small_log import (
    BATCH_ROWS,
    BATCHES,
    FILES,
    WAYS,
    expected_hash,
    results_below,
    rows_of,
    write_file,
)
from waiting import PATIENCE, wait_until
from worker_jobs import cut_when_read
from workers import worker_pids

pytestmark = pytest.mark.usefixtures("no_memory_file_remains")


#: They take many pages of memory.
VIEWED_ROWS = 10_000


def viewed_rows(seed: int) -> pa.Table:
    """Rows whose columns a worker reads as views of the file."""
    rows = rows_of(seed, VIEWED_ROWS)
    columns = {name: pa.array(rows[name].astype(np.int32)) for name in ("src", "dst")}
    columns["op"] = op_bytes(rows["op"])
    required = [pa.field(name, each.type, nullable=False) for name, each in columns.items()]
    return pa.table(columns, schema=pa.schema(required))


@pytest.fixture(scope="module")
def undisturbed(scheduler: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Results of a run that nothing happens to."""
    folder = tmp_path_factory.mktemp("undisturbed")
    for number in range(FILES):
        write_file(folder / "log", number)
    wanted = {"scheduler": scheduler, "batch_rows": BATCH_ROWS, "analytics_every": 15}
    whole = run(str(folder / "log"), str(folder / "state"), load_settings(wanted))
    assert whole.state_hash == expected_hash()
    return results_below(folder / "state")


@pytest.mark.everyday
@WAYS
@pytest.mark.parametrize("victim", ["graph-0", "cpu-0"])
def test_a_worker_that_is_killed_changes_nothing(
    log: Path,
    tmp_path: Path,
    run_settings: Callable[..., RunSettings],
    scheduler: str,
    undisturbed: dict[str, Any],
    victim: str,
    handover: str,
) -> None:
    pids = worker_pids(scheduler)
    stages: list[str] = []

    def kill_once(progress: Progress) -> None:
        stages.append(progress.stage)
        if progress.batches_done >= BATCHES // 2 and victim in pids:
            os.kill(pids.pop(victim), signal.SIGKILL)

    state = tmp_path / "state"
    wanted = run_settings(checkpoint_every=20, analytics_every=15, handover=handover)
    summary = run(str(log), str(state), wanted, kill_once)
    assert victim not in pids, "nobody was killed"
    assert ("recover" in stages) == (victim == "graph-0")
    assert summary.state_hash == expected_hash()
    assert [report.batch_id for report in summary.reports] == list(range(BATCHES))
    assert [report.batch_id for report in read_reports(StateDirectory(state))] == list(
        range(BATCHES)
    )
    assert results_below(state) == undisturbed


def test_a_file_that_is_cut_while_it_is_read_is_named(
    tmp_path: Path, run_settings: Callable[..., RunSettings], scheduler: str
) -> None:
    """The worker that looks at what is gone dies; the one that comes after it says why."""
    for number in range(2):
        write_file(tmp_path / "log", number, viewed_rows(number))
    reader = worker_pids(scheduler)["cpu-0"]
    with Client(scheduler, set_as_default=False) as client:
        client.run(cut_when_read, tmp_path / "log" / "0001.parquet")
    with pytest.raises(UpdateLogError, match=r"0001\.parquet is cut short"):
        run(str(tmp_path / "log"), str(tmp_path / "state"), run_settings(batch_rows=VIEWED_ROWS))
    assert StateDirectory(tmp_path / "state").checkpoint_ids() == [0]
    assert worker_pids(scheduler)["cpu-0"] != reader, "nobody looked at what was gone"


RUN_IN_A_PROCESS = """
import sys
import time
from graphtide.config.settings import load_settings
from graphtide.io.state.directory import StateDirectory
from graphtide.pipeline.ingest import run

def main():
    log, state, scheduler, handover = sys.argv[1:]
    settings = {"batch_rows": 50, "checkpoint_every": 10, "analytics_every": 15, "workers": 1}
    settings["handover"] = handover
    if scheduler:
        del settings["workers"]
        settings["scheduler"] = scheduler

    def tell(progress):
        if progress.batches_done < 30:
            return
        while not StateDirectory(state).checkpoint_ids():
            time.sleep(0.01)  # another thread writes it
        print("half", flush=True)
        sys.stdin.readline()  # wait here for the end

    run(log, state, load_settings({**settings, "dashboard": False}), tell)

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def half_a_run(tmp_path: Path, log: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a run in a process and a group of its own; it waits when half of it is done.

    By then at least one checkpoint is on disk, and not the last one.
    """
    program = tmp_path / "half.py"
    program.write_text(RUN_IN_A_PROCESS)
    started: list[subprocess.Popen[str]] = []

    def start(scheduler: str, handover: str = "auto") -> subprocess.Popen[str]:
        with ctrl_c_is_heard():
            process = subprocess.Popen(
                [sys.executable, str(program), log, tmp_path / "state", scheduler, handover],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def children_of(group: int) -> list[str]:
    """Processes of a process group that have not ended."""
    there = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[2]) == group and fields[0] != "Z":
                there.append(folder.name)
    return there


@pytest.fixture
def finish(
    log: Path,
    tmp_path: Path,
    run_settings: Callable[..., RunSettings],
    undisturbed: dict[str, Any],
) -> Callable[[], RunSummary]:
    """Go on after half a run, and compare with a run that nothing happened to."""

    def finish() -> RunSummary:
        wanted = run_settings(checkpoint_every=10, analytics_every=15)
        summary = run(str(log), str(tmp_path / "state"), wanted)
        assert summary.state_hash == expected_hash()
        ours = results_below(tmp_path / "state")
        assert ours == undisturbed, "results differ after a restart"
        assert len(read_reports(StateDirectory(tmp_path / "state"))) == BATCHES
        return summary

    return finish


@WAYS
def test_a_killed_run_goes_on_from_its_newest_checkpoint(
    half_a_run: Callable[..., subprocess.Popen[str]],
    finish: Callable[[], RunSummary],
    handover: str,
) -> None:
    process = half_a_run("", handover)
    assert bool(memory_files()) == (handover == "ring")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not children_of(process.pid))
    summary = finish()
    assert 0 < summary.batches_applied < BATCHES


def test_ctrl_c_closes_the_cluster_quietly_and_keeps_the_state(
    half_a_run: Callable[..., subprocess.Popen[str]], finish: Callable[[], RunSummary]
) -> None:
    process = half_a_run("")
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGINT
    assert errors.count("Traceback") == 1, errors
    assert errors.rstrip().endswith("KeyboardInterrupt")
    wait_until(lambda: not children_of(process.pid))
    summary = finish()
    assert 0 < summary.batches_applied < BATCHES


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """Workers of a run in a group of its own: what its fork server has forked."""
    pids = {int(pid) for pid in children_of(process.pid)}
    parents = {
        pid: int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]) for pid in pids
    }
    return sorted(pid for pid, parent in parents.items() if parent in pids - {process.pid})


@pytest.mark.parametrize("which", [0, 1])
def test_ctrl_c_does_not_wait_for_a_stopped_worker(
    half_a_run: Callable[..., subprocess.Popen[str]],
    finish: Callable[[], RunSummary],
    which: int,
) -> None:
    begin = time.monotonic()
    process = half_a_run("")
    start_seconds = time.monotonic() - begin
    os.kill(workers_of(process)[which], signal.SIGSTOP)
    os.killpg(process.pid, signal.SIGINT)
    # What a busy machine does to the one it does to the other.
    _, errors = process.communicate(timeout=15 + 3 * start_seconds)
    assert process.returncode == -signal.SIGINT
    assert errors.count("Traceback") == 1, errors
    assert errors.rstrip().endswith("KeyboardInterrupt")
    wait_until(lambda: not children_of(process.pid))
    finish()


@pytest.mark.parametrize("which", [0, 1])
def test_nothing_of_a_killed_run_remains_where_a_worker_was_stopped(
    half_a_run: Callable[..., subprocess.Popen[str]], which: int
) -> None:
    process = half_a_run("")
    workers = workers_of(process)
    assert len(workers) == 2
    os.kill(workers[which], signal.SIGSTOP)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not children_of(process.pid))


def test_a_state_in_use_is_refused(
    log: Path,
    tmp_path: Path,
    run_settings: Callable[..., RunSettings],
    scheduler: str,
    half_a_run: Callable[..., subprocess.Popen[str]],
) -> None:
    half_a_run(scheduler)
    with pytest.raises(StateError, match="in use"):
        run(str(log), str(tmp_path / "state"), run_settings())


def test_a_write_in_progress_is_finished_when_the_run_is_interrupted(
    log: Path,
    tmp_path: Path,
    run_settings: Callable[..., RunSettings],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, never = threading.Event(), threading.Event()
    write = RunFiles.write_checkpoint

    def slow_write(files: RunFiles, batch_id: int, copy: Copy, arrays: Arrays) -> None:
        begun.set()
        never.wait(0.5)  # longer than it takes to leave the run
        write(files, batch_id, copy, arrays)

    def interrupt(_progress: Progress) -> None:
        if begun.is_set():
            raise KeyboardInterrupt

    monkeypatch.setattr(RunFiles, "write_checkpoint", slow_write)
    with pytest.raises(KeyboardInterrupt):
        run(str(log), str(tmp_path / "state"), run_settings(checkpoint_every=10), interrupt)
    assert StateDirectory(tmp_path / "state").checkpoint_ids() == [9]


def test_errors_of_tasks_say_whether_the_graph_is_lost() -> None:
    assert isinstance(explain(GraphGoneError("no graph"), "load", "a"), GraphLostError)
    last = SimpleNamespace(address="tcp://127.0.0.1:1")
    assert isinstance(explain(KilledWorker("apply", last, 3), "load", "a"), GraphLostError)
    error = explain(KilledWorker("load", last, 3), "load", "a")
    assert isinstance(error, ClusterError)
    assert "the workers that were to read a died 4 times" in str(error)
    error = UpdateLogError("row 3")
    assert explain(error, "load", "a") is error
