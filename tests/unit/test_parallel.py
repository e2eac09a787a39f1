"""Kernels over ranges in threads, and what of them is in a process that was forked."""

import os
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

import pytest

from graphtide import DynamicGraph, EngineError
from graphtide.gpu_core.jit import parallel
from waiting import wait_until


def in_a_fork(call: Callable[[], object]) -> bool:
    """Whether a call returns in a forked process; one that hangs there is killed."""
    with warnings.catch_warnings():
        # Python 3.12 warns of other threads, which are what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        done = 1
        try:
            call()
            done = 0
        finally:
            os._exit(done)
    ended: list[int] = []

    def has_ended() -> bool:
        found, status = os.waitpid(child, os.WNOHANG)
        ended.extend([status] * (found != 0))
        return bool(ended)

    try:
        wait_until(has_ended, 120)
    finally:
        if not ended:
            os.kill(child, 9)
            os.waitpid(child, 0)
    return ended == [0]


def while_held(lock: threading.Lock, call: Callable[[], bool]) -> bool:
    """Make a call while another thread holds a lock."""
    is_held, end = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            is_held.set()
            end.wait(600)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert is_held.wait(60)
        return call()
    finally:
        end.set()
        holder.join()


def test_a_fork_while_another_thread_asks_for_threads_has_threads_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parallel, "thread_count", lambda: 4)
    parallel.run_all([int] * 4)
    assert while_held(parallel._lock, lambda: in_a_fork(lambda: parallel.run_all([int] * 4)))


@pytest.mark.parametrize("ids", ["any", "string"])
def test_a_fork_is_refused_the_graph_that_another_thread_was_using(ids: str) -> None:
    """And has all others; the parent's are as they were."""
    busy, other = (DynamicGraph(ids=ids, engine="host") for _ in range(2))
    names = ["1", "2"] if ids == "string" else [1, 2]
    busy.insert_edges(names[:1], names[1:])
    other.insert_edges(names[:1], names[1:])
    epoch = busy.pin()

    def use() -> None:
        for call in (busy.pagerank, busy.vertices, lambda: busy.insert_vertices(names)):
            with pytest.raises(EngineError, match="another thread was using this graph when"):
                call()
        assert other.insert_vertices(names).updated == 2
        assert other.pagerank().pagerank.size == epoch.num_vertices == 2

    assert while_held(busy.lock, lambda: in_a_fork(use))
    assert busy.pagerank().pagerank.size == 2
    with busy.lock:
        assert in_a_fork(lambda: busy.insert_vertices(names))


def test_two_callers_have_a_thread_for_each_of_their_ranges(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A batch is applied while an analytic is computed, and does not wait for its ranges."""
    monkeypatch.setattr(parallel, "thread_count", lambda: 4)
    monkeypatch.setattr(parallel, "_pool", None)
    begun, end, together = threading.Barrier(5), threading.Event(), threading.Barrier(4)

    def long() -> None:
        begun.wait(60)
        end.wait(600)

    analytic = threading.Thread(target=parallel.run_all, args=([long] * 4,))
    analytic.start()
    try:
        begun.wait(60)
        # Each of these goes on only when all of them have begun.
        arrived = parallel.run_all([partial(together.wait, 60)] * 4)
        assert sorted(arrived) == [0, 1, 2, 3]
    finally:
        end.set()
        analytic.join()


def test_no_call_goes_on_behind_an_interrupted_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C comes while the others are waited for: they work on memory of the caller's."""
    ended: list[int] = []
    wait_for, interrupts = Future.exception, [KeyboardInterrupt]

    def interrupted(self: Future[object], timeout: float | None = None) -> BaseException | None:
        if interrupts:
            raise interrupts.pop()
        return wait_for(self, timeout)

    def slow() -> None:
        time.sleep(0.3)
        ended.append(1)

    monkeypatch.setattr(Future, "exception", interrupted)
    with pytest.raises(KeyboardInterrupt):
        parallel.run_all([lambda: None, slow])
    assert ended == [1]
