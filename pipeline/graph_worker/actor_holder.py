"""The object that Dask holds for the actor: when Dask releases it, the actor is closed.

When a client is killed, Dask drops all tasks that it asked for, also those that would close the
graph. Threads of the graph worker may then wait for batches that are never loaded, and for pinned
graphs that are never read; they, and frames of errors, would keep the graph in memory as long as
the worker lives.
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
        close = weakref.finalize(self, in_thread, "graphtide-close", self.actor.close)
        close.atexit = False
