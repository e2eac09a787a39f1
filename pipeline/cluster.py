"""Where a run runs: a Dask cluster of its own on this machine, or any that is running already.

A cluster has two kinds of workers. *CPU workers* read the log and convert batches; they declare
the resource ``CPU``. One *graph worker* holds the graph; it declares ``GPU``, whether it has one or
not: a ``dask_cuda.CUDAWorker`` where the graph lives on a GPU, else a plain Nanny of the same
shape. A cluster of someone else may declare neither: then one of its workers is chosen for the
graph, and all others read (`Roles`); a worker that is alone does both. Tasks for the graph are
pinned by the worker's name. Dask takes that for the address that the worker has at the time, so
each generation looks it up anew.

Everything listens on the loopback interface, closes on success, on error and on Ctrl-C, and workers
end with this process even where it is killed (their Nannies watch it).

Not here: what is sent to the workers (``tasks.py``), and what happens when one of them dies
(``recovery.py``).
"""

import difflib
import importlib.util
import logging
import os
import resource
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dask
from distributed import Client, Nanny, Scheduler, SpecCluster, utils

from ..config.settings import RunSettings
from ..gpu_core.engines import resolve_engine
from ..gpu_core.errors import ClusterError
from .fork_server import interrupts_stay_here, start_fork_server, variables_afterwards_as_before
from .stopped_workers import Watch, watch_heartbeats, watch_processes
from .this_process import fit_for_clusters, silent_client

#: Resources that workers declare, and that tasks ask one unit of.
CPU = "CPU"
GPU = "GPU"

_LOOPBACK = "127.0.0.1"

#: Where no worker has come for so long, those that are there are taken for all.
_ALL_HERE_SECONDS = 2.0

#: Held while the workers of a cluster are started: what is set for them meanwhile is set for the
#: whole process.
_starting = threading.Lock()


@dataclass(frozen=True)
class Roles:
    """Which worker does what; chosen anew for every generation of the graph."""

    #: Name and address of the graph worker.
    graph_name: str
    graph_address: str
    #: Keyword arguments of ``client.submit`` for tasks on the graph worker, and on CPU workers.
    graph_pin: dict[str, Any]
    cpu_pin: dict[str, Any]
    cpu_addresses: tuple[str, ...]
    #: Tasks that the CPU workers perform at once.
    cpu_tasks: int

    @property
    def is_shared(self) -> bool:
        """Whether one worker holds the graph and reads the log."""
        return self.cpu_addresses == (self.graph_address,)

    @property
    def cpu_workers(self) -> int:
        """Number of CPU workers."""
        return len(self.cpu_addresses)

    def same_places(self, other: "Roles") -> bool:
        """Whether tasks of both would wait for the same workers."""
        return (self.graph_address, self.cpu_pin) == (other.graph_address, other.cpu_pin)


class Cluster:
    """A client and the roles of its workers. Made by `open_cluster`."""

    def __init__(
        self,
        client: Client,
        graph_worker: str | None,
        timeout_seconds: float,
        is_ending: Callable[[], None] = lambda: None,
        dashboard: str | None = None,
    ) -> None:
        self.client = client
        #: Address of Dask's dashboard, of a cluster on this machine where it is on.
        self.dashboard = dashboard
        #: To be called where nothing more will be asked of the workers.
        self.is_ending = is_ending
        self._address = client.scheduler.address
        self._graph_worker = graph_worker
        self._timeout_seconds = timeout_seconds
        #: Names of all workers that there have been.
        self._seen: set[str] = set()
        #: When the newest of them came.
        self._newest_seconds = time.monotonic()

    def roles(self) -> Roles:
        """Choose the workers, and wait for them where they are not there yet.

        Raises
        ------
        ClusterError
            There is no worker for the graph, or none is left to read the log.
        """
        deadline = time.monotonic() + self._timeout_seconds
        while True:
            workers = self._workers()
            names = {str(worker["name"]) for worker in workers.values()}
            if not names <= self._seen:
                self._newest_seconds = time.monotonic()
                self._seen |= names
            try:
                roles = choose_roles(workers, self._graph_worker)
                self._refuse_last_of_several(roles)
                # Others may be about to come.
                quiet_seconds = time.monotonic() - self._newest_seconds
                if not roles.is_shared or quiet_seconds > _ALL_HERE_SECONDS:
                    return roles
            except ClusterError:
                # A name that no worker ever had is mistyped, where all others have come.
                is_mistyped = self._graph_worker is not None and (
                    bool(names) and self._graph_worker not in self._seen
                )
                if is_mistyped:
                    deadline = min(deadline, self._newest_seconds + _ALL_HERE_SECONDS)
                if time.monotonic() > deadline or self.client.status == "closed":
                    raise
            time.sleep(0.05)

    def _refuse_last_of_several(self, roles: Roles) -> None:
        """Refuse to give one worker the work of several; those that died may come again."""
        if roles.is_shared and len(self._seen) > 1:
            msg = (
                f"of {len(self._seen)} workers of the cluster only {roles.graph_name} is left; "
                f"start another one, and run again"
            )
            raise ClusterError(msg)

    def are_there(self, addresses: Collection[str]) -> bool:
        """Whether the scheduler knows workers of all these addresses."""
        return self._workers().keys() >= set(addresses)

    def workers_in_use(self) -> Mapping[str, Mapping[str, Any]]:
        """Address -> what the scheduler knows of each worker that a run would use now.

        Empty where it does not answer, or does not have the workers.
        """
        try:
            workers = self._workers()
            roles = choose_roles(workers, self._graph_worker)
        except ClusterError:
            return {}
        return {each: workers[each] for each in (roles.graph_address, *roles.cpu_addresses)}

    def restart(self, addresses: list[str]) -> None:
        """Have workers ended, and started again where a Nanny looks after them."""
        with suppress(OSError, TimeoutError, RuntimeError):
            self.client.sync(
                self.client.scheduler.restart_workers,
                workers=addresses,
                timeout=10,
                wait_for_workers=False,
                on_error="return",
                stimulus_id="graphtide-silent-workers",
            )

    def _workers(self) -> Mapping[str, Mapping[str, Any]]:
        # A client without its scheduler would answer with what it knew last.
        if self.client.status != "running":
            msg = (
                f"the Dask scheduler at {self._address} went away; start it and its workers, and "
                f"run again: what has a checkpoint is kept"
            )
            raise ClusterError(msg)
        try:
            return dict(self.client.scheduler_info(n_workers=-1)["workers"])
        except (OSError, TimeoutError, RuntimeError) as error:
            msg = f"the Dask scheduler went away ({error}); start it, and run again"
            raise ClusterError(msg) from None

    def check_versions(self) -> None:
        """Refuse workers that have another graphtide than this process, or none."""
        ours = version("graphtide")
        # A function of the standard library: a worker without graphtide could not unpickle ours.
        answers = self.client.run(metadata.version, "graphtide", on_error="return")
        for address, answer in sorted(answers.items()):
            if answer == ours:
                continue
            if isinstance(answer, metadata.PackageNotFoundError):
                found = "has no graphtide"
            elif isinstance(answer, BaseException):
                found = f"does not say which graphtide it has ({answer!r})"
            else:
                found = f"has graphtide {answer}"
            msg = (
                f"worker {address} {found}, this process has {ours}; install {ours} on all workers"
            )
            raise ClusterError(msg)


def choose_roles(workers: Mapping[str, Mapping[str, Any]], graph_worker: str | None) -> Roles:
    """Choose the graph worker and the CPU workers.

    Parameters
    ----------
    workers
        Address -> what the scheduler knows of the worker: ``name``, ``nthreads``, ``resources``.
    graph_worker
        Name asked for; None: the first that declares ``GPU``, else the first by name.
    """
    by_name = {str(worker["name"]): address for address, worker in workers.items()}
    resources = {name: workers[by_name[name]].get("resources") or {} for name in by_name}
    declared = sorted(name for name in by_name if resources[name].get(GPU, 0) >= 1)
    undeclared = sorted(name for name in by_name if not resources[name].get(CPU))
    if graph_worker is not None:
        candidates = [graph_worker] if graph_worker in by_name else []
    else:
        candidates = declared or undeclared
    if not candidates:
        asked = f"is called {graph_worker}" if graph_worker else "can hold the graph"
        names = ", ".join(sorted(by_name)) or "none"
        close = difflib.get_close_matches(str(graph_worker), by_name, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        msg = (
            f"no worker of the cluster {asked} (there are: {names}){hint}; start one more worker, "
            f"with --resources GPU=1 (it needs no GPU for that), or name one with --graph-worker"
        )
        raise ClusterError(msg)
    graph = candidates[0]
    others = sorted(name for name in by_name if name != graph)
    readers = [name for name in others if resources[name].get(CPU, 0) >= 1]
    declares = set(resources[graph]) & {CPU, GPU}
    if not others and len(declares) == 1:
        msg = (
            f"the cluster's only worker {graph} declares the resource {declares.pop()} alone, so "
            f"there is none for the other work; start one more worker, or this one without "
            f"--resources"
        )
        raise ClusterError(msg)
    # One worker does both: the graph has a thread of its own there.
    others = others or [graph]
    threads = {name: int(workers[by_name[name]]["nthreads"]) for name in by_name}
    if readers and not resources[graph].get(CPU):
        cpu_pin: dict[str, Any] = {"resources": {CPU: 1}}
        tasks = [min(threads[name], int(resources[name][CPU])) for name in readers]
    else:
        readers = readers or others
        cpu_pin = {"workers": [workers[by_name[name]]["name"] for name in readers]}
        tasks = [threads[name] for name in readers]
    return Roles(
        graph_name=graph,
        graph_address=by_name[graph],
        graph_pin={"workers": [workers[by_name[graph]]["name"]]},
        cpu_pin=cpu_pin,
        cpu_addresses=tuple(by_name[name] for name in readers),
        cpu_tasks=sum(tasks),
    )


@contextmanager
def open_cluster(settings: RunSettings) -> Iterator[Cluster]:
    """Connect to the scheduler of the settings, or start a cluster on this machine."""
    timeout_seconds = settings.start_timeout_seconds
    with ExitStack() as stack:
        if settings.scheduler is None:
            stack.enter_context(fit_for_clusters())
            _fork_without_imports_here()
            start_fork_server()
            local, watch = stack.enter_context(_local_cluster(settings))
            client = stack.enter_context(_client(local, timeout_seconds))
            stack.callback(watch.hurry)
            link = local.dashboard_link if _dashboard(settings.dashboard)["dashboard"] else None
            yield Cluster(client, settings.graph_worker, timeout_seconds, watch.hurry, link)
        else:
            client = stack.enter_context(_client(settings.scheduler, timeout_seconds))
            cluster = Cluster(client, settings.graph_worker, timeout_seconds)
            watch = watch_heartbeats(cluster.workers_in_use, cluster.restart)
            stack.enter_context(watch.looking())
            cluster.check_versions()
            yield cluster


def _cure() -> str:
    """What helps where a worker does not start."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        return f"raise the limit of address space, which is {limit / 1e9:.3g} GB (ulimit -v)"
    look = "look at the memory and the processes of the machine, and run again"
    main = sys.modules["__main__"]
    # A worker imports the script that started it, unless that is a module, as commands are.
    is_script = main.__spec__ is None and Path(getattr(main, "__file__", "")).suffix == ".py"
    if is_script:
        return f"a script begins a run under if __name__ == '__main__', or else {look}"
    return look


def _fork_without_imports_here() -> None:
    """Keep Dask from importing here whatever it might want imported in the server.

    That is pandas, where it is installed: 0.4 s. It has no public name for that.
    """
    utils._forkserver_preload_set = True


@contextmanager
def _client(target: Any, timeout_seconds: float) -> Iterator[Client]:
    try:
        # Results of the graph worker come straight from it, not through the scheduler.
        client = Client(
            target, direct_to_workers=True, set_as_default=False, timeout=timeout_seconds
        )
    except TypeError as error:
        # Dask says so where it has an address of TLS, and no certificates.
        if not str(target).startswith("tls://"):
            raise
        msg = (
            f"the scheduler {target} asks for certificates, and Dask has none here; set ca-file, "
            f"client.cert and client.key below distributed.comm.tls in Dask's configuration"
        )
        raise ClusterError(msg) from error
    except (OSError, TimeoutError, ValueError) as error:
        msg = f"no Dask scheduler answers at {target} ({error}); check the address, or start one"
        raise ClusterError(msg) from None
    with silent_client(), client:
        yield client


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
    return resolve_engine(settings.graph.engine) == "cuda"


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
def _local_cluster(settings: RunSettings) -> Iterator[tuple[SpecCluster, Watch]]:
    count = settings.workers or default_cpu_workers(settings.handover)
    workers = {"graph-0": _graph_worker(settings)}
    workers |= {f"cpu-{number}": _cpu_worker(number) for number in range(count)}
    scheduler = {
        "cls": Scheduler,
        "options": {"host": _LOOPBACK, "port": 0, **_dashboard(settings.dashboard)},
    }
    with ExitStack() as stack:
        stack.enter_context(_starting)
        # The server that workers are forked from may be older than what is set by now.
        environ = {**dask.config.get("distributed.nanny.environ"), **os.environ}
        stack.enter_context(dask.config.set({"distributed.nanny.environ": environ}))
        stack.enter_context(interrupts_stay_here())
        stack.enter_context(warnings.catch_warnings())
        if uses_gpu(settings):
            stack.enter_context(_one_gpu())
        # Somebody may take the port of the dashboard between our look and theirs.
        warnings.filterwarnings("ignore", message="Port .* is already in use")
        # … and then Tornado leaves its socket to the garbage collector.
        warnings.filterwarnings("ignore", category=ResourceWarning)
        others = {*SpecCluster._instances}
        try:
            cluster = SpecCluster(workers=workers, scheduler=scheduler)
        except (RuntimeError, TimeoutError) as error:
            msg = f"a worker of the cluster on this machine did not start ({error}); {_cure()}"
            raise ClusterError(msg) from error
        except KeyboardInterrupt:
            # Dask would try to close what is half started when this process ends, and fail with a
            # traceback. Its workers end with this process.
            for half_started in {*SpecCluster._instances} - others:
                half_started.shutdown_on_close = False
            raise
    with watch_processes(partial(_pids, cluster)).looking() as watch:
        try:
            yield cluster, watch
        finally:
            watch.hurry()
            cluster.close(timeout=30)


def _pids(cluster: SpecCluster) -> list[int]:
    """Numbers of the workers' processes; those of a GPU have their Nannies within."""
    nannies = [
        nanny
        for worker in [*cluster.workers.values()]
        for nanny in getattr(worker, "nannies", [worker])
    ]
    return [nanny.pid for nanny in nannies if nanny.pid]


def _cpu_worker(number: int) -> dict[str, Any]:
    return {"cls": Nanny, "options": {**_nanny_options(f"cpu-{number}"), "resources": {CPU: 1}}}


def _graph_worker(settings: RunSettings) -> dict[str, Any]:
    if not uses_gpu(settings):
        return {"cls": Nanny, "options": {**_nanny_options("graph-0"), "resources": {GPU: 1}}}
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


def _dashboard(is_wanted: bool) -> dict[str, Any]:
    """Options of the scheduler: the usual port where it is free, another where it is not."""
    if not is_wanted or importlib.util.find_spec("bokeh") is None:
        return {"dashboard": False, "dashboard_address": f"{_LOOPBACK}:0"}
    with socket.socket() as probe:
        try:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((_LOOPBACK, 8787))
            port = 8787
        except OSError:
            port = 0
    return {"dashboard": True, "dashboard_address": f"{_LOOPBACK}:{port}"}
