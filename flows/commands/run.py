"""``graphtide run``: apply a log, once or by a schedule, and print what happened."""

import json
import logging
import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from types import FrameType
from typing import Any

import click

from ...gpu_core.errors import GraphtideError
from ...io.log.file_errors import EmptyLogError
from ...io.state.directory import StateDirectory
from ...io.state.results import Failures
from ...pipeline.workers.forking.fork_server import start_fork_server
from ...pipeline.workers.forking.unwanted_imports import use_arrow_without_pandas
from ..failures import Terminated
from ..flag_settings import settings_from_options
from ..interrupts import put_off
from ..printing.run_reports import reporter_for
from ..printing.summary import failure_text, run_lines, run_values
from ..printing.text import line
from ..shell_order import order_notes
from .schedule import Schedule, stopped_in_order, when_free

_AT_ONCE = Schedule()

_GO_ON = "the same command goes on from there"


def run_log(
    log: tuple[str, ...],
    state: str,
    options: Mapping[str, Any],
    *,
    quiet: bool = False,
    log_format: str = "text",
    as_json: bool = False,
    schedule: Schedule = _AT_ONCE,
) -> None:
    """Apply what is not applied yet, and print what happened: once, or as the schedule says.

    Raises
    ------
    GraphtideError
        At the end: some results could not be computed. All else is kept.
    """
    settings = settings_from_options(options)
    if settings.scheduler is None:
        # Its imports go on beside ours.
        start_fork_server()
    use_arrow_without_pandas()
    from ...pipeline.log_watch import Follow

    notes = order_notes(log)
    follow = Follow(waits=schedule.follow)
    failures: dict[str, Failures] = {}
    is_reported = not quiet and log_format == "text"

    def once() -> None:
        reporter = reporter_for(quiet=quiet, log_format=log_format, is_output_data=as_json)
        with reporter:
            reporter.started(log, state, notes)
            from ...pipeline.ingest import run

            begin = partial(run, log, state, settings, reporter.show, follow)
            summary = when_free(begin, follow, wait=schedule.wait)
        values = run_values(summary, log, state, notes)
        reporter.finished(values)
        if as_json:
            click.echo(json.dumps(values, indent=1))
        elif is_reported:
            for text in run_lines(summary, " ".join(log), state, settings.graph):
                click.echo(text)
        failures.update(summary.failures)

    with ExitStack() as stack:
        stack.enter_context(stopped_cleanly(state, _GO_ON))
        if schedule.is_lasting:
            stack.enter_context(stopped_in_order(follow, report=is_reported))
        for _ in schedule.runs(follow):
            try:
                once()
            except EmptyLogError as error:
                if not schedule.is_lasting:
                    raise
                if is_reported:
                    click.echo(line("applied", f"nothing: {error}"))
    if failures:
        raise GraphtideError(failure_text(failures))


@contextmanager
def stopped_cleanly(state: str, advice: str) -> Iterator[None]:
    """End on Ctrl-C and on a termination signal with a sentence that says what is kept."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    except KeyboardInterrupt as error:
        msg = f"stopped; {_kept(state)}; {advice}"
        raise type(error)(msg) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _kept(state: str) -> str:
    ids = StateDirectory(state).checkpoint_ids()
    if not ids:
        return "nothing is kept, because there was no checkpoint yet"
    return f"{state} keeps everything up to batch {ids[-1]}"


def _terminate(number: int, frame: FrameType | None) -> None:
    if put_off(number, frame):
        return
    # As with Ctrl-C: what Dask logs while it is stopped would only confuse the user.
    logging.disable(logging.CRITICAL)
    raise Terminated
