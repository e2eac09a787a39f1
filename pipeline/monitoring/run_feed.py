"""Feed of a run to the scheduler, for dashboard and Prometheus: Dask events, twice a second.

The plugins that receive it are installed with the first event (`dashboard_plugin.py`,
`prometheus.py`), and stay when the run has ended.

Nothing here delays a run, or ends one: events are sent in the thread of the client, one at a time.
If the scheduler has no dashboard, no graphtide or no time for them, there is no page.
"""

import asyncio
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from distributed import Client
from distributed.protocol.pickle import dumps

from ..workers.cluster import Cluster
from .dashboard import page_link
from .dashboard_plugin import TOPIC, DashboardPlugin
from .listeners import is_listening
from .progress import Progress
from .prometheus import RunMetrics
from .span_groups import SpanGroups

#: Seconds between two messages.
_INTERVAL_SECONDS = 0.5

#: Seconds that the scheduler has for the last one.
_LAST_SECONDS = 2.0

#: What the scheduler may answer, or not, without harm to the run.
_NO_ANSWER = (OSError, TimeoutError, RuntimeError, ValueError, ImportError, AttributeError)


class RunFeed:
    """Events of one run.

    Parameters
    ----------
    cluster
        Where the run is; its ``dashboard`` is set once the page is there.
    about
        Plain values that every message has.
    """

    def __init__(self, cluster: Cluster, about: Mapping[str, Any]) -> None:
        self._cluster = cluster
        self._client: Client = cluster.client
        self._about = about
        self._due = 0.0
        self._newest: Progress | None = None
        #: Whether the scheduler has a listener; None: that was not tried yet.
        self._is_heard: bool | None = None
        self._is_sending = False
        #: Messages go out in their order.
        self._turn = asyncio.Lock()

    def publish(self, progress: Progress) -> None:
        """Publish how far the run is, if that is due; returns at once."""
        begins_recovery = progress.begins_recovery(self._newest)
        self._newest = progress
        now = time.monotonic()
        is_due = begins_recovery or (now >= self._due and not self._is_sending)
        if not is_due or self._is_heard is False:
            return
        self._due = now + _INTERVAL_SECONDS
        self._is_sending = True
        self._client.loop.add_callback(self._send, self._message(progress))

    def publish_end(self, error: BaseException | None) -> None:
        """Publish how the run ended; waits for it, because the client leaves."""
        if self._newest is None or not self._is_heard or self._client.status != "running":
            return
        last = replace(self._newest, stage="end" if error is None else "failed")
        message = {**self._message(last), "error": error and _sentence(error)}
        with suppress(*_NO_ANSWER):
            self._client.sync(
                self._client.scheduler.log_event,
                topic=TOPIC,
                msg=message,
                callback_timeout=_LAST_SECONDS,
            )

    def _message(self, progress: Progress) -> dict[str, Any]:
        values = {"time": time.time(), **self._about, **progress.values()}
        # Names of vertices may be of types that do not travel.
        plain: dict[str, Any] = json.loads(json.dumps(values, default=str))
        return plain

    async def _send(self, message: dict[str, Any]) -> None:
        try:
            async with self._turn:
                if self._is_heard is None:
                    self._is_heard = await self._send_listeners()
                if self._is_heard:
                    await self._client.scheduler.log_event(topic=TOPIC, msg=message)
        except _NO_ANSWER:
            # The scheduler went away: the run hears of it by other ways.
            pass
        finally:
            self._is_sending = False

    async def _send_listeners(self) -> bool:
        """Bring page and metrics to the scheduler; whether one of them listens there now."""
        await self._register(SpanGroups())
        has_page = await self._register(DashboardPlugin())
        if has_page and self._cluster.dashboard is None and (link := self._client.dashboard_link):
            self._cluster.dashboard = page_link(link)
        return await self._register(RunMetrics()) or has_page

    async def _register(self, plugin: DashboardPlugin | RunMetrics | SpanGroups) -> bool:
        """Bring a plugin to the scheduler; whether it can show anything there."""
        try:
            await self._client.scheduler.register_scheduler_plugin(
                plugin=dumps(plugin), name=plugin.name, idempotent=True
            )
            return await is_listening(self._client, plugin.name)
        except _NO_ANSWER:
            return False


def _sentence(error: BaseException) -> str:
    return str(error) or type(error).__name__


@contextmanager
def run_feed(cluster: Cluster, about: Mapping[str, Any]) -> Iterator[RunFeed]:
    """Report a run while the block goes on, and how it ends."""
    feed = RunFeed(cluster, about)
    try:
        yield feed
    except BaseException as error:
        feed.publish_end(error)
        raise
    feed.publish_end(None)
