"""Run one kernel over disjoint ranges in threads.

A kernel takes ``(low, high, …)`` and works on items ``low … high - 1`` alone. The kernels release
the GIL (`compile.py`), so plain threads run them side by side. How the items are cut never changes
an answer: a kernel that sums floats does so in fixed blocks (`pagerank.py`).
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

#: Below this many items a thread's start costs more than it saves.
SERIAL_ITEMS = 4096

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def thread_count() -> int:
    """Threads that kernels may use: ``NUMBA_NUM_THREADS``, or the cores given to this process."""
    asked = os.environ.get("NUMBA_NUM_THREADS", "")
    return int(asked) if asked.isdigit() and int(asked) > 0 else len(os.sched_getaffinity(0))


def _threads() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(thread_count(), thread_name_prefix="graphtide-host")
        return _pool


def _forget_pool() -> None:
    # A forked child has the pool's record but none of its threads.
    global _pool
    _pool = None


os.register_at_fork(after_in_child=_forget_pool)


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
    parts = min(thread_count(), -(-items // block))
    if items < serial_items or parts < 2:
        return [kernel(0, items, *arguments)] if items else []
    blocks = -(-items // block)
    bounds = [min(items, blocks * part // parts * block) for part in range(parts + 1)]
    ranges = list(zip(bounds[:-1], bounds[1:], strict=True))
    calls = [_threads().submit(kernel, low, high, *arguments) for low, high in ranges[1:]]
    try:
        first = kernel(*ranges[0], *arguments)
    finally:
        errors = [call.exception() for call in calls]
    for error in errors:
        if error is not None:
            raise error
    return [first, *(call.result() for call in calls)]
