"""Dask's dashboard, made when somebody first looks at it.

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
from typing import Any, Final

from distributed import Scheduler
from tornado import web

_USUAL_PORT: Final = 8787
_MODULE: Final = "distributed.dashboard.scheduler"


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


def serve_when_asked(scheduler: Scheduler) -> None:
    """Serve the dashboard from the first request on."""
    scheduler.http_application.add_application(
        web.Application([(r".*", _FirstRequest, {"opening": _Opening(scheduler)})])
    )


class _Opening:
    """Puts the dashboard in the place of the application of the first request, once."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._lock = asyncio.Lock()
        self._is_done = False

    async def open(self, placeholder: web.Application) -> None:
        async with self._lock:
            if self._is_done:
                return
            dashboard = await asyncio.to_thread(importlib.import_module, _MODULE)
            application = self._scheduler.http_application
            application.applications.remove(placeholder)
            dashboard.connect(application, self._scheduler.http_server, self._scheduler, prefix="/")
            self._is_done = True


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
