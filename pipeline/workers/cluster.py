"""The cluster of a run: a Dask cluster of its own on this machine, or any that is running already.

`open_cluster` gives a client of either, with the workers that there are now (`Roles`): chosen anew
for every generation of the graph, because workers come and go.

Not here: how a cluster of this machine is started (``local_cluster.py``), whether a scheduler of
others answers (``scheduler_probe.py``), which worker does what (``roles.py``), what is sent to them
(``tasks.py``), and what happens when one of them dies (``recovery.py``).
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from importlib import metadata
from importlib.metadata import version
from typing import Any

from distributed import Client

from ...config.settings import RunSettings
from ...gpu_core.errors import ClusterError
from .local_cluster import dashboard_link, local_cluster
from .roles import Roles, choose_roles
from .scheduler_probe import ANSWER_SECONDS, CONNECT_SECONDS, check_scheduler
from .steady_clock import use_steady_clock
from .stopped_workers import watch_heartbeats
from .this_process import silent_client

#: Where no worker has come for so long, those that are there are taken for all.
_ALL_HERE_SECONDS = 2.0

#: Seconds that workers have to say which graphtide they have; they may compute something else.
_SAY_SECONDS = 60.0

#: Seconds until a worker that went away meanwhile is asked again.
_ASK_AGAIN_SECONDS = 0.2


class Cluster:
    """A client and the roles of its workers. Made by `open_cluster`."""

    def __init__(
        self,
        client: Client,
        graph_worker: str | None,
        timeout_seconds: float,
        hurry: Callable[[], None] = lambda: None,
        dashboard: str | None = None,
    ) -> None:
        self.client = client
        #: Address of Dask's dashboard, of a cluster on this machine where it is on.
        self.dashboard = dashboard
        #: Have workers that are stopped waited for no longer: nothing more will be asked of them.
        self.hurry = hurry
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
        self._require_scheduler()
        try:
            # `Client.scheduler_info` would wait for a scheduler that is stopped, without an end.
            identity = self.client.sync(
                self.client.scheduler.identity, n_workers=-1, callback_timeout=ANSWER_SECONDS
            )
        except TimeoutError:
            msg = (
                f"the Dask scheduler at {self._address} has been silent for {ANSWER_SECONDS:g} s; "
                f"if it is stopped, end it, start it and its workers, and run again: what has a "
                f"checkpoint is kept"
            )
            raise ClusterError(msg) from None
        except (OSError, RuntimeError, AttributeError) as error:  # a client that is closed has none
            msg = f"the Dask scheduler went away ({error}); start it, and run again"
            raise ClusterError(msg) from None
        return dict(identity["workers"])

    def _require_scheduler(self) -> None:
        # A client without its scheduler would answer with what it knew last.
        if self.client.status != "running":
            msg = (
                f"the Dask scheduler at {self._address} went away; start it and its workers, and "
                f"run again: what has a checkpoint is kept"
            )
            raise ClusterError(msg)

    def check_versions(self) -> None:
        """Refuse workers that have another graphtide than this process, or none.

        One that goes away meanwhile is passed over, and its successor asked, where one comes soon.
        """
        ours = version("graphtide")
        deadline = time.monotonic() + self._timeout_seconds
        while True:
            answers = self._versions()
            for address, answer in sorted(answers.items()):
                if not isinstance(answer, OSError):
                    _refuse_version(address, answer, ours)
            unanswered = [at for at, answer in answers.items() if isinstance(answer, OSError)]
            if not unanswered:
                return
            if time.monotonic() > deadline:
                _refuse_version(unanswered[0], answers[unanswered[0]], ours)
            time.sleep(_ASK_AGAIN_SECONDS)

    def _versions(self) -> Mapping[str, object]:
        """Address -> version of graphtide that each worker has, or why it does not say."""
        self._require_scheduler()
        try:
            # A function of Python's own: a worker without graphtide could not unpickle ours.
            answers = self.client.run(
                metadata.version, "graphtide", on_error="return", callback_timeout=_SAY_SECONDS
            )
        except TimeoutError:
            msg = (
                f"a worker of the cluster at {self._address} has not said which graphtide it has, "
                f"within {_SAY_SECONDS:g} s; if it is stopped, end it, and run again"
            )
            raise ClusterError(msg) from None
        except (OSError, RuntimeError) as error:
            msg = f"the Dask scheduler went away ({error}); start it, and run again"
            raise ClusterError(msg) from None
        return dict(answers)


def _refuse_version(address: str, answer: object, ours: str) -> None:
    if answer == ours:
        return
    if isinstance(answer, metadata.PackageNotFoundError):
        found = "has no graphtide"
    elif isinstance(answer, BaseException):
        found = f"does not say which graphtide it has ({answer!r})"
    else:
        found = f"has graphtide {answer}"
    msg = f"worker {address} {found}, this process has {ours}; install {ours} on all workers"
    raise ClusterError(msg)


@contextmanager
def open_cluster(settings: RunSettings) -> Iterator[Cluster]:
    """Connect to the scheduler of the settings, or start a cluster on this machine."""
    timeout_seconds = settings.start_timeout_seconds
    use_steady_clock()
    with ExitStack() as stack:
        if settings.scheduler is None:
            local, watch = stack.enter_context(local_cluster(settings))
            client = stack.enter_context(_client(local, timeout_seconds))
            stack.callback(watch.hurry)
            link = dashboard_link(local, settings)
            yield Cluster(client, settings.graph_worker, timeout_seconds, watch.hurry, link)
        else:
            client = stack.enter_context(_client(settings.scheduler, CONNECT_SECONDS))
            cluster = Cluster(client, settings.graph_worker, timeout_seconds)
            watch = watch_heartbeats(cluster.workers_in_use, cluster.restart)
            stack.enter_context(watch.looking())
            cluster.check_versions()
            yield cluster


@contextmanager
def _client(target: Any, timeout_seconds: float) -> Iterator[Client]:
    try:
        if isinstance(target, str):
            check_scheduler(target)
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
