"""Run one kernel over disjoint ranges in threads.

A kernel takes ``(low, high, …)`` and works on items ``low … high - 1`` alone. The kernels release
the GIL (`compile.py`), so plain threads run them side by side. How the items are cut never changes
an answer: a kernel that sums floats does so in fixed blocks (`pagerank.py`).

Any number of threads may call this at once: while one applies batches, another computes analytics
of an epoch. No kernel calls it, so a call never waits for its own threads. Two callers find a
thread each for every range; which of them has the cores is left to the system. More of them wait
for each other's ranges.
"""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache, partial
from itertools import pairwise
from typing import Any

#: Below this many items a thread's start costs more than it saves.
SERIAL_ITEMS = 4096

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


@cache
def thread_count() -> int:
    """Threads that kernels may use: ``NUMBA_NUM_THREADS``, or the cores given to this process.

    Asked once: kernels that work in two passes rely on the same ranges in both.
    """
    asked = os.environ.get("NUMBA_NUM_THREADS", "")
    return int(asked) if asked.isdigit() and int(asked) > 0 else len(os.sched_getaffinity(0))


def _threads() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            # For two callers; threads are started as they are needed.
            _pool = ThreadPoolExecutor(2 * thread_count(), thread_name_prefix="graphtide-host")
        return _pool


def _forget_pool() -> None:
    # A forked child has the pool's record but none of its threads, and not the one either that may
    # have held the lock.
    global _lock, _pool
    _lock, _pool = threading.Lock(), None


os.register_at_fork(after_in_child=_forget_pool)


def ranges_of(
    items: int, *, block: int = 1, serial_items: int = SERIAL_ITEMS
) -> list[tuple[int, int]]:
    """Ranges that cover ``0 … items``, as `for_ranges` cuts them; none where there is nothing."""
    if items == 0:
        return []
    if items < serial_items:
        return [(0, items)]
    blocks = -(-items // block)
    parts = min(thread_count(), blocks)
    bounds = [min(items, blocks * part // parts * block) for part in range(parts + 1)]
    return list(pairwise(bounds))


def for_ranges(
    kernel: Callable[..., Any],
    items: int,
    *arguments: Any,
    block: int = 1,
    serial_items: int = SERIAL_ITEMS,
) -> list[Any]:
    """Call ``kernel(low, high, *arguments)`` over ranges that cover ``0 … items``.

    Ranges begin at multiples of ``block``. Returns what the calls returned, in order of the ranges;
    an exception of any call is raised once all of them have ended.
    """
    ranges = ranges_of(items, block=block, serial_items=serial_items)
    if len(ranges) < 2:
        # Most calls of a small batch; it has dozens.
        return [kernel(low, high, *arguments) for low, high in ranges]
    return run_all([partial(kernel, low, high, *arguments) for low, high in ranges])


def _errors_of(others: Sequence[Future[Any]]) -> list[BaseException | None]:
    """Wait for calls, and for all of them where Ctrl-C comes: none goes on behind its caller."""
    try:
        return [other.exception() for other in others]
    except BaseException:
        wait(others)
        raise


def run_all(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run the calls side by side, the first one in this thread; results in order."""
    if len(calls) < 2:
        return [call() for call in calls]
    others: list[Future[Any]] = []
    try:
        for call in calls[1:]:
            others.append(_threads().submit(call))
        first = calls[0]()
    finally:
        errors = _errors_of(others)
    failed = next((error for error in errors if error is not None), None)
    if failed is None:
        return [first, *(other.result() for other in others)]
    try:
        raise failed
    finally:
        # They hold the frames in which they were raised, and these what the calls work on.
        del failed, errors, others
