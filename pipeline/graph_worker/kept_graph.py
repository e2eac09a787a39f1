"""Holder of the actor, which Dask keeps: when Dask releases it, no thread waits any longer.

When a client is killed, Dask drops all tasks that it asked for. Threads of the graph worker may
then wait for batches that are never loaded, and for pinned graphs that are never read, and they
would keep the graph in memory as long as the worker lives.
"""

import weakref
from typing import Any

from ..workers.in_thread import in_thread
from .actor import GraphActor


class KeptGraph:
    """An actor, which tasks use, and keep, beside this.

    Parameters
    ----------
    arguments, named
        Those of `GraphActor`.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.actor = GraphActor(*arguments, **named)
        # It waits for the batch that is being applied, and Dask lets go in its event loop.
        stop = weakref.finalize(self, in_thread, "graphtide-stop", self.actor.stop)
        stop.atexit = False
