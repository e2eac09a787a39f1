"""Roles of workers: which one holds the graph, and which read the log.

*CPU workers* read the log and convert batches; they declare the resource ``CPU``. One *graph
worker* holds the graph; it declares ``GPU``, whether it has one or not. A cluster of someone else
may declare neither: then one of its workers is chosen for the graph, and all others read; a worker
that is alone does both. Tasks are pinned to addresses, so that a worker that has died and come back
under its name is another one: tasks for the one before would wait for ever (`Roles.same_workers`).

Not here: waiting for workers that are still to come (``cluster.py``).
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...gpu_core.errors import ClusterError

#: Resources that workers declare, and that tasks ask one unit of.
CPU = "CPU"
GPU = "GPU"


@dataclass(frozen=True)
class Roles:
    """Assignment of workers to tasks; chosen again for every generation of the graph."""

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

    def same_workers(self, other: "Roles") -> bool:
        """Whether tasks of both would wait for the same workers."""
        return (self.graph_address, self.cpu_pin) == (other.graph_address, other.cpu_pin)


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
    graph = _graph_worker(resources, graph_worker)
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
        cpu_pin = {"workers": [by_name[name] for name in readers]}
        tasks = [threads[name] for name in readers]
    return Roles(
        graph_name=graph,
        graph_address=by_name[graph],
        graph_pin={"workers": [by_name[graph]]},
        cpu_pin=cpu_pin,
        cpu_addresses=tuple(by_name[name] for name in readers),
        cpu_tasks=sum(tasks),
    )


def _graph_worker(resources: Mapping[str, Mapping[str, Any]], asked: str | None) -> str:
    """Name of the worker that holds the graph, of those with these resources."""
    if asked is not None:
        candidates = [asked] if asked in resources else []
    else:
        declared = sorted(name for name in resources if resources[name].get(GPU, 0) >= 1)
        candidates = declared or sorted(name for name in resources if not resources[name].get(CPU))
    if not candidates:
        what = f"is called {asked}" if asked else "can hold the graph"
        names = ", ".join(sorted(resources)) or "none"
        close = difflib.get_close_matches(str(asked), resources, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        msg = (
            f"no worker of the cluster {what} (there are: {names}){hint}; start one more worker, "
            f"with --resources GPU=1 (it needs no GPU for that), or name one with --graph-worker"
        )
        raise ClusterError(msg)
    return candidates[0]
