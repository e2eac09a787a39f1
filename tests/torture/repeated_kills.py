"""Runs are struck again and again, most of them at workers that have just taken others' place.

What `kills` does once, at the price of a cluster for each signal: here a run meets up to a dozen,
and often ends by one to its client; then the next run goes on, and is struck as well. Most are on
the cluster that all cases share, whose workers come back in a moment. A run that has lost workers
only ends as the undisturbed one, with nothing on standard error, or by a sentence that takes so
many strikes (``sentences.py``); the last run, which nothing strikes, as the undisturbed one. No
process of a run may remain.
"""

import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

from .cases import Bench
from .forked import Job, kill_session, parent_of, session_of
from .kills import judge, must_be_gone, processes_of

#: Likelier as they stand here more often: a worker that is stopped is noticed after 10 to 16 s.
_SIGNALS = (*[signal.SIGKILL] * 12, signal.SIGTERM, signal.SIGINT, signal.SIGSTOP)
_SIGNALS_TO_CLIENT = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)

#: Runs of a case that are struck, and strikes of a run, at most.
_RUNS, _STRIKES = 4, range(2, 19)

#: What may be between two strikes, as a part of the seconds of an undisturbed run.
_GAPS = (0.05, 0.3, 1.0)

#: Seconds that a run waits for workers, of which one after the other dies before it is there.
_START_SECONDS = 120

#: … and that it may need to notice those that are stopped.
_STOPPED_SECONDS = 16


def case(bench: Bench, seed: int) -> dict[str, int]:
    """Strike several runs, one after the other; gives what was tried, and how often."""
    draw = random.Random(seed)
    kind, is_own = bench.any_kind(draw), draw.random() < 0.15
    bench.expected(kind)
    scheduler = "" if is_own else bench.scheduler
    # Each time that the graph is lost before a checkpoint counts, and this is not what is tested.
    # Of others, successors are waited for half as long as workers at the start.
    start_seconds = _START_SECONDS if is_own else 2 * _START_SECONDS
    more = ("--set", f"start_timeout={start_seconds}s", "--set", "graph_restarts=1000")
    words = bench.words(kind, *more, scheduler=scheduler)
    bench.begin()
    bench.give(kind, draw.choice([0, 0, 2]))
    strikes = _Strikes(draw, bench.usual_seconds, f"{kind.name}: {'own' if is_own else 'shared'}")
    for _ in range(_RUNS):
        job = bench.start(*words)
        try:
            strikes.at(job, is_own=is_own)
            when = f"{kind.name}, {'own cluster' if is_own else 'shared cluster'}, {strikes}"
            done = bench.ended(job, bench.patience + _START_SECONDS + _STOPPED_SECONDS, when)
            must_be_gone(job, when)
        finally:
            kill_session(job.pid)
        judge(bench, kind, done, *strikes.last, when, strikes.at_workers)
        if done.status == 0:
            break
    bench.must_end_well(kind, when=f"{when}; then again")
    return strikes.counts


class _Strikes:
    """Signals to runs; what they were, for people and to be counted."""

    def __init__(self, draw: random.Random, usual: float, what: str) -> None:
        self._draw, self._usual, self._what = draw, usual, what
        self._told: list[str] = []
        self.counts: dict[str, int] = {}
        #: Of a run that may have ended by it: who was struck, and how.
        self.last: tuple[str, signal.Signals] = ("worker", signal.SIGKILL)
        #: How often its workers were struck.
        self.at_workers = 0

    def at(self, job: Job, *, is_own: bool) -> None:
        """Strike a run until all is done, or it has ended."""
        draw, began = self._draw, time.monotonic()
        count, gap = draw.choice(_STRIKES), draw.choice(_GAPS) * self._usual
        kills_client = draw.random() < 0.5
        self.last = ("worker", signal.SIGKILL)
        self.at_workers = 0
        self._told.append("a run")
        for _ in range(count):
            time.sleep(draw.uniform(0, gap))
            number, order = draw.choice(_SIGNALS), draw.random()
            while _goes_on(job) and not (pids := _workers(job, is_own=is_own)):
                time.sleep(0.02)
            if not _goes_on(job):
                return
            self._strike(pids[int(order * len(pids))], "worker", number, began)
        time.sleep(draw.uniform(0, gap))
        if kills_client and _goes_on(job):
            number = draw.choice(_SIGNALS_TO_CLIENT)
            self.last = ("client", number)
            self._strike(job.pid, "client", number, began)

    def _strike(self, pid: int, victim: str, number: signal.Signals, began: float) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
            what = f"{victim}, {number.name}"
            counted = f"{self._what}, {what}"
            self.counts[counted] = self.counts.get(counted, 0) + 1
            self.at_workers += victim == "worker"
            self._told.append(f"{what} after {time.monotonic() - began:.2f} s")

    def __str__(self) -> str:
        return "; ".join(self._told)


def _goes_on(job: Job) -> bool:
    return Path(f"/proc/{job.pid}").exists()


def _workers(job: Job, *, is_own: bool) -> list[int]:
    """Workers of a run's cluster, or of that of all cases, which this process has started."""
    if is_own:
        return processes_of(job).get("worker", [])
    return [
        pid
        for pid in session_of(os.getsid(0))
        if (parent := parent_of(pid)) not in (None, os.getpid())
        and parent_of(parent) == os.getpid()
        and b"forkserver" in Path(f"/proc/{parent}/cmdline").read_bytes()
    ]
