"""Loads of CPU workers: collected when they end, abandoned with their generation.

Dask drops a task that is not held. Waiting for a load to end holds it, so loads that are
not wanted any more are released by name. Otherwise the CPU workers would read the batches of a graph
that is gone before those of the next one.
"""

from collections.abc import Callable
from functools import partial

from distributed import Future

from .state_machine.events import BatchLoaded


class Loads:
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
        """Tell ``loaded`` when the load ends, well or not, or is given up."""
        self._pending[load.key] = load
        load.add_done_callback(partial(self._end, loaded))

    def give_up(self) -> None:
        """Release all loads that have not ended; Dask drops those that are not held elsewhere."""
        for load in list(self._pending.values()):
            load.release()
        self._pending.clear()

    def _end(self, loaded: BatchLoaded, load: Future) -> None:
        self._pending.pop(load.key, None)
        self._report(loaded)
