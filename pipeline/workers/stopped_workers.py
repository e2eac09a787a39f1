"""Ends workers that are stopped (SIGSTOP) or silent, so that the run goes on without them.

Such a worker keeps its connections, so nothing fails: what needs it waits until Dask gives it up,
which takes minutes. A worker that has ended is noticed at once, and another takes its place. So a
thread looks at the workers, from the start of a cluster until it is closed:

* Processes that this one started: the system shows whether they are stopped. They are killed when
  they have been for `STOPPED_SECONDS`, or at once where the cluster is being closed anyway. A
  process that computes or compiles, however long, or that a debugger holds, is not stopped.
* Of a cluster of others, workers that the run uses are restarted by Dask when the scheduler, which
  answers, has not heard of them for `SILENT_SECONDS`. Heartbeats come every half second, or more
  rarely where there are many workers. They come from workers that compute and compile as well.

Time counts only while this process looks: if a terminal or a batch system stops all processes, and
lets them go on, none of them is ended.

Not here: what becomes of tasks and graph (``generation.py``).
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

#: Seconds that a process may be stopped.
STOPPED_SECONDS = 10.0

#: Seconds without a heartbeat; Dask takes up to 4 more to end the worker.
SILENT_SECONDS = 12.0

#: … and as many intervals of heartbeats, where these are long.
_SILENT_INTERVALS = 6

#: Seconds between two looks: at processes, and at heartbeats, for which the scheduler is asked.
_LOOK_SECONDS = 0.25
_ASK_SECONDS = 1.0
#: More time between two looks counts as so much: this process was stopped itself.
_LONGEST_STEP_SECONDS = 2.0

Key = TypeVar("Key", int, str)


class SeenFor(Generic[Key]):
    """How long things have been in a state, by the looks at them."""

    def __init__(self) -> None:
        self._seconds: dict[Key, float] = {}
        self._looked: float | None = None

    def look(self, there: Collection[Key], now: float) -> dict[Key, float]:
        """Take down what is in that state at time ``now``; seconds that each has been."""
        step = 0.0 if self._looked is None else min(now - self._looked, _LONGEST_STEP_SECONDS)
        self._looked = now
        self._seconds = {key: self._seconds.get(key, -step) + step for key in there}
        return self._seconds


class Watch:
    """Looks again and again, in a thread, until it is closed; made by the functions below."""

    def __init__(self, look: Callable[[bool], None], look_seconds: float) -> None:
        self._look = look
        self._look_seconds = look_seconds
        self._closed = threading.Event()
        self._is_ending = False
        self._thread = threading.Thread(target=self._run, name="graphtide-watch", daemon=True)

    def hurry(self) -> None:
        """Wait no longer for workers that are stopped: the cluster is about to be closed."""
        self._is_ending = True

    def _run(self) -> None:
        while not self._closed.wait(self._look_seconds):
            self._look(self._is_ending)

    @contextmanager
    def looking(self) -> Iterator["Watch"]:
        """Look while the block runs."""
        self._thread.start()
        try:
            yield self
        finally:
            self._closed.set()
            # It may wait for a scheduler that went away.
            self._thread.join(timeout=1)


def watch_processes(pids: Callable[[], Collection[int]]) -> Watch:
    """Kill processes of this machine that are stopped; ``pids`` gives those of now."""
    seen: SeenFor[int] = SeenFor()

    def look(is_ending: bool) -> None:
        stopped = [pid for pid in pids() if is_stopped(pid)]
        for pid, seconds in seen.look(stopped, time.monotonic()).items():
            if is_ending or seconds > STOPPED_SECONDS:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    return Watch(look, _LOOK_SECONDS)


def is_stopped(pid: int) -> bool:
    """Whether a process of this machine is stopped by a signal."""
    try:
        # The name in parentheses may hold anything, also half a letter.
        return Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()[0] == b"T"
    except (OSError, IndexError):
        return False


def watch_heartbeats(
    workers: Callable[[], Mapping[str, Mapping[str, Any]]], restart: Callable[[list[str]], None]
) -> Watch:
    """Restart workers that the scheduler has not heard of for too long.

    Parameters
    ----------
    workers
        Address -> what the scheduler knows of a worker that the run uses; asks it.
    restart
        Restarts those of these addresses.
    """
    seen: SeenFor[str] = SeenFor()
    last: dict[str, float] = {}

    def look(_is_ending: bool) -> None:
        nonlocal last
        found = {address: float(each["last_seen"]) for address, each in workers().items()}
        silent = [address for address, heard in found.items() if last.get(address) == heard]
        last = found
        limit = max(SILENT_SECONDS, _SILENT_INTERVALS * heartbeat_seconds(len(found)))
        seconds = seen.look(silent, time.monotonic())
        lost = [address for address in silent if seconds[address] > limit]
        if lost:
            restart(lost)

    return Watch(look, _ASK_SECONDS)


def heartbeat_seconds(workers: int) -> float:
    """Seconds between two heartbeats of a worker, at most, as Dask has them."""
    return max(2.0, 1 + workers / 200)
