"""Progress of a run, for each kind of listener.

==================  ===============================================================================
listener            what is reported, on standard error
==================  ===============================================================================
a terminal          one line, written over
a pipe, a log file  a line each 10 s, and each 10 min while a run waits for files
--log-format json   an object a line: `JsonEvents`; how far the run is as often as that
--quiet             nothing
==================  ===============================================================================

A run begins with seconds of silence, while workers start and the first run of an environment
compiles kernels; a thread keeps reporting meanwhile. Kernels of what is first computed in mid-run
are compiled then, and reported likewise.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any, TextIO

import click

from ... import __version__
from .compiling import CompiledKernels
from .limits import LimitWarnings
from .progress import EVERY_SECONDS, TICK_SECONDS, ProgressLine, progress_text
from .text import TIED, duration, line

if TYPE_CHECKING:
    from ...pipeline.monitoring.progress import Progress


#: Seconds between two lines, or two events, while a run waits and nothing has changed: it may do so
#: for days, and be written down by a service.
_WAITING_SECONDS = 600.0

#: Ticks from one look at the kernels to the next, once batches are applied.
_TICKS_BETWEEN_LOOKS = 4


class RunReporter:
    """Tells nothing: what ``--quiet`` asks for, and what the others do besides.

    Used as a context, within which `show` is what a run calls with its progress.
    """

    def __init__(self) -> None:
        #: Held while something is reported: a thread and the run may want to at once.
        self._lock = threading.Lock()
        self._newest: Progress | None = None
        self._start_seconds = time.monotonic()
        self._kernels = CompiledKernels()
        self._warnings = LimitWarnings()
        #: Lives of the graph before this one.
        self._recoveries = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(
            target=self._keep_reporting, name="graphtide-reporter", daemon=True
        )

    def __enter__(self) -> "RunReporter":
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over.set()
        self._thread.join()
        with self._lock:
            self._end()

    def started(self, log: tuple[str, ...], state: str, notes: list[str]) -> None:
        """Tell what is run, and what the user should know before."""
        with self._lock:
            self._started(log, state, notes)

    def show(self, progress: "Progress") -> None:
        """Tell how far the run is, if that is due."""
        with self._lock:
            is_new = progress.dashboard and not (self._newest and self._newest.dashboard)
            if is_new:
                assert progress.dashboard is not None
                self._dashboard(progress.dashboard)
            self._newest = progress
            for resource, text in self._warnings.new(progress.limits):
                self._warn(resource, text)
            if (loss := self._new_loss(progress)) is not None:
                self._warn("graph", loss)
            self._show(progress)

    def _new_loss(self, progress: "Progress") -> str | None:
        """Why the graph was lost that is made again since the progress before, if one is."""
        if progress.picture is None or progress.picture.recoveries <= self._recoveries:
            return None
        self._recoveries = progress.picture.recoveries
        troubles = progress.picture.troubles
        return f"{troubles[-1][1]}; it is made again" if troubles else None

    def finished(self, values: Mapping[str, Any]) -> None:
        """Tell that the run has come to its end, with its summary."""
        with self._lock:
            self._finished(values)

    def _keep_reporting(self) -> None:
        for tick in count():
            if self._is_over.wait(TICK_SECONDS):
                return
            with self._lock:
                is_starting = self._newest is None or self._newest.stage in ("start", "recover")
                if is_starting or tick % _TICKS_BETWEEN_LOOKS == 0:
                    self._kernels.look()
                self._tick()

    def _text(self, separator: str) -> str:
        """Progress of the run, as text."""
        newest = self._newest
        if newest is not None and newest.rows_done:
            return progress_text(newest, separator, compiles=self._kernels.is_going_on())
        stage = "start" if newest is None else newest.stage
        doing = {"start": "starting", "waiting": "waiting for files"}.get(stage, stage)
        seconds = round(time.monotonic() - self._start_seconds)
        parts = [doing, f"{seconds} s" if seconds < 60 else duration(seconds)]
        return separator.join([*parts, *self._kernels.texts()])

    # -- what listeners add

    def _started(self, log: tuple[str, ...], state: str, notes: list[str]) -> None: ...

    def _dashboard(self, address: str) -> None: ...

    def _warn(self, resource: str, text: str) -> None: ...

    def _show(self, progress: "Progress") -> None: ...

    def _tick(self) -> None: ...

    def _finished(self, values: Mapping[str, Any]) -> None: ...

    def _end(self) -> None: ...


class _ForPeople(RunReporter):
    """Notes and the dashboard's address stay: they belong to the summary on standard output.

    Parameters
    ----------
    is_output_data
        Standard output is for data alone; they go to standard error.
    """

    def __init__(self, *, is_output_data: bool = False) -> None:
        super().__init__()
        self._is_output_data = is_output_data

    def _started(self, log: tuple[str, ...], state: str, notes: list[str]) -> None:
        for note in notes:
            self._say("note", note)

    def _dashboard(self, address: str) -> None:
        self._say("dashboard", address)

    def _warn(self, _resource: str, text: str) -> None:
        self._say("warning", text)

    def _say(self, label: str, text: str) -> None:
        click.echo(line(label, text), err=self._is_output_data)


class TerminalReporter(_ForPeople):
    """One line that is written over."""

    def __init__(self, *, is_output_data: bool = False) -> None:
        super().__init__(is_output_data=is_output_data)
        self._line = ProgressLine()

    def _started(self, log: tuple[str, ...], state: str, notes: list[str]) -> None:
        super()._started(log, state, notes)
        self._tick()

    def _show(self, progress: "Progress") -> None:
        if progress.rows_done:
            self._line.show(progress, compiles=self._kernels.is_going_on())

    def _tick(self) -> None:
        if self._newest is None or not self._newest.rows_done:
            self._line.write(self._text("   "))

    def _say(self, label: str, text: str) -> None:
        self._line.clear()
        super()._say(label, text)

    def _end(self) -> None:
        self._line.clear()


class _Pace:
    """Tells when it is time to say how far a run is, where there is no terminal.

    Parameters
    ----------
    clock
        Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._reported_seconds = clock()
        #: Batches that were applied when it was reported last that the run waits.
        self._waiting_at: int | None = None

    def is_due(self, progress: "Progress | None") -> bool:
        """Whether it is time now; then it counts as reported."""
        waits = progress is not None and progress.stage == "waiting"
        waiting_at = progress.batches_done if progress is not None and waits else None
        is_reported = waiting_at is not None and waiting_at == self._waiting_at
        now = self._clock()
        if now < self._reported_seconds + (_WAITING_SECONDS if is_reported else EVERY_SECONDS):
            return False
        self._reported_seconds, self._waiting_at = now, waiting_at
        return True


class LineReporter(_ForPeople):
    """A line each 10 s, with the time of the day, for a pipe or a log file.

    Parameters
    ----------
    stream
        Where to write.
    clock
        Seconds that only grow.
    is_output_data
        As of the class above.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        is_output_data: bool = False,
    ) -> None:
        super().__init__(is_output_data=is_output_data)
        self._stream = sys.stderr if stream is None else stream
        self._pace = _Pace(clock)

    def _show(self, progress: "Progress") -> None:
        self._tick()

    def _tick(self) -> None:
        if self._pace.is_due(self._newest):
            self._stream.write(f"{datetime.now():%H:%M:%S}  {self._text(', ')}\n")
            self._stream.flush()


class JsonEvents(RunReporter):
    """An object a line.

    ==============  ============================================================================
    ``event``       with
    ==============  ============================================================================
    ``started``     ``version``, ``pid``, ``log``, ``state``, ``notes``
    ``dashboard``   ``address``, where Dask's dashboard is on
    ``warning``     ``resource`` (``arena``, ``memory``, ``disk``) that is short, or ``graph``,
                    which was lost and is made again; ``message``
    ``progress``    all of `Progress`, each 10 s; ``compiled``: kernels compiled, if any were
    ``batch``       the same, after each tenth of the batches
    ``checkpoint``  ``batch``: the last one that is in it
    ``finished``    what ``--json`` prints
    ``error``       ``message``, ``status``: the exit status; by ``flows/failures.py``
    ==============  ============================================================================

    Each has ``time``, in UTC.

    Parameters
    ----------
    stream
        Where to write.
    clock
        Seconds that only grow.
    """

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._stream = stream
        self._pace = _Pace(clock)
        #: Tenths of the batches that were reported, and the boundary of the newest checkpoint.
        self._tenths: int | None = None
        self._checkpointed = -1

    def _write(self, event: str, **values: Any) -> None:
        click.echo(event_text(event, **values), file=self._stream, err=self._stream is None)

    def _started(self, log: tuple[str, ...], state: str, notes: list[str]) -> None:
        self._write(
            "started",
            version=__version__, pid=os.getpid(), log=list(log), state=state, notes=notes,
        )  # fmt: skip

    def _dashboard(self, address: str) -> None:
        self._write("dashboard", address=address)

    def _warn(self, resource: str, text: str) -> None:
        self._write("warning", resource=resource, message=text.replace(TIED, " "))

    def _show(self, progress: "Progress") -> None:
        tenths = 10 * progress.batches_done // max(progress.batches_total, 1)
        if self._tenths is None:
            self._tenths, self._checkpointed = tenths, progress.batches_checkpointed
        if tenths > self._tenths:
            self._write("batch", **progress.values())
        # A graph that was lost begins again from its newest checkpoint.
        self._tenths = tenths
        if progress.batches_checkpointed > self._checkpointed:
            self._checkpointed = progress.batches_checkpointed
            self._write("checkpoint", batch=self._checkpointed - 1)
        self._tick()

    def _tick(self) -> None:
        if self._pace.is_due(self._newest):
            values = {"stage": "start"} if self._newest is None else self._newest.values()
            compiled = self._kernels.count
            self._write("progress", **values, **({"compiled": compiled} if compiled else {}))

    def _finished(self, values: Mapping[str, Any]) -> None:
        self._write("finished", **values)


def event_text(event: str, **values: Any) -> str:
    """Write an event as JSON, with the time."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"time": now, "event": event, **values})


def reporter_for(
    *, quiet: bool = False, log_format: str = "text", is_output_data: bool = False
) -> RunReporter:
    """Choose who listens; ``is_output_data`` keeps standard output free."""
    if quiet:
        return RunReporter()
    if log_format == "json":
        return JsonEvents()
    listener = TerminalReporter if sys.stderr.isatty() else LineReporter
    return listener(is_output_data=is_output_data)
