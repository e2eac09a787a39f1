"""A steady clock for Dask's messages and heartbeats: changes of the time of day do not reach it.

Dask plans by the time of day when a stream may send again, and Tornado when a heartbeat is due.
Where that is set back by an hour, both may wait for an hour, and the run with them. Here they are
given a clock that begins as the time of day and then counts what has passed, suspended or not. So
what they had planned before goes on to hold.

It is never taken away again: what was planned by it may be due later than all clusters are closed.
Other times of Dask's, such as those of its events, are the time of day as before.
"""

import threading
import time

import distributed.batched
from tornado.ioloop import IOLoop

_lock = threading.Lock()


def use_steady_clock() -> None:
    """Have the streams and the timers of this process go by it from now on; once is enough."""
    with _lock:
        if _steady_time is not distributed.batched.time:
            global _difference
            _difference = time.time() - _passed()
            distributed.batched.time = _steady_time
            IOLoop.time = lambda _loop: _steady_time()  # type: ignore[assignment, method-assign]


#: The time of day minus the seconds that the machine was up, when the clock was begun.
_difference = 0.0


def _steady_time() -> float:
    return _difference + _passed()


def _passed() -> float:
    """Seconds that the machine has been up, suspended ones among them."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
