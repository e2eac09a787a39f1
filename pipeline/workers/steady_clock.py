"""A steady clock for Dask's messages and heartbeats, which ignores changes of the system time.

Dask schedules messages of a stream by the system time, and Tornado heartbeats. If that is set back
by an hour, both may wait for an hour, and the run with them. So they get a clock that starts with
the system time and then counts the seconds that pass, also while the machine is suspended. What
they have scheduled before remains valid.

The clock stays in place: something may be scheduled by it for after all clusters are closed. Other
times of Dask, such as those of its events, are the system time as before.
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
