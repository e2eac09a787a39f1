"""Exit of a worker whose device or graph broke, and how the client learns the reason.

After some errors of CUDA (an illegal address, say) nothing in the process can use the GPU again,
while Dask takes the worker for healthy: its heartbeats go on. Only a new process helps, so the
graph's process ends itself; its Nanny starts another, and the run goes on from the newest
checkpoint (``generation.py``). A process that ends answers no call, so it reports why to the
scheduler first, as an event.

Not here: which errors these are (`gpu_core.cuda.device`).
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from distributed import Client, get_worker

from ...gpu_core.engines import broken_device
from ...gpu_core.errors import EngineError

#: Topic of the events; each is a reason.
TOPIC = "graphtide-last-words"

#: Seconds that the event has to leave the process.
_FAREWELL_SECONDS = 0.25

#: Seconds that the scheduler has to send them.
_HEAR_SECONDS = 10.0


@contextmanager
def ends_with_its_device() -> Iterator[None]:
    """End this process where an `EngineError` comes out of the block and the GPU is lost to it."""
    try:
        yield
    except EngineError:
        reason = broken_device()
        if reason is not None:
            end_process(reason)
        raise


def end_process(reason: str) -> None:
    """Say why, and end this worker's process at once; its Nanny starts another."""
    with suppress(ValueError):  # no worker: there is no listener
        get_worker().log_event(TOPIC, reason)
    time.sleep(_FAREWELL_SECONDS)
    # Anything gentler would wait for the GPU, or for other tasks.
    os._exit(1)


class ExitReasons:
    """Reads, on the client, what workers said before they ended themselves."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._read = len(self._events())

    def newest(self) -> str | None:
        """Newest reason since the last call, or since the beginning; None: none was reported."""
        events = self._events()
        fresh, self._read = events[self._read :], len(events)
        return str(fresh[-1]) if fresh else None

    def newest_or(self, reason: str) -> str:
        """Why the graph was lost: the newest exit reason of a worker, else ``reason``."""
        newest = self.newest()
        return f"its worker ended itself: {newest}" if newest else reason

    def _events(self) -> list[object]:
        # The scheduler may be what went away, or is stopped.
        with suppress(OSError, TimeoutError, RuntimeError):
            if self._client.status == "running":
                events = self._client.sync(
                    self._client.scheduler.events, topic=TOPIC, callback_timeout=_HEAR_SECONDS
                )
                return [reason for _, reason in events]
        return []
