"""Restarts workers of this machine that Dask has given up.

A Nanny starts its worker again when that dies. But it closes itself, for good, where such a start
fails: the process that workers are forked from died or was killed meanwhile, the machine had no
process or memory left, the new worker did not reach the scheduler in time. And it does not notice a
worker that dies in the last moment of its first start. Nothing else would start that worker: a run
would wait for it, and end with a sentence, each time. So a thread looks for Nannies that have no
process, and has others take their place.

Not here: workers that are stopped (``stopped_workers.py``), and a cluster that does not come to be
(``cluster_start.py``).
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any

from distributed import SpecCluster
from distributed.core import Status

from .own_cluster import nannies
from .stopped_workers import SeenFor, Watch

#: Seconds that a worker may have no process. Where its Nanny starts it again, it has none while the
#: scheduler notices its death, which takes milliseconds.
LOST_SECONDS = 3.0
_LOOK_SECONDS = 0.5

#: Seconds for what is left of a Nanny to close.
_CLOSE_SECONDS = 5.0


def watch_nannies(
    cluster: SpecCluster, as_they_start: Callable[[], AbstractContextManager[object]]
) -> Watch:
    """Replace Nannies of a cluster that have no process; ``as_they_start`` is around each start."""
    seen: SeenFor[str] = SeenFor()

    def look(is_ending: bool) -> None:
        without = [name for name, each in [*cluster.workers.items()] if _has_no_process(each)]
        seconds = seen.look(without, time.monotonic())
        lost = [name for name in without if seconds[name] > LOST_SECONDS]
        if lost and not is_ending:
            # The loop of the cluster may be gone by now.
            with as_they_start(), suppress(RuntimeError):
                cluster.sync(_replace, cluster, lost)

    return Watch(look, _LOOK_SECONDS)


def _has_no_process(worker: Any) -> bool:
    return any(_is_lost(nanny) for nanny in nannies(worker))


def _is_lost(nanny: Any) -> bool:
    # One that breaks off as it closes itself is closing for ever, with Dask before 2026.8.
    if nanny.process is None or nanny.status in (Status.closing, Status.closed, Status.failed):
        return True
    return nanny.process.status in (Status.stopped, Status.failed)


async def _replace(cluster: SpecCluster, names: list[str]) -> None:
    """Close what is left of these workers, and start others; those that fail are found again."""
    for name in names:
        with suppress(Exception):
            await asyncio.wait_for(cluster.workers[name].close(), _CLOSE_SECONDS)
    if cluster.status != Status.running:
        return
    for name in names:
        spec = cluster.worker_spec[name]
        # Before it has started: it may be stopped, or the cluster closed, meanwhile.
        cluster.workers[name] = spec["cls"](cluster.scheduler.address, **spec["options"])
    await asyncio.gather(*(cluster.workers[name] for name in names), return_exceptions=True)
