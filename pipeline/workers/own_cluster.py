"""A Dask cluster on this machine that always closes, and ends all processes of its workers.

Dask closes a Nanny that is starting its worker only when that has started. If a worker died during
its start, and the next one was started at once, Dask before 2026.8 may read the message of the
second from its queue on behalf of the first, and drop it. That worker runs, but its Nanny waits for
the message for ever, and closing the cluster waits for the Nanny. A failed start of a cluster waits
likewise, since Dask closes what it has started by then.

So while a cluster is being closed, workers that their Nannies believe to be starting are killed:
they have nothing to finish. Whatever else delays the close, or makes it fail, is given up after a
time limit, and the processes of all workers are killed.

Not here: workers that are stopped (``stopped_workers.py``), or that are not started again
(``lost_workers.py``).
"""

import asyncio
import os
import signal
import time
from contextlib import suppress
from typing import Any

from distributed import SpecCluster, core, utils
from distributed.core import Status

#: Seconds for a cluster to close; it takes one, but the machine may be busy, and Dask waits 4 for
#: each worker before it kills it.
CLOSE_SECONDS = 15.0

#: Seconds for processes that were killed to be gone.
_GONE_SECONDS = 2.0
_LOOK_SECONDS = 0.1


class OwnCluster(SpecCluster):
    """Closes within `CLOSE_SECONDS`, after a start that failed as well."""

    def address_here(self) -> str:
        """Address of the scheduler for clients of this process, who share its event loop.

        Messages between them need no socket then: a sixth of the time that the loop spends on a
        batch with results. Encrypted clusters have none such.
        """
        if not self.scheduler_address.startswith("tcp://"):
            return str(self.scheduler_address)
        return str(self.sync(self._listen_here))

    async def _listen_here(self) -> str:
        await self.scheduler.listen("inproc://", allow_offload=False)
        return str(self.scheduler.listeners[-1].contact_address)

    async def _close(self) -> None:
        # Nannies forget their processes when they are closed.
        processes = self._processes()
        killing = asyncio.create_task(self._kill_starting())
        try:
            await asyncio.wait_for(super()._close(), CLOSE_SECONDS)
        except Exception:
            # It takes too long, or a Nanny broke off: no news beside a result, which is on disk by
            # now, or beside what a run or a start failed with. Dask is not to try again at exit.
            self.status = Status.closed
        finally:
            killing.cancel()
            await _kill(processes | self._processes())
            _forget_methods()

    def _processes(self) -> set[Any]:
        """The processes of workers, as their Nannies have them."""
        watched = [nanny for worker in [*self.workers.values()] for nanny in nannies(worker)]
        return {nanny.process for nanny in watched if nanny.process is not None}

    async def _kill_starting(self) -> None:
        while True:
            for process in self._processes():
                if process.status == Status.starting:
                    _kill_one(process)
            await asyncio.sleep(_LOOK_SECONDS)


def nannies(worker: Any) -> list[Any]:
    """Nannies of what a cluster calls a worker: those of a GPU have them within."""
    return list(getattr(worker, "nannies", [worker]))


def _forget_methods() -> None:
    """Empty Dask's caches of what arguments a method takes.

    Their keys are methods of schedulers and Nannies, which they would keep, with all events and
    records, for as long as the process lives: 0.2 MB a run.
    """
    for module, name in ((core, "_expects_comm"), (utils, "has_keyword")):
        function: Any = getattr(module, name, None)
        if hasattr(function, "cache_clear"):  # not in every version of Dask
            function.cache_clear()


async def _kill(processes: set[Any]) -> None:
    """Kill what is left, so that nothing is said of it when this process ends."""
    deadline = time.monotonic() + _GONE_SECONDS
    while any(process.pid for process in processes) and time.monotonic() < deadline:
        for process in processes:
            _kill_one(process)
        await asyncio.sleep(_LOOK_SECONDS / 10)


def _kill_one(process: Any) -> None:
    if pid := process.pid:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
