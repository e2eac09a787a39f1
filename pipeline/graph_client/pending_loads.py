"""Loads of CPU workers that have not ended: reported when they do, released with their graph.

Dask runs a task as long as its Future is held, and a callback on its end holds it. So the loads of
a lost graph are released by name; otherwise CPU workers would read its batches before those of the
next graph.
"""

from collections.abc import Callable
from functools import partial

from distributed import Future

from ..state_machine.events import BatchLoaded


class PendingLoads:
    """Loads that have not ended.

    Parameters
    ----------
    report
        Called on a thread of Dask's, once for each load, with what it was watched with.
    """

    def __init__(self, report: Callable[[BatchLoaded], None]) -> None:
        self._report = report
        #: Key -> load.
        self._pending: dict[str, Future] = {}

    def watch(self, load: Future, loaded: BatchLoaded) -> None:
        """Report ``loaded`` when the load ends, with or without an error, or is released."""
        self._pending[load.key] = load
        load.add_done_callback(partial(self._end, loaded))

    def release_all(self) -> None:
        """Release all loads that have not ended; Dask drops those that are not held elsewhere."""
        for load in list(self._pending.values()):
            load.release()
        self._pending.clear()

    def _end(self, loaded: BatchLoaded, load: Future) -> None:
        self._pending.pop(load.key, None)
        self._report(loaded)
