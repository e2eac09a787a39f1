"""Start of the workers of this machine, which is given up if it can never complete.

Dask waits for starting workers without a time limit, and does not notice if the process that they
are forked from dies, or if it or a worker is stopped (SIGSTOP). So a thread starts them while the
caller watches these processes. Stopped workers are killed meanwhile, as later
(``stopped_workers.py``), and their start fails.
"""

import concurrent.futures
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import forkserver
from typing import Any

import psutil

from ...gpu_core.errors import ClusterError
from .in_thread import Made, in_thread
from .stopped_workers import SeenFor, is_stopped, watch_processes

#: Seconds that the start may go on after a death, or while a process is stopped.
GIVE_UP_SECONDS = 10.0
_LOOK_SECONDS = 0.25
_SETTLE_SECONDS = 2.0


def start_watched(make: Callable[[], Made]) -> Made:
    """Return what ``make`` makes, in a thread of its own.

    Raises
    ------
    ClusterError
        It waits for workers, and the process that they are forked from has died or is stopped. The
        thread is left behind.
    KeyboardInterrupt
        What is made all the same is closed in that thread: a notebook goes on for hours.
    """
    server, seen = fork_server(), SeenFor[str]()
    made = in_thread("graphtide-start", make)
    try:
        with watch_processes(lambda: _children(fork_server())).looking():
            while True:
                concurrent.futures.wait([made], timeout=_LOOK_SECONDS)
                if made.done():
                    return made.result()
                for fault, seconds in seen.look([*_faults(server)], time.monotonic()).items():
                    if seconds > GIVE_UP_SECONDS:
                        _end_all(made)
                        raise ClusterError(fault)
    except KeyboardInterrupt:
        made.add_done_callback(_close)
        raise


def _close(made: concurrent.futures.Future[Any]) -> None:
    if made.exception() is None:
        made.result().close()


def fork_server() -> int | None:
    """The process that workers are forked from; None where there is none."""
    return getattr(forkserver._forkserver, "_forkserver_pid", None)


def _faults(server: int | None) -> Iterator[str]:
    """Reason why workers do not start, if there is one."""
    now = fork_server()
    if server is not None and (now != server or _has_ended(server)):
        yield "the process that workers are forked from died while they started"
    if now is not None and is_stopped(now):
        yield "the process that workers are forked from was stopped (SIGSTOP) while they started"


def _has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True


def _end_all(made: concurrent.futures.Future[Made]) -> None:
    """End what was started, also what is stopped: this process would wait for it when it ends.

    For a while, as Dask starts workers again that were ended before, and logs each death: its
    loggers are silenced here.
    """
    begin = time.monotonic()
    while time.monotonic() < begin + _SETTLE_SECONDS:
        server = fork_server()
        for pid in [] if server is None else [server, *_children(server)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        concurrent.futures.wait([made], timeout=_LOOK_SECONDS)
        if made.done():
            return


def _children(server: int | None) -> list[int]:
    if server is None:
        return []
    try:
        return [child.pid for child in psutil.Process(server).children()]
    except psutil.Error:
        return []
