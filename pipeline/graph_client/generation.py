"""A generation of the graph: its start, from a checkpoint, and whether it is still alive.

Dask does not bring an actor back, and its key cannot be used again. So each life of the graph is an
actor under a new key, restored from the newest checkpoint, and the log after it is applied again.
Nothing meant for the earlier life reaches it: tasks find their actor by key.

A death shows first in the status of the actor's Future (within milliseconds of the process' end);
asking it costs nothing, so the loop of the run does so all the time. Waiting for calls to fail
would take longer, or for ever.

Not here: when a generation is started (``lifecycle.py``), and what a checkpoint is
(``io/state/checkpoint.py``).
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import dask
from distributed import Client, Future, KilledWorker

from ...gpu_core.errors import ClusterError, GraphtideError
from ..batch_form import BatchForm
from ..graph_worker.actor_holder import ActorHolder
from ..graph_worker.graph_status import GraphStatus
from ..graph_worker.handover import RingSlots
from ..graph_worker.ring import RingAddress, is_reachable
from ..tasks import (
    GraphGoneError,
    close_graph,
    connect,
    has_begun,
    initial_status,
    ring_of_graph,
)
from ..workers.cluster import LOOK_SECONDS, Cluster
from ..workers.roles import Roles
from ..workers.unheld_tasks import run_and_forget
from ..workers.warm_up import warm_conversion
from .generation_spec import GenerationSpec


class GraphLostError(GraphtideError):
    """The graph's worker died, or its actor did; another generation can go on."""


@dataclass(frozen=True)
class Generation:
    """One life of the graph."""

    number: int
    #: Where tasks find it.
    actor_key: str
    #: Keeps the actor alive, and reports when it is not.
    future: Future
    roles: Roles
    #: Where CPU workers put its batches.
    slots: RingSlots
    #: What they make of its rows.
    form: BatchForm
    #: As it was when it was made, with the batches of the checkpoint.
    initial_status: GraphStatus

    @property
    def is_alive(self) -> bool:
        """Whether the actor is there, as far as is known; costs no message."""
        return bool(self.future.status == "finished")

    def close(self, client: Client) -> None:
        """Have the worker release the graph, after all that it still does for it.

        Not waited for: it is done also where the client goes away.
        """
        if not self.is_alive or client.status != "running":
            return
        run_and_forget(client, partial(self._closing, client))

    def _closing(self, client: Client) -> Future:
        with dask.annotate(executor="actor"):
            return client.submit(
                close_graph,
                self.actor_key,
                self.future,
                key=f"close-{self.actor_key}",
                **self.roles.graph_pin,
            )


def start_generation(
    cluster: Cluster, number: int, actor_key: str, spec: GenerationSpec, timeout_seconds: float
) -> Generation:
    """Choose the workers and make the actor, while CPU workers get ready for its batches.

    Raises
    ------
    GraphLostError
        The worker died meanwhile.
    GraphtideError
        The graph cannot be made, there is no worker for it, or no ring where there must be one.
    """
    roles = cluster.roles()
    try:
        future = _make_graph(cluster, roles, actor_key, spec, timeout_seconds)
        if future.status == "finished":
            address = _ring_address(cluster, roles, actor_key, spec)
            engine, status = _initial_status(cluster, roles, actor_key)
            on_gpu = engine == "cuda"
            # What CPU workers are to make of rows depends on where the graph came to lie.
            arguments = spec.arguments
            form = BatchForm(on_gpu, arguments.is_dense, arguments.raw and on_gpu)
            return Generation(number, actor_key, future, roles, RingSlots(address), form, status)
    except (OSError, TimeoutError, KeyError, GraphGoneError) as error:
        msg = f"worker {roles.graph_name} went away: {error}"
        raise GraphLostError(msg) from None
    raise _why_not_made(future, roles, timeout_seconds)


def _make_graph(
    cluster: Cluster, roles: Roles, actor_key: str, spec: GenerationSpec, timeout_seconds: float
) -> Future:
    """Make the actor, and connect it with the CPU workers; if it is not made, its Future has why.

    CPU workers warm up with batches as large as those to come, and the graph worker connects to
    them; else the first batches would wait for that.
    """
    client = cluster.client
    checkpoint = None
    if spec.arrays is not None:
        # Straight to the worker: as an argument it would pass through the scheduler.
        send = partial(client.scatter, workers=[roles.graph_address], direct=True, hash=False)
        checkpoint = cluster.call(partial(send, [spec.arrays]), [roles.graph_address])[0]
    warm_ups = [
        client.submit(
            warm_conversion,
            spec.meaning,
            spec.batch_rows,
            dense=spec.arguments.is_dense,
            on_gpu=spec.on_gpu,
            raw=spec.arguments.raw,
            id_types=spec.id_types,
            start=n / roles.cpu_workers,
            number=n,
            key=f"warm-up-{n}-{actor_key}",
            **roles.cpu_pin,
        )
        for n in range(roles.cpu_workers)
    ]
    future = client.submit(
        ActorHolder,
        spec.arguments,
        checkpoint,
        actor=True,
        key=actor_key,
        **roles.graph_pin,
    )
    with dask.annotate(executor="actor"):
        # Its arguments are transferred as batches are, while the actor is made.
        connecting = client.submit(connect, warm_ups, key=f"connect-{actor_key}", **roles.graph_pin)
    deadline = time.monotonic() + timeout_seconds
    if not _wait_for_graph(cluster, roles, future, deadline):
        msg = f"worker {roles.graph_name} died while the graph was made"
        raise GraphLostError(msg)
    if future.status == "finished":
        # Where a worker dies meanwhile, or takes too long, batches wait for it instead.
        _wait(cluster, connecting, [roles.graph_address, *roles.cpu_addresses], deadline)
    return future


def _why_not_made(future: Future, roles: Roles, timeout_seconds: float) -> BaseException:
    """Why an actor is not there: its own error, the death of its worker, or time."""
    if future.status != "error":
        msg = (
            f"worker {roles.graph_name} did not begin with the graph within {timeout_seconds:g} s "
            f"(its status is {future.status}); look at what else it does, or raise start_timeout"
        )
        return ClusterError(msg)
    failure: BaseException = future.exception(timeout=timeout_seconds)
    # Dask says RuntimeError where an actor was lost; ours derive from it too.
    is_death = isinstance(failure, KilledWorker | RuntimeError)
    if not is_death or isinstance(failure, GraphtideError):
        return failure
    return GraphLostError(f"worker {roles.graph_name} died: {failure}")


def _wait_for_graph(cluster: Cluster, roles: Roles, future: Future, deadline: float) -> bool:
    """Wait until the graph is made, or time is up before that has begun; False where it is lost.

    Making it takes as long as it takes: kernels that are not compiled yet, a large checkpoint.
    """
    at = roles.graph_address
    while _wait(cluster, future, [at], deadline) and cluster.are_there([at]):
        if future.status != "pending":
            return True
        if not _run_on(cluster, [at], has_begun, future.key)[at]:
            return True
        deadline = time.monotonic() + LOOK_SECONDS
    return False


def _wait(cluster: Cluster, future: Future, addresses: Collection[str], deadline: float) -> bool:
    """Wait until a task has ended, or time is up; False where a worker that it needs is gone."""
    look_seconds = time.monotonic() + LOOK_SECONDS
    while future.status == "pending" and time.monotonic() < deadline:
        if time.monotonic() > look_seconds:
            # Dask would wait for a worker at the address that the dead one had.
            if not cluster.are_there(addresses):
                return False
            look_seconds = time.monotonic() + LOOK_SECONDS
        time.sleep(0.002)
    return True


def _initial_status(cluster: Cluster, roles: Roles, actor_key: str) -> tuple[str, GraphStatus]:
    at = roles.graph_address
    look: tuple[str, GraphStatus] = _run_on(cluster, [at], initial_status, actor_key)[at]
    return look


def _run_on(
    cluster: Cluster, addresses: Collection[str], function: Callable[..., Any], *arguments: object
) -> Mapping[str, Any]:
    """Results of a function on workers, by their addresses."""
    run = partial(cluster.client.run, function, *arguments, workers=list(addresses))
    return cluster.call(run, addresses)


def _ring_address(
    cluster: Cluster, roles: Roles, actor_key: str, spec: GenerationSpec
) -> RingAddress | None:
    """Address of the actor's ring; None where there is none, and none is required."""
    if spec.arguments.ring is None:
        return None
    graph = roles.graph_address
    address = _run_on(cluster, [graph], ring_of_graph, actor_key)[graph]
    if not spec.must_have_ring:
        return address if isinstance(address, RingAddress) else None
    advice = "use handover: auto, which does what it can, or dask"
    if not isinstance(address, RingAddress):
        msg = (
            f"handover: ring needs memory that worker {roles.graph_name} shares, but it has none: "
            f"{address}; {advice}"
        )
        raise ClusterError(msg)
    # Those of now: one that died since the roles were chosen has a successor at another address.
    answers = _run_on(cluster, cluster.roles().cpu_addresses, is_reachable, address)
    for worker, is_reached in sorted(answers.items()):
        if not is_reached:
            msg = (
                f"handover: ring needs all workers on one machine, under one user, but {worker} "
                f"cannot open the memory of {graph}; {advice}"
            )
            raise ClusterError(msg)
    return address
