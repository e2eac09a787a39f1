"""Work on all cores, in processes that end with this one."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from ..gpu_core.errors import GraphtideError
from ..pipeline.workers.stopped_workers import watch_processes

Result = TypeVar("Result")


def run_in_processes(
    work: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]
) -> list[Result]:
    """Call ``work`` with each tuple of arguments, in new processes; answers in order.

    Both are pickled. An error, Ctrl-C and the end of this process, however it comes, end the others
    at once. One that is stopped (SIGSTOP) is killed, as workers of a cluster are.

    Raises
    ------
    GraphtideError
        One of the processes was killed, or stopped for too long.
    """
    processes = min(len(arguments), len(os.sched_getaffinity(0)))
    spawn = multiprocessing.get_context("spawn")
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(processes, mp_context=spawn, initializer=_end_with_parent)
    try:
        answers = [pool.submit(work, *each) for each in arguments]
        pids = [each.pid for each in multiprocessing.active_children() if each not in others]
        with watch_processes(lambda: [pid for pid in pids if pid is not None]).looking():
            return [answer.result() for answer in answers]
    except BaseException as error:
        for process in multiprocessing.active_children():
            if process not in others:
                process.kill()  # a stopped one would not hear of less
        if isinstance(error, BrokenProcessPool):
            msg = (
                "a process was killed at its work, or stopped; where memory was short, ask for "
                "less at a time"
            )
            raise GraphtideError(msg) from None
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """Set up a process of the pool, which by itself would wait for work for ever."""
    # A terminal sends Ctrl-C to all processes; it is for the first one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
