"""The cluster of a run: a Dask cluster of its own on this machine, or any that is running already.

`open_cluster` gives a client of either, with the workers that there are now (`Roles`): chosen again
for every generation of the graph, because workers come and go.

Not here: how a cluster of this machine is started (``local_cluster.py``), whether a scheduler of
others answers (``scheduler_probe.py``), which worker does what (``roles.py``), what is sent to them
(``tasks.py``), and what happens when one of them dies (``generation.py``).
"""

import concurrent.futures
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib import metadata
from typing import Any

from distributed import Client

from ...config.settings import RunSettings
from ...gpu_core.errors import ClusterError
from ..monitoring.dashboard import check_link
from .in_thread import Made, in_thread
from .local_cluster import dashboard_link, is_dashboard_shown, local_cluster
from .own_cluster import OwnCluster
from .roles import Roles, choose_roles
from .scheduler_probe import CONNECT_SECONDS, check_scheduler
from .steady_clock import use_steady_clock
from .stopped_workers import watch_heartbeats
from .task_slot import slot_left_to_others
from .this_process import silent_client
from .worker_versions import check_scheduler_version, check_versions

#: Where no worker has come for so long, those that are there are taken for all.
_ALL_HERE_SECONDS = 2.0

#: Seconds that workers have to say which graphtide they have; they may compute something else.
_SAY_SECONDS = 30.0

#: Seconds without an answer after which the scheduler is taken for stopped. It may be busy.
SILENT_SECONDS = 20.0

#: Seconds between two looks at the workers, while something is waited for.
LOOK_SECONDS = 0.5

#: How long successors of workers of others are waited for, as a part of the time for those at the
#: start. A run's own cluster surely starts them again. That a worker is stopped takes
#: 12 to 16 s to be noticed: with the default, a run that nothing comes for ends within 30 s.
_OF_OTHERS_AGAIN = 0.5


class Cluster:
    """A client and the roles of its workers. Made by `open_cluster`."""

    def __init__(
        self,
        client: Client,
        graph_worker: str | None,
        timeout_seconds: float,
        hurry: Callable[[], None] = lambda: None,
        dashboard: str | None = None,
        again_seconds: float | None = None,
        address: str | None = None,
    ) -> None:
        self.client = client
        #: Address of Dask's dashboard, of a cluster on this machine where it is on.
        self.dashboard = dashboard
        self._hurry = hurry
        self._is_silent = False
        #: Address of the scheduler, for clients of any process.
        self.address = address or client.scheduler.address
        self._graph_worker = graph_worker
        self._timeout_seconds = timeout_seconds
        #: … and for those that were there once.
        self._again_seconds = timeout_seconds if again_seconds is None else again_seconds
        #: Names of all workers that there have been.
        self._seen: set[str] = set()
        #: When the newest of them came.
        self._newest_seconds = time.monotonic()

    def roles(self) -> Roles:
        """Choose the workers, and wait for them where they are not there yet, or not any more.

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
                    self._timeout_seconds = self._again_seconds
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

    def call(
        self,
        function: Callable[[], Made],
        addresses: Collection[str] = (),
        seconds: float = float("inf"),
    ) -> Made:
        """Call a method of the client in a thread, and give up where Dask would wait for ever.

        Parameters
        ----------
        function
            Calls the client.
        addresses
            Workers that must be there meanwhile. Those that are stopped are ended by others.
        seconds
            How long it may take.

        Raises
        ------
        ClusterError
            The scheduler went away, or is silent.
        ConnectionError
            One of these workers is gone.
        TimeoutError
            It takes too long.
        """
        self._require_scheduler()
        deadline = time.monotonic() + seconds
        answer = in_thread("graphtide-ask", function)
        while not concurrent.futures.wait([answer], timeout=LOOK_SECONDS).done:
            if not self.are_there(addresses):
                msg = f"no worker is at {' or '.join(addresses)} any more"
                raise ConnectionError(msg)
            if time.monotonic() > deadline:
                raise TimeoutError
        return answer.result()

    def hurry(self) -> None:
        """Wait no longer for stopped workers: nothing more will be asked of the cluster."""
        self._hurry()
        if self._is_silent:
            # Else all that is taken back at the end would wait for it once more.
            self.client.close()

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
        self._require_scheduler()
        try:
            # `Client.scheduler_info` would wait for a scheduler that is stopped, without an end.
            identity = self.client.sync(
                self.client.scheduler.identity, n_workers=-1, callback_timeout=SILENT_SECONDS
            )
        except TimeoutError:
            self._is_silent = True
            msg = (
                f"the Dask scheduler at {self.address} has been silent for {SILENT_SECONDS:g} s; "
                f"if it is stopped, end it, start it and its workers, and run again: what has a "
                f"checkpoint is kept"
            )
            raise ClusterError(msg) from None
        except (OSError, RuntimeError, AttributeError) as error:  # a client that is closed has none
            msg = f"the Dask scheduler went away ({error}); start it, and run again"
            raise ClusterError(msg) from None
        self._is_silent = False
        return dict(identity["workers"])

    def _require_scheduler(self) -> None:
        # A client without its scheduler would answer with what it knew last.
        if self.client.status != "running":
            msg = (
                f"the Dask scheduler at {self.address} went away; start it and its workers, and "
                f"run again: what has a checkpoint is kept"
            )
            raise ClusterError(msg)

    def versions(self) -> Mapping[str, object]:
        """Address -> version of graphtide that each worker has, or why it does not say."""
        # A function of Python's own: a worker without graphtide could not unpickle ours.
        run = partial(self.client.run, metadata.version, "graphtide", on_error="return")
        return dict(self._said("a worker", run))

    def scheduler_version(self) -> object:
        """Version of graphtide that the scheduler has, or why it does not say."""
        try:
            ask = partial(self.client.run_on_scheduler, metadata.version, "graphtide")
            return self._said("the scheduler", ask)
        except metadata.PackageNotFoundError as error:
            return error

    def _said(self, who: str, ask: Callable[[], Made]) -> Made:
        """Ask for versions, and give up where there is no answer."""
        try:
            return self.call(ask, seconds=_SAY_SECONDS)
        except TimeoutError:
            msg = (
                f"{who} of the cluster at {self.address} has not said which graphtide it has, "
                f"within {_SAY_SECONDS:g} s; if it is stopped, end it, and run again"
            )
            raise ClusterError(msg) from None
        except ClusterError:
            raise
        except (OSError, RuntimeError) as error:
            msg = f"the Dask scheduler went away ({error}); start it, and run again"
            raise ClusterError(msg) from None


@contextmanager
def open_cluster(settings: RunSettings) -> Iterator[Cluster]:
    """Connect to the scheduler of the settings, or start a cluster on this machine."""
    if settings.scheduler is not None or is_dashboard_shown(settings):
        check_link()
    timeout_seconds = settings.start_timeout_seconds
    use_steady_clock()
    with ExitStack() as stack:
        if settings.scheduler is None:
            local, watch = stack.enter_context(local_cluster(settings))
            client = stack.enter_context(_client(local, timeout_seconds))
            stack.callback(watch.hurry)
            yield Cluster(
                client,
                settings.graph_worker,
                timeout_seconds,
                watch.hurry,
                dashboard_link(local, settings),
                address=local.scheduler_address,
            )
        else:
            stack.enter_context(slot_left_to_others())
            client = stack.enter_context(_client(settings.scheduler, CONNECT_SECONDS))
            again_seconds = _OF_OTHERS_AGAIN * timeout_seconds
            cluster = Cluster(
                client, settings.graph_worker, timeout_seconds, again_seconds=again_seconds
            )
            watch = watch_heartbeats(cluster.workers_in_use, cluster.restart)
            stack.enter_context(watch.looking())
            check_versions(cluster.versions, timeout_seconds)
            check_scheduler_version(cluster.address, cluster.scheduler_version())
            yield cluster


@contextmanager
def _client(target: str | OwnCluster, timeout_seconds: float) -> Iterator[Client]:
    try:
        if isinstance(target, str):
            check_scheduler(target)
            reached: dict[str, Any] = {"address": target}
        else:
            reached = {"address": target.address_here(), "loop": target.loop}
        # Results of the graph worker come straight from it, not through the scheduler.
        client = Client(
            **reached, direct_to_workers=True, set_as_default=False, timeout=timeout_seconds
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
