"""A log that grows while a run follows it, and workers that are killed beside it.

Files appear at drawn moments, about one a second, and workers are killed every few seconds, the
graph's among them: hours of a log that is followed, in minutes. The log is over few vertices, so
the graph stops growing soon, and what still grows is what a run keeps for ever.

In the end the run is told to stop, and must have each row once: by the library alone, which has
never seen a batch, and by a run of the whole log that nothing has disturbed. Memory of its
processes may not grow from the second quarter of the time to the last one.
"""

import os
import random
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import psutil
import pyarrow as pa

from graphtide import DynamicGraph
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.state.directory import StateDirectory

from .cases import Bench, Failure
from .forked import Job, kill_session
from .kills import processes_of
from .outcomes import difference, outcome_of

#: Seconds for which a log grows, unless the command line says otherwise.
GROW_SECONDS = 60.0

_ROWS, _BATCH_ROWS, _VERTICES = 10_000, 2_500, 500
_RESULTS_EVERY, _CHECKPOINT_EVERY = 40, 20
_BATCHES_A_FILE = _ROWS // _BATCH_ROWS
#: Seconds between two files, in the mean, and between two kills.
_FILE_SECONDS, _KILL_SECONDS = 1.0, (6.0, 30.0)
#: Seconds in which a run keeps its first file, and those in which it catches up in the end.
_START_SECONDS, _CATCH_UP_SECONDS = 240.0, 180.0
#: What a process may grow by: a part of what it had, and bytes.
_GROWTH, _GROWTH_BYTES = 1.2, 48e6
#: What a run says that is told to stop.
_STOPPING = "stopping, with the batches that are being applied; once more to stop at once"
#: Told in a report.
TRIED = "a log that grew, workers killed"


def case(bench: Bench, seed: int, seconds: float = GROW_SECONDS) -> str:
    """Follow a log that grows for so long; prints figures, gives what was tried."""
    draw = random.Random(seed)
    bench.begin()
    bench.log.mkdir()
    growth = _Growth(bench, draw.random(), seconds)
    growth.add()
    job = bench.start(*_words("state", "--follow"))
    try:
        _catch_up(bench, job, growth.files, _START_SECONDS)
        growth.thread.start()
        memory = _Memory(seconds)
        killed = _disturb(job, draw, growth, memory)
        _catch_up(bench, job, growth.files, _CATCH_UP_SECONDS + seconds / 2)
        os.kill(job.pid, signal.SIGTERM)
        done = bench.ended(job, when="told to stop")
    finally:
        growth.end()
        kill_session(job.pid)
    if done.status or done.stderr.strip() != _STOPPING:
        raise Failure(f"told to stop: status {done.status}, {done.stderr[-2000:]!r}")
    print(
        f"following {seed}: {growth.files:,} files, {growth.files * _ROWS:,} rows in "
        f"{done.seconds:.0f} s, {killed} workers killed; {memory}",
        flush=True,
    )
    _check_graph(bench, growth.files)
    _check_outcome(bench)
    memory.check()
    return TRIED


def _words(state: str, *more: object) -> list[object]:
    return [
        "run", "log", "--state", state, "--batch-rows", _BATCH_ROWS, "--analytics", "pagerank",
        "--analytics-every", _RESULTS_EVERY, "--checkpoint-every", _CHECKPOINT_EVERY,
        # A busy machine may be killed at for longer than it takes to get to a checkpoint.
        "--set", "graph_restarts=100", "--workers", 1, "--set", "dashboard=false", *more,
    ]  # fmt: skip


def _rows(number: int) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(number)
    return {
        "op": draw.choice(np.array([1, 1, 1, -1], np.int8), _ROWS),
        "src": draw.integers(0, _VERTICES, _ROWS),
        "dst": draw.integers(0, _VERTICES, _ROWS),
    }


class _Growth:
    """Writes files into the log of a case, from a thread, until time is up."""

    def __init__(self, bench: Bench, seed: float, seconds: float) -> None:
        self._log, self._draw, self._seconds = bench.log, random.Random(seed), seconds
        self.files = 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._grow)

    def add(self) -> None:
        """Write a file, which is renamed into place."""
        path = self._log / f"{self.files:06d}.parquet"
        write_log_file(str(path), pa.table(_rows(self.files)))
        self.files += 1

    def end(self) -> None:
        """Write no more."""
        self.is_over.set()
        if self.thread.is_alive():
            self.thread.join()

    def _grow(self) -> None:
        deadline = time.monotonic() + self._seconds
        while time.monotonic() < deadline:
            if self.is_over.wait(self._draw.expovariate(1 / _FILE_SECONDS)):
                return
            self.add()
        self.is_over.set()


@dataclass
class _Memory:
    """Private bytes of the processes of a run, by quarters of the time: the most that was seen."""

    seconds: float
    started: float = field(default_factory=time.monotonic)
    #: Role -> most bytes of a process in each quarter.
    most: dict[str, list[int]] = field(default_factory=dict)

    def look(self, roles: dict[str, list[int]]) -> None:
        """Take samples."""
        quarter = min(3, int(4 * (time.monotonic() - self.started) / self.seconds))
        for role in ("client", "worker"):
            for pid in roles.get(role, ()):
                with suppress(psutil.Error):
                    size = psutil.Process(pid).memory_full_info().uss
                    most = self.most.setdefault(role, [0, 0, 0, 0])
                    most[quarter] = max(most[quarter], size)

    def check(self) -> None:
        """Refuse what has grown."""
        for role, (_, early, _, late) in self.most.items():
            if late > _GROWTH * early + _GROWTH_BYTES:
                raise Failure(f"the memory of the {role} grew: {self}")

    def __str__(self) -> str:
        told = (
            f"{role} {', '.join(f'{each / 1e6:.0f}' for each in most)}"
            for role, most in sorted(self.most.items())
        )
        return f"MB at most in each quarter: {'; '.join(told)}"


def _disturb(job: Job, draw: random.Random, growth: _Growth, memory: _Memory) -> int:
    """Kill workers until the log has stopped to grow; gives how many."""
    killed = 0
    due = time.monotonic() + draw.uniform(*_KILL_SECONDS)
    while not growth.is_over.wait(0.5):
        if not psutil.pid_exists(job.pid):
            break
        roles = processes_of(job)
        memory.look(roles)
        if time.monotonic() < due or not roles.get("worker"):
            continue
        with suppress(ProcessLookupError):
            os.kill(draw.choice(roles["worker"]), signal.SIGKILL)
            killed += 1
        due = time.monotonic() + draw.uniform(*_KILL_SECONDS)
    return killed


def _catch_up(bench: Bench, job: Job, files: int, seconds: float) -> None:
    """Wait until all of the log is kept, so long at most."""
    state = StateDirectory(bench.state)
    deadline = time.monotonic() + seconds
    while state.checkpoint_ids()[-1:] != [files * _BATCHES_A_FILE - 1]:
        if not psutil.pid_exists(job.pid):
            done = bench.ended(job)
            raise Failure(f"nobody told it to end: status {done.status}, {done.stderr[-2000:]!r}")
        if time.monotonic() > deadline:
            kept = state.checkpoint_ids()[-1:]
            raise Failure(f"of {files} files, batches up to {kept} are kept after {seconds:.0f} s")
        time.sleep(0.1)


def _check_graph(bench: Bench, files: int) -> None:
    """Compare with the graph of all rows in one batch."""
    rows = [_rows(number) for number in range(files)]
    graph = DynamicGraph()
    op, src, dst = (np.concatenate([each[name] for each in rows]) for name in rows[0])
    graph.apply(UpdateBatch.from_rows(op, src, dst))
    found = outcome_of(bench.state)
    if found.graph[-1] != graph.state_hash():
        raise Failure(f"the graph is not that of the rows: {found.graph}")


def _check_outcome(bench: Bench) -> None:
    """Compare with an undisturbed run."""
    done = bench.command(*_words("plain"), seconds=1200)
    if done.status:
        raise Failure(f"undisturbed, and yet: {done.stderr}")
    differs = difference(outcome_of(bench.state), outcome_of(bench.folder / "plain"))
    if differs:
        raise Failure(f"followed and undisturbed: {differs}")
