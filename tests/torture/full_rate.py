"""Processes of a run are struck in the midst of many rows, once each checkpoint.

==================  ===============================================================================
cluster             who is struck
==================  ===============================================================================
``own``             the graph worker, a CPU worker, the client with scheduler and Nannies, what
                    workers are forked from, the whole group of processes at once
``others``          the graph worker, a CPU worker, a Nanny, the scheduler, the client, all at once
==================  ===============================================================================

A run goes on until somebody is struck without whom it cannot; then the next one goes on with the
state. What is struck is struck after a checkpoint that is newer than the last strike, so that the
graph has come back, and rows are on their way to it. Each checkpoint must come in time.
"""

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

from graphtide.io.state.directory import StateDirectory

from .cases import Bench, Failure
from .forked import Job, kill_session, session_of
from .kills import cluster_of_others, judge, must_be_gone, processes_of
from .logs import LARGE

#: Who is struck, as often as they stand here.
_OF_OWN = (*["graph worker"] * 4, *["CPU worker"] * 3, "client", "fork server", "group")
_OF_OTHERS = (*["graph worker"] * 4, *["CPU worker"] * 3, "nanny", "scheduler", "client", "group")

#: … and how.
_SIGNALS = (*[signal.SIGKILL] * 10, signal.SIGTERM, signal.SIGSTOP)

#: Whose death a run goes on after.
_WORKERS = ("graph worker", "CPU worker")

#: Runs of a case that are struck.
_RUNS = 6

#: Seconds after a checkpoint, at most, in which somebody is struck.
_GAP_SECONDS = 0.4

#: Seconds after which a worker that is stopped has been ended, and another one is there.
_STOPPED_SECONDS = 20.0

#: Seconds that a cluster may take to start, where the machine has much to do.
_START_SECONDS = 60.0

#: How the memory files of a graph worker begin.
_MEMORY_FILE = "/memfd:graphtide"


def case(bench: Bench, seed: int) -> dict[str, int]:
    """Strike runs of one log until it is applied; gives what was tried, and how often."""
    draw = random.Random(seed)
    is_own = draw.random() < 0.7
    bench.expected(LARGE)
    bench.begin()
    bench.give(LARGE, 0)
    counts: dict[str, int] = {}
    when = "nobody was struck"
    for _ in range(_RUNS):
        with ExitStack() as stack:
            # For another graph worker of others a run waits half as long.
            more = ["--set", "graph_restarts=1000", "--set", "start_timeout=30s"]
            address, parents = "", []
            if is_own:
                more += ["--workers", "2"]
            else:
                address, parents = stack.enter_context(cluster_of_others(bench.folder))
            job = bench.start(*bench.words(LARGE, *more, scheduler=address))
            stack.callback(kill_session, job.pid)
            struck = _Struck(bench, job, parents, draw, counts)
            struck.strike_until_it_ends()
            when = str(struck)
            done = bench.ended(job, bench.patience + _STOPPED_SECONDS, when)
            if is_own:
                must_be_gone(job, when)
        judge(bench, LARGE, done, *struck.last, when, struck.at_workers)
        if done.status == 0:
            break
    bench.must_end_well(LARGE, when=f"{when}; then again")
    return counts


class _Struck:
    """One run, and who of it is struck."""

    def __init__(
        self,
        bench: Bench,
        job: Job,
        parents: "list[subprocess.Popen[str]]",
        draw: random.Random,
        counts: dict[str, int],
    ) -> None:
        self._bench, self._job, self._parents = bench, job, parents
        self._draw, self._counts = draw, counts
        self._state = StateDirectory(bench.state)
        self._told: list[str] = []
        #: Who was struck last, as `kills.judge` knows them, and how.
        self.last: tuple[str, signal.Signals] = ("worker", signal.SIGKILL)
        #: How often workers were struck.
        self.at_workers = 0

    def __str__(self) -> str:
        cluster = "others" if self._parents else "own"
        return f"{self._bench.engine}, {cluster}, {'; '.join(self._told) or 'nobody struck'}"

    def strike_until_it_ends(self) -> None:
        """Strike after checkpoints, until the run has ended or somebody vital is gone."""
        seconds = self._bench.patience + _STOPPED_SECONDS
        is_there = self._has_new_checkpoint(seconds + _START_SECONDS)
        while is_there:
            time.sleep(self._draw.uniform(0, _GAP_SECONDS))
            victim = self._draw.choice(_OF_OTHERS if self._parents else _OF_OWN)
            number = self._draw.choice(_SIGNALS)
            if victim == "group" or (number == signal.SIGSTOP and victim not in _WORKERS):
                number = signal.SIGKILL
            if self._strike(victim, number) and victim not in _WORKERS:
                return
            is_there = self._has_new_checkpoint(seconds)

    def _has_new_checkpoint(self, seconds: float) -> bool:
        """Wait for a checkpoint that is not there yet; False where the run ends before."""
        before = self._newest()
        deadline = time.monotonic() + seconds
        while self._newest() == before:
            if not session_of(self._job.pid):
                return False
            if time.monotonic() > deadline:
                msg = f"{self}: no checkpoint after {before} within {seconds:.0f} s"
                raise Failure(msg, "waited too long")
            time.sleep(0.01)
        return True

    def _newest(self) -> list[int]:
        with suppress(FileNotFoundError):
            return self._state.checkpoint_ids()[-1:]
        return []

    def _strike(self, victim: str, number: signal.Signals) -> bool:
        pids = self._processes()[victim]()
        if not pids:
            return False
        if victim != "group":
            pids = [self._draw.choice(pids)]
        at = self._newest()
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        what = f"{victim}, {number.name}"
        self._told.append(f"{what} after checkpoint {at}")
        counted = f"{LARGE.name}: {'others' if self._parents else 'own'}, {what}"
        self._counts[counted] = self._counts.get(counted, 0) + 1
        judged = {"graph worker": "worker", "CPU worker": "worker", "group": "client"}
        self.last = judged.get(victim, victim), number
        self.at_workers += self.last[0] == "worker"
        return True

    def _processes(self) -> dict[str, Callable[[], list[int]]]:
        job, parents = self._job, [each.pid for each in self._parents]

        def workers() -> list[int]:
            if not parents:
                return processes_of(job).get("worker", [])
            return [pid for at in parents[1:] for pid in session_of(at) if pid != at]

        return {
            "graph worker": lambda: [pid for pid in workers() if _holds_graph(pid)],
            "CPU worker": lambda: [pid for pid in workers() if not _holds_graph(pid)],
            "client": lambda: [job.pid] if session_of(job.pid) else [],
            "fork server": lambda: processes_of(job).get("fork server", []),
            "scheduler": lambda: parents[:1],
            "nanny": lambda: parents[1:],
            "group": lambda: [pid for at in (job.pid, *parents) for pid in session_of(at)],
        }


def _holds_graph(pid: int) -> bool:
    """Whether a process has all memory files that batches come through; CPU workers open one."""
    files = 0
    with suppress(OSError):
        for each in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                files += os.readlink(each.path).startswith(_MEMORY_FILE)
    return files > 1
