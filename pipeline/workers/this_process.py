"""Changes that open clusters make in this process, and their reversal.

Environment, Dask's settings and loggers are one for all threads. Runs in several threads overlap as
they like: if each put back what it had met, one that met the changes of another would leave them
behind, and one that ended would take them from the others. So the first keeps what was there, and
the last puts it back (`Together`).

Not here: what workers are given beyond that (``local_cluster.py``).
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from multiprocessing import spawn
from typing import Any

import dask
from distributed.utils import silence_logging_cmgr

from .forking.fork_server import WORKER_ENVIRONMENT, variables_afterwards_as_before

#: Dask's settings for a cluster of our own; each with its reason.
_LOCAL_CONFIG: dict[str, Any] = {
    # Workers begin with all imported: see forking/fork_server.py.
    "distributed.worker.multiprocessing-method": "forkserver",
    **{f"distributed.nanny.pre-spawn-environ.{k}": v for k, v in WORKER_ENVIRONMENT.items()},
    # A hundred stack samples a second of compiled code say nothing.
    "distributed.worker.profile.enabled": False,
    # Workers have fixed roles, and batches are alike: there is nothing to steal.
    "distributed.scheduler.work-stealing": False,
    # Never close the Nanny of a worker that was away, as Dask does after 15 s: it starts the worker
    # again, however long that takes. Dask looks at the name alone, once, 15 s after each death, and
    # then takes another death for that one.
    "distributed.deploy.lost-worker-timeout": "1000 days",
    # A worker that hangs, rather than dies, is given up after this.
    "distributed.scheduler.worker-ttl": "60s",
    # On one machine a connection is there at once or never.
    "distributed.comm.timeouts.connect": "10s",
}

#: What Nannies set in the environment of this process, beside what the settings above name; the
#: last one is set by those of a GPU.
_SET_BY_NANNIES = ("PYTHONHASHSEED", "__DASK_PARENT_PID", "RAPIDS_NO_INITIALIZE")

#: What Nannies call the processes of their workers.
_WORKERS_NAME = "Dask Worker process (from Nanny)"


class Together:
    """A context that threads are in side by side: the first enters it, the last leaves it."""

    def __init__(self, context: Callable[[], AbstractContextManager[object]]) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._inside = 0
        self._stack = ExitStack()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Be inside while the block runs."""
        with self._lock:
            if not self._inside:
                self._stack.enter_context(self._context())
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    self._stack.close()


@contextmanager
def _fit_for_clusters() -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(_LOCAL_CONFIG))
        set_here = dask.config.get("distributed.nanny.pre-spawn-environ")
        stack.enter_context(variables_afterwards_as_before([*set_here, *_SET_BY_NANNIES]))
        # What the workers of a run log while they are stopped would only confuse its user.
        for root in ("distributed", "bokeh"):
            stack.enter_context(silence_logging_cmgr(logging.CRITICAL, root))
        stack.enter_context(_workers_without_the_script())
        yield


@contextmanager
def _workers_without_the_script() -> Iterator[None]:
    """Keep workers from importing the script that started them.

    Python does that for pickled functions of the script, and a run sends none. Each worker would
    run the script's lines again where nothing guards them (``if __name__ == "__main__"``), and a
    script from standard input is no file.
    """
    prepare = spawn.get_preparation_data

    def prepare_workers(name: str) -> dict[str, object]:
        data = prepare(name)
        if name == _WORKERS_NAME:
            data.pop("init_main_from_name", None)
            data.pop("init_main_from_path", None)
        return data

    spawn.get_preparation_data = prepare_workers
    try:
        yield
    finally:
        spawn.get_preparation_data = prepare


@contextmanager
def _silent_client() -> Iterator[None]:
    # The loss of the scheduler is reported as an error of the run; messages may be on their way.
    loggers = [logging.getLogger(f"distributed.{name}") for name in ("client", "batched")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


#: While a cluster of this process is open.
fit_for_clusters = Together(_fit_for_clusters)

#: While a client of a run is open.
silent_client = Together(_silent_client)
