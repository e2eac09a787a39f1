"""Waiting for what other processes do."""

import time
from collections.abc import Callable

#: Seconds that something may take that takes one: other processes have the machine too. Less than
#: the time limit of a test, so that what did not happen is named, and than Dask waits for workers.
PATIENCE = 200.0


def wait_until(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Look until it is so; fail where it does not come in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)
