"""The page of runs on Dask's own dashboard, also on that of a scheduler that is running.

A scheduler plugin, because that is what can be brought to any scheduler without a preload: it adds
a Bokeh application to the scheduler's HTTP server, as ``distributed/dashboard/scheduler.py`` does,
and a tab beside Dask's. It receives what runs publish (`run_feed.py`) as events, and keeps it by
run.

Light: Bokeh is imported where the page is mounted, which is where Dask has imported it already.
"""

from functools import partial
from typing import Any

from distributed import Scheduler, SchedulerPlugin

from .dashboard import once_served
from .listeners import say_listening
from .run_history import RunHistory

#: Topic of the events that runs publish.
TOPIC = "graphtide"

#: Runs that are kept, the newest.
_RUNS = 8


class DashboardPlugin(SchedulerPlugin):
    """Mounts the page, and keeps what runs publish."""

    name = "graphtide-page"
    #: A second run on the scheduler finds the page of the first.
    idempotent = True

    def __init__(self) -> None:
        #: Id of a run -> its history, in the order of their beginnings.
        self.runs: dict[str, RunHistory] = {}

    async def start(self, scheduler: Scheduler) -> None:
        """Mount the page as soon as there is a dashboard, if the scheduler was started with one."""
        say_listening(scheduler, self.name, is_listening=True)
        once_served(scheduler, partial(self._mount, scheduler))

    def _mount(self, scheduler: Scheduler) -> None:
        try:
            from bokeh.server.server import BokehTornado
            from tornado.ioloop import IOLoop

            from .dashboard_page import application
        except ImportError:
            say_listening(scheduler, self.name, is_listening=False)
            return
        applications = scheduler.http_application.applications
        dask_pages = next((each for each in applications if isinstance(each, BokehTornado)), None)
        if dask_pages is None:
            say_listening(scheduler, self.name, is_listening=False)
            return
        page = application(self.runs, scheduler, dask_pages.prefix)
        page.initialize(IOLoop.current())
        page.start()
        scheduler.http_application.add_application(page)

    def log_event(self, topic: str, msg: Any) -> None:
        """Take in what a run publishes."""
        if topic != TOPIC:
            return
        run = self.runs.get(msg["run"])
        if run is not None:
            run.add(msg)
            return
        self.runs[msg["run"]] = RunHistory(msg)
        while len(self.runs) > _RUNS:
            del self.runs[next(iter(self.runs))]
