"""Every process of a run is killed, stopped, or told to end, at any moment.

=============  ===================================================================================
cluster        processes
=============  ===================================================================================
``own``        of a run that starts its cluster: the client, in which scheduler and Nannies are,
               what its workers are forked from, the tracker of semaphores, the workers
``others``     of a cluster that was there before: the scheduler, Nannies and workers
=============  ===================================================================================

A run that has lost a worker ends as the undisturbed one. One that has lost its client, its
scheduler, or what its workers are forked from may end early, with one sentence; then the next run
must end as the undisturbed one. Of a run with a cluster of its own no process may remain. Where
runs end rightly without the client's or the cluster's death is in ``sentences.py``.
"""

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from distributed import Client

from .cases import Bench, Failure
from .forked import Ended, Job, kill_session, parent_of, session_of
from .logs import Kind
from .sentences import right_sentence

_SIGNALS = (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT)

#: Seconds in which the processes of a run that has ended must be gone.
_GONE_SECONDS = 20.0

#: Seconds that a run waits for its workers to come.
_START_SECONDS = 30

#: Statuses of commands that are told to end, in any stage of theirs.
_TOLD_TO_END = {
    signal.SIGKILL: (-signal.SIGKILL,),
    signal.SIGTERM: (143, -signal.SIGTERM),
    signal.SIGINT: (130,),
    signal.SIGSTOP: (),
}


def case(bench: Bench, seed: int) -> str:
    """Strike one process of one run; gives what was tried."""
    draw = random.Random(seed)
    kind = bench.any_kind(draw)
    bench.expected(kind)
    if draw.random() < 0.75:
        return _own(bench, kind, draw)
    return _others(bench, kind, draw)


# -- a cluster of its own


def _own(bench: Bench, kind: Kind, draw: random.Random) -> str:
    # Workers that died before they were there are waited for so long.
    words = bench.words(kind, "--set", f"start_timeout={_START_SECONDS}s", scheduler="")
    usual = bench.remembered("own seconds", lambda: usual_seconds(bench, kind))
    bench.begin()
    bench.give(kind, draw.choice([0, 0, 2]))
    victim = draw.choice(["client", "client", "fork server", "tracker", "worker", "worker"])
    number, order = draw.choice(_SIGNALS), draw.random()
    moment, stopped = draw.uniform(0, usual), draw.choice([0.3, 2.0, 12.0, None])
    job = bench.start(*words)
    try:
        time.sleep(moment)
        victim = _strike(job, victim, number, order, stopped)
        when = f"{victim}, {number.name} after {moment:.2f} s of {kind.name}"
        done = bench.ended(job, usual + bench.patience + _START_SECONDS + (stopped or 0), when)
        must_be_gone(job, when)
    finally:
        kill_session(job.pid)
    judge(bench, kind, done, victim, number, when, struck=victim == "worker")
    bench.must_end_well(kind, when=f"{when}; then again")
    return f"{kind.name}: own, {victim}, {number.name}"


def usual_seconds(bench: Bench, kind: Kind) -> float:
    bench.begin()
    bench.give(kind, 0)
    done = bench.command(*bench.words(kind, scheduler=""), seconds=240)
    if done.status:
        raise Failure(f"undisturbed, and yet: {done.stderr}")
    return done.seconds


def _strike(
    job: Job, victim: str, number: signal.Signals, order: float, stopped: float | None
) -> str:
    """Send the signal, and let what is stopped go on after so many seconds, or never."""
    there = processes_of(job)
    if not there.get(victim):
        victim = "client"
    pids = there.get(victim, [job.pid])
    pid = pids[int(order * len(pids))]
    # What it has ended since, is gone.
    with suppress(ProcessLookupError):
        os.kill(pid, number)
        if number == signal.SIGSTOP and (stopped is not None or victim == "client"):
            time.sleep(stopped or 2.0)
            os.kill(pid, signal.SIGCONT)
    return victim


def processes_of(job: Job) -> dict[str, list[int]]:
    """Role -> processes of a run with a cluster of its own."""
    roles: dict[str, list[int]] = {"client": [job.pid]}
    for pid in session_of(job.pid):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        # Whose parent has just ended, has another one.
        if b"resource_tracker" in command:
            roles.setdefault("tracker", []).append(pid)
        elif parent_of(pid) == job.pid:
            roles.setdefault("fork server", []).append(pid)
        elif pid != job.pid:
            roles.setdefault("worker", []).append(pid)
    return roles


def must_be_gone(job: Job, when: str) -> None:
    deadline = time.monotonic() + _GONE_SECONDS
    while left := session_of(job.pid):
        if time.monotonic() > deadline:
            shown = [
                (pid, Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")[-60:])
                for pid in left
            ]
            raise Failure(f"{when}: processes remain: {shown}", "processes remain")
        time.sleep(0.05)


#: What Python says where its tracker of semaphores was killed: that another one takes its place,
#: and, from that one, that it does not know what the first was told of.
_TRACKERS_WORDS = re.compile(
    r"\S*resource_tracker\.py:\d+: UserWarning: resource_tracker: process died unexpectedly.*\n"
    r"(?:  .*\n)?"
    r"|Traceback \(most recent call last\):\n"
    r"  File \".*resource_tracker\.py\", line \d+, in main\n.*\n(?:.*\^.*\n)?KeyError: .*\n"
)

#: Dask's, where it was stopped while it made a folder.
_SLOW_FOLDER = re.compile(
    r"\S*:\d+: UserWarning: Creating scratch directories is taking a surprisingly long time.*\n"
    r"(?:  .*\n)?"
)


def judge(
    bench: Bench,
    kind: Kind,
    done: Ended,
    victim: str,
    number: signal.Signals,
    when: str,
    struck: int = 0,
) -> None:
    """Check how a run ended that was struck, at last ``victim``; its workers ``struck`` times."""
    if done.status == 0:
        said = _TRACKERS_WORDS.sub("", done.stderr) if victim == "tracker" else done.stderr
        if number == signal.SIGSTOP:
            said = _SLOW_FOLDER.sub("", said)
        if said:
            raise Failure(f"{when}: status 0, and on standard error {said[-2000:]!r}")
        bench.must_be(bench.expected(kind), when)
        return
    if done.status < 0 and "Traceback" not in done.stderr:
        # Of a client that was killed, Python's tracker of semaphores may tell what it has removed.
        return
    if name := right_sentence(done.status, done.stderr, struck, number):
        bench.sentences[name] = bench.sentences.get(name, 0) + 1
    elif victim == "client":
        allowed = _TOLD_TO_END[number]
        if done.status not in allowed:
            raise Failure(f"{when}: status {done.status}, {done.stderr[-2000:]!r}")
        bench.must_be_refused(done, when, allowed)
    elif victim in ("fork server", "scheduler", "nanny"):
        bench.must_be_refused(done, when, (1,))
    else:
        raise Failure(f"{when}: status {done.status}, {done.stderr[-2000:]!r}")


# -- a cluster of others


def _others(bench: Bench, kind: Kind, draw: random.Random) -> str:
    bench.begin()
    bench.give(kind, draw.choice([0, 0, 2]))
    victim = draw.choice(["scheduler", "nanny", "worker", "worker"])
    number, order = draw.choice(_SIGNALS), draw.random()
    usual = bench.remembered("usual seconds", lambda: bench.patience - 30)
    moment = draw.uniform(0, max(usual, 1.0))
    # A scheduler that is stopped for ever is a network that is gone: Dask's own timeouts count.
    stopped = draw.choice([0.5, 3.0]) if victim != "worker" else draw.choice([0.5, None])
    with cluster_of_others(bench.folder) as (address, parents):
        workers = [pid for parent in parents[1:] for pid in _workers_of(parent.pid)]
        pids = {
            "scheduler": [parents[0].pid],
            "nanny": [parent.pid for parent in parents[1:]],
            "worker": workers,
        }[victim]
        # Where the graph's worker has no successor, one is waited for for 10 s.
        words = bench.words(kind, "--set", "start_timeout=20s", scheduler=address)
        job = bench.start(*words)
        time.sleep(moment)
        when = f"{victim} of others, {number.name} after {moment:.2f} s of {kind.name}"
        pid = pids[int(order * len(pids))]
        with suppress(ProcessLookupError):
            os.kill(pid, number)
            if number == signal.SIGSTOP and stopped is not None:
                time.sleep(stopped)
                os.kill(pid, signal.SIGCONT)
        done = bench.ended(job, bench.patience + 15, when)
    judge(bench, kind, done, victim, number, when, struck=victim == "worker")
    bench.must_end_well(kind, when=f"{when}; then again")
    return f"{kind.name}: others, {victim}, {number.name}"


@contextmanager
def cluster_of_others(folder: Path) -> Iterator[tuple[str, list["subprocess.Popen[str]"]]]:
    """A scheduler, a graph worker and two others, with Nannies: its address, the processes."""
    dask = [sys.executable, "-P", "-m"]
    started: list[subprocess.Popen[str]] = []

    def start(words: list[str], *, stderr: int) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [*dask, *words],
            cwd=folder,
            text=True,
            stderr=stderr,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        started.append(process)
        return process

    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    try:
        scheduler = start(["distributed.cli.dask_scheduler", *options], stderr=subprocess.PIPE)
        assert scheduler.stderr is not None
        address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line)
        for name, resource in (("graph", "GPU=1"), ("cpu-0", "CPU=1"), ("cpu-1", "CPU=1")):
            options = [address, "--nthreads", "1", "--no-dashboard", "--name", name]
            options += ["--resources", resource]
            start(["distributed.cli.dask_worker", *options], stderr=subprocess.DEVNULL)
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(3, timeout=60)
        yield address, started
    finally:
        for process in started:
            kill_session(process.pid)
        for process in started:
            process.communicate(timeout=30)


def _workers_of(nanny: int) -> list[int]:
    """What a Nanny of others has started, but for Python's tracker."""
    return [
        each
        for each in session_of(nanny)
        if parent_of(each) == nanny
        and b"resource_tracker" not in Path(f"/proc/{each}/cmdline").read_bytes()
    ]
