"""The object that Dask holds for the actor: when Dask releases it, all waits on the actor end.

When a client is killed, Dask drops all tasks that it asked for. Threads of the graph worker may
then wait for batches that are never loaded, and for pinned graphs that are never read, and they
would keep the graph in memory as long as the worker lives.
"""

import weakref

from ..workers.in_thread import in_thread
from .actor import GraphActor
from .actor_arguments import ActorArguments
from .pinned import Arrays


class ActorHolder:
    """Holds an actor; tasks use the actor itself.

    Parameters
    ----------
    arguments, checkpoint
        As of `GraphActor`.
    """

    def __init__(self, arguments: ActorArguments, checkpoint: Arrays | None = None) -> None:
        self.actor = GraphActor(arguments, checkpoint)
        # It waits for the batch that is being applied, and Dask releases in its event loop.
        stop = weakref.finalize(self, in_thread, "graphtide-stop", self.actor.stop)
        stop.atexit = False
