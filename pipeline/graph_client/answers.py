"""Answers of tasks: how they reach the client, and what an error means for the run.

An answer is awaited on the event loop of Dask's client, so no thread here waits for a dead worker.
It is never cancelled: Dask would leave a task of its own behind, whose error is not retrieved
("Task exception was never retrieved … AllExit"). It ends by itself when its Future is released.
"""

import asyncio
import concurrent.futures
from collections.abc import Callable
from typing import Any

from distributed import Client, Future, KilledWorker
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError
from distributed.scheduler import NoValidWorkerError

from ...gpu_core.errors import BatchError, ClusterError
from ..graph_worker.ring import StaleTicketError
from ..tasks import GraphGoneError
from .generation import GraphLostError

#: What is known of a task that has ended: its result, or its error.
Answer = concurrent.futures.Future[Any]

#: Errors of a graph task whose graph is gone.
_GRAPH_GONE = (GraphGoneError, StaleTicketError, FutureCancelledError, CommClosedError)


class Answers:
    """Answers that are awaited.

    Parameters
    ----------
    client
        Client of the futures.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._pending: set[Answer] = set()

    def fetch(self, future: Future, ended: Callable[[Answer], None]) -> None:
        """Have ``ended`` called on a thread of Dask's, once the answer is here or cannot come."""
        answer = asyncio.run_coroutine_threadsafe(_answer(future), self._client.loop.asyncio_loop)
        self._pending.add(answer)
        answer.add_done_callback(self._pending.discard)
        answer.add_done_callback(ended)

    def forget(self) -> None:
        """Forget those that are awaited; their futures are released."""
        self._pending.clear()


async def _answer(future: Future) -> Any:
    return await future


def explain(error: BaseException, load_key: str, file: str) -> BaseException:
    """Translate an error of a graph task: `GraphLostError`, or the error that ends the run.

    Parameters
    ----------
    error
        As Dask gives it; a graph task that depends on a load fails with the load's error.
    load_key, file
        Key of the load that the task depends on, if it does, and the file of the log that it reads.
    """
    if isinstance(error, KilledWorker):
        if error.task != load_key:
            return GraphLostError(f"its worker died: {error}")
        # Dask also counts the deaths of a worker where the batch waited to be read next.
        msg = (
            f"the workers that were to read {file} died {error.allowed_failures + 1} times; if "
            f"they ran out of memory, lower batch_rows or window; if the file was written over "
            f"meanwhile, write it under a name ending in .tmp, and rename it"
        )
        return ClusterError(msg)
    if isinstance(error, NoValidWorkerError):
        msg = "no CPU worker is left to read the log; start one, and run again"
        return ClusterError(msg)
    if isinstance(error, _GRAPH_GONE):
        return GraphLostError(f"a task did not find it: {error}")
    return error


def of_file(error: BaseException, file: str) -> BaseException:
    """An error of a batch that the graph could not apply, with the file that its rows are of.

    The graph knows the number of the batch alone, unless it has converted the rows itself.
    """
    if isinstance(error, BatchError) and file not in str(error):
        return BatchError(f"{file}, {error}")
    return error
