"""The slot of a task that runs a log on the very cluster that it is a task of."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from distributed import rejoin, secede
from distributed.utils import thread_state


@contextmanager
def slot_left_to_others() -> Iterator[None]:
    """Leave the slot of the task that this is called in, if it has one, and take one afterwards.

    The run needs slots for its own tasks: on a worker of one thread, those sent there would wait
    for the end of this one, which waits for them. Dask's ``worker_client`` does the same. A method
    of an actor of Dask's has the only thread for actors of its worker, one of which is the graph.
    """
    with ExitStack() as stack:
        # Dask sets it on threads of tasks, and of the actors' methods, alone.
        if hasattr(thread_state, "start_time"):
            # Dask's error where the task has left its slot before.
            with suppress(KeyError):
                secede()
                stack.callback(rejoin)
        yield
