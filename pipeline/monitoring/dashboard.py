"""Dask's dashboard, created at the first request.

Bokeh, which draws it, takes a second to import, and the scheduler would begin only after that; few
runs are ever looked at. So the scheduler starts without it. Its HTTP server, which listens anyway,
is given a page for all addresses that are not its own. The first request imports Bokeh, in a thread
of its own, puts the dashboard in the place of that page, and is sent there again. What the
dashboard shows comes from the scheduler's own records, so nothing is missed.
"""

import asyncio
import importlib
import importlib.util
import socket
from collections.abc import Callable
from typing import Any, Final

import dask
from distributed import Scheduler
from distributed.utils import format_dashboard_link
from tornado import web

from ...gpu_core.errors import SettingsError

#: Where the page of runs is, below the dashboard's address; ``/graph`` is Dask's.
PATH: Final = "/graphtide"

_USUAL_PORT: Final = 8787
_MODULE: Final = "distributed.dashboard.scheduler"

#: Name under which a scheduler has its `_Opening`. A dictionary of this module, also one of weak
#: keys, would keep each scheduler of a process for good: an opening refers to its own.
_EXTENSION: Final = "graphtide-dashboard"


def dashboard_options(host: str, *, is_wanted: bool) -> dict[str, Any]:
    """Options of a scheduler: the usual port where it is free, another where it is not."""
    port = 0
    if is_wanted:
        with socket.socket() as probe:
            try:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, _USUAL_PORT))
                port = _USUAL_PORT
            except OSError:
                pass
    return {"dashboard": False, "dashboard_address": f"{host}:{port}"}


def has_dashboard() -> bool:
    """Whether what draws it is installed."""
    return importlib.util.find_spec("bokeh") is not None


def check_link() -> None:
    """Refuse a form of the dashboard's address, of Dask's configuration, that Dask cannot fill in.

    Raises
    ------
    SettingsError
        It names what is not there, or is no such form.
    """
    try:
        format_dashboard_link("127.0.0.1", _USUAL_PORT)
    except KeyError as error:
        why = f"there is no variable {error.args[0]} in the environment"
    except (IndexError, ValueError, AttributeError, TypeError) as error:
        why = str(error)
    else:
        return
    form = dask.config.get("distributed.dashboard.link")
    msg = (
        f"Dask's setting distributed.dashboard.link, {form!r}, cannot be filled in ({why}); write "
        f"scheme, host, port, and variables that are set, in braces"
    )
    raise SettingsError(msg)


def page_link(dashboard: str) -> str:
    """Address of the page of runs, where Dask's link is to its page of the status."""
    return dashboard.removesuffix("/status") + PATH


def serve_when_asked(scheduler: Scheduler) -> None:
    """Serve the dashboard from the first request on."""
    scheduler.extensions[_EXTENSION] = opening = _Opening(scheduler)
    scheduler.http_application.add_application(
        web.Application([(r".*", _FirstRequest, {"opening": opening})])
    )


def once_served(scheduler: Scheduler, add: Callable[[], None]) -> None:
    """Call ``add`` as soon as the scheduler has its dashboard: now, if it is not waited with."""
    opening = scheduler.extensions.get(_EXTENSION)
    if opening is None or opening.is_done:
        add()
    else:
        opening.additions.append(add)


class _Opening:
    """Puts the dashboard in the place of the application of the first request, once."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._lock = asyncio.Lock()
        self.is_done = False
        #: What is called when it is there.
        self.additions: list[Callable[[], None]] = []

    async def open(self, placeholder: web.Application) -> None:
        async with self._lock:
            if self.is_done:
                return
            dashboard = await asyncio.to_thread(importlib.import_module, _MODULE)
            application = self._scheduler.http_application
            application.applications.remove(placeholder)
            dashboard.connect(application, self._scheduler.http_server, self._scheduler, prefix="/")
            self.is_done = True
            for add in self.additions:
                add()


class _FirstRequest(web.RequestHandler):
    """The page of all addresses, until there is a dashboard."""

    def initialize(self, opening: _Opening) -> None:
        self._opening = opening

    async def get(self) -> None:
        try:
            await self._opening.open(self.application)
        except ImportError as error:
            # Dask says which Bokeh it needs.
            self.set_status(503)
            self.finish(f"there is no dashboard: {error}")
            return
        self.redirect(self.request.uri or "/")
