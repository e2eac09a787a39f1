"""A Dask cluster on this machine for one run: its scheduler, its workers and their options.

The graph worker is a ``dask_cuda.CUDAWorker`` where the graph lives on a GPU, else a plain Nanny of
the same shape as those of the CPU workers.

Everything listens on the loopback interface, closes on success, on error and on Ctrl-C, and workers
end with this process even if it is killed (their Nannies watch it).

Not here: how a worker's process starts (``forking/``), how it is started again
(``lost_workers.py``) and ended (``own_cluster.py``), and what it does (``roles.py``).
"""

import logging
import os
import resource
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import dask
from distributed import Nanny, Scheduler, SpecCluster, utils

from ...config.settings import RunSettings
from ...gpu_core.engines import likely_engine
from ...gpu_core.errors import ClusterError
from ..monitoring.dashboard import dashboard_options, has_dashboard, page_link, serve_when_asked
from .cluster_start import fork_server, start_watched
from .forking.fork_server import (
    interrupts_stay_here,
    provide_open_files,
    start_fork_server,
    variables_afterwards_as_before,
)
from .lost_workers import watch_nannies
from .own_cluster import OwnCluster, nannies
from .roles import CPU, GPU
from .stopped_workers import Watch, watch_processes
from .this_process import fit_for_clusters

_LOOPBACK = "127.0.0.1"

#: Held while the workers of a cluster are started: what is set for them meanwhile is set for the
#: whole process.
_starting = threading.Lock()


def uses_gpu(settings: RunSettings) -> bool:
    """Whether the graph will live on a GPU, as far as this process can tell; opens no context.

    Raises
    ------
    EngineError
        A GPU is asked for, and this machine, where the cluster would be, has none.
    """
    if settings.scheduler is not None:
        # Its workers may have what this machine has not.
        return settings.graph.engine == "cuda"
    return likely_engine(settings.graph.engine) == "cuda"


def default_cpu_workers(handover: str) -> int:
    """CPU workers of a cluster on this machine: what is left beside the graph and the scheduler.

    Of 16 cores the scheduler, the client and the graph worker take one together where batches come
    through a ring, and a second one receives them where they come by Dask. So 14 CPU workers were
    fastest with the one (505 M updates/s into a stand-in for the graph; 432 with 12), 12 with the
    other.
    """
    cores = len(os.sched_getaffinity(0))
    return max(1, cores - max(1, cores // (5 if handover == "dask" else 8)))


@contextmanager
def local_cluster(settings: RunSettings) -> Iterator[tuple[OwnCluster, Watch]]:
    """Start a scheduler and workers, and watch their processes."""
    with fit_for_clusters():
        _fork_without_imports_here()
        start_fork_server()
        cluster = _start(settings)
        lost = watch_nannies(cluster, partial(_as_workers_start, settings))
        with watch_processes(partial(_pids, cluster)).looking() as watch, lost.looking():
            try:
                yield cluster, watch
            finally:
                lost.hurry()
                watch.hurry()
                cluster.close()


def dashboard_link(cluster: SpecCluster, settings: RunSettings) -> str | None:
    """Address of the dashboard, where it is on."""
    return page_link(cluster.dashboard_link) if is_dashboard_shown(settings) else None


def is_dashboard_shown(settings: RunSettings) -> bool:
    """Whether a cluster on this machine has the dashboard."""
    return settings.dashboard and has_dashboard()


def _start(settings: RunSettings) -> OwnCluster:
    count = settings.workers or default_cpu_workers(settings.handover)
    provide_open_files(count)
    workers = {"graph-0": _graph_worker(settings)}
    workers |= {f"cpu-{number}": _cpu_worker(number) for number in range(count)}
    scheduler = {
        "cls": Scheduler,
        "options": {
            "host": _LOOPBACK,
            "port": 0,
            **dashboard_options(_LOOPBACK, is_wanted=is_dashboard_shown(settings)),
        },
    }
    with _as_workers_start(settings), warnings.catch_warnings():
        # Another process may take the port of the dashboard between the check and the start.
        warnings.filterwarnings("ignore", message="Port .* is already in use")
        # … and then Tornado leaves its socket to the garbage collector.
        warnings.filterwarnings("ignore", category=ResourceWarning)
        cluster = _tried_twice(lambda: OwnCluster(workers=workers, scheduler=scheduler))
    if is_dashboard_shown(settings):
        serve_when_asked(cluster.scheduler)
    return cluster


def _tried_twice(make: Callable[[], OwnCluster]) -> OwnCluster:
    """Start a cluster; where a worker was lost meanwhile, Dask has closed it, start another one."""
    others = {*SpecCluster._instances}
    try:
        try:
            return start_watched(make)
        except ClusterError:
            raise
        except (RuntimeError, TimeoutError):
            return start_watched(make)
    except (ClusterError, KeyboardInterrupt):
        _abandon(others)
        raise
    except (RuntimeError, TimeoutError) as error:
        msg = f"a worker of the cluster on this machine did not start ({error}); {_cure()}"
        raise ClusterError(msg) from error


@contextmanager
def _as_workers_start(settings: RunSettings) -> Iterator[None]:
    """Settings of the whole process while workers are started, at first or again."""
    with ExitStack() as stack:
        stack.enter_context(_starting)
        # The server that workers are forked from may be older than what is set by now.
        environ = {**dask.config.get("distributed.nanny.environ"), **os.environ}
        stack.enter_context(dask.config.set({"distributed.nanny.environ": environ}))
        stack.enter_context(interrupts_stay_here())
        if uses_gpu(settings):
            stack.enter_context(_one_gpu())
        yield


def _abandon(others: set[SpecCluster]) -> None:
    """Leave a cluster half started, beside others that there were before.

    Dask would try to close it when this process ends, and fail with a traceback. Its workers end
    with this process.
    """
    for half_started in {*SpecCluster._instances} - others:
        half_started.shutdown_on_close = False


def _pids(cluster: SpecCluster) -> list[int]:
    """Numbers of the workers' processes, and of the one that they are forked from.

    Where the latter is stopped, a worker's death goes unnoticed; it is killed, its workers end
    with it, and are restarted.
    """
    server = fork_server()
    watched = [nanny for worker in [*cluster.workers.values()] for nanny in nannies(worker)]
    return [pid for pid in (server, *(nanny.pid for nanny in watched)) if pid]


def _cpu_worker(number: int) -> dict[str, Any]:
    return {
        "cls": Nanny,
        "options": {**_nanny_options(f"cpu-{number}"), "resources": {CPU: 1}},
    }


def _graph_worker(settings: RunSettings) -> dict[str, Any]:
    if not uses_gpu(settings):
        return {
            "cls": Nanny,
            "options": {**_nanny_options("graph-0"), "resources": {GPU: 1}},
        }
    try:
        from dask_cuda import CUDAWorker
    except ImportError as error:
        msg = (
            f"the cuda engine needs dask-cuda ({error}); pip install -e '.[gpu]' in the checkout "
            f"of graphtide, or pip install 'dask-cuda[cu12]'; or use engine: host"
        )
        raise ClusterError(msg) from None
    options = {
        "host": _LOOPBACK,
        "name": "graph-0",
        "nthreads": 1,
        # Neither in host memory nor on the device is there anything that Dask may spill.
        "memory_limit": 0,
        "device_memory_limit": None,
        # Those of the CPU workers have none either; it takes long to import.
        "dashboard": False,
        # As a string; it sets the environment of its process itself.
        "resources": f"{GPU}=1",
        "preload": ["graphtide.pipeline.workers.gpu_imports"],
        "silence_logs": logging.CRITICAL,
    }
    return {"cls": CUDAWorker, "options": options}


@contextmanager
def _one_gpu() -> Iterator[None]:
    """Show the first GPU only: a ``CUDAWorker`` starts a process on each that it sees."""
    name = "CUDA_VISIBLE_DEVICES"
    with variables_afterwards_as_before([name]):
        os.environ[name] = (os.environ.get(name) or "0").split(",")[0]
        yield


def _nanny_options(name: str) -> dict[str, Any]:
    return {
        "host": _LOOPBACK,
        "name": name,
        "nthreads": 1,
        # The window bounds what is in flight. A limit would pause a worker for memory that malloc
        # merely keeps, or kill the one that holds the graph.
        "memory_limit": 0,
        "env": {"CUDA_VISIBLE_DEVICES": ""},
        # Without this, workers that may not see the GPU report its memory as theirs.
        "config": {"distributed.diagnostics.nvml": False},
        "silence_logs": logging.CRITICAL,
    }


def _cure() -> str:
    """Advice where a worker does not start."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        return f"raise the limit of address space, which is {limit / 1e9:.3g} GB (ulimit -v)"
    return "look at the memory and the processes of the machine, and run again"


def _fork_without_imports_here() -> None:
    """Keep Dask from importing here whatever it might want imported in the server.

    That is pandas, where it is installed: 0.4 s. It has no public name for that.
    """
    utils._forkserver_preload_set = True
