"""What Dask keeps of the actor: once it lets go of that, nobody waits for the graph any more.

A client that is killed takes all with it that was asked for. Threads of the graph worker may then
wait for batches that are not loaded, and for pinned graphs that are not read, and with them they
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
