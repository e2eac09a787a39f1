"""When ``graphtide run`` begins, and again: ``--follow``, ``--every``, ``--cron``, ``--wait``.

A run on a schedule ends in order where it is told to (Ctrl-C, a termination signal): the batches
that it has begun to apply are applied and kept, and the status is 0. Told again, it ends at once.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import dropwhile
from types import FrameType
from typing import TYPE_CHECKING, TypeVar

import click
from dask.utils import parse_timedelta

from ...gpu_core.errors import SettingsError
from ...io.state.state_lock import StateInUseError
from ..printing.text import line
from .local_zone import LOCAL_ZONE

if TYPE_CHECKING:
    from ...pipeline.log_watch import Follow

#: Seconds between two looks whether a state is free.
_LOOK_SECONDS = 0.2

#: Seconds between two looks at the clock, which may be set while somebody waits.
_CLOCK_SECONDS = 30.0

#: Written by a signal handler, which may have interrupted whatever else writes.
_STOPPING = b"\nstopping, with the batches that are being applied; once more to stop at once\n"

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Schedule:
    """Values of the flags.

    Raises
    ------
    SettingsError
        They contradict each other, or cannot be read.
    """

    follow: bool = False
    every: str | None = None
    cron: str | None = None
    wait: bool = False

    def __post_init__(self) -> None:
        if sum((self.follow, self.every is not None, self.cron is not None)) > 1:
            msg = "--follow, --every and --cron exclude each other; give one of them"
            raise SettingsError(msg)
        if self.every is not None:
            _seconds(self.every)
        if self.cron is not None:
            _CronWait(self.cron)

    @property
    def is_lasting(self) -> bool:
        """Whether the command goes on when all is applied."""
        return self.follow or self.is_repeated

    @property
    def is_repeated(self) -> bool:
        """Whether there is one run after the other."""
        return self.every is not None or self.cron is not None

    def runs(self, follow: "Follow") -> Iterator[None]:
        """Once for each run, when it is to begin, until it is stopped."""
        if not self.is_repeated:
            yield
            return
        for left in self._waits():
            while not follow.is_stopped and (seconds := left()) > 0:
                follow.sleep(min(seconds, _CLOCK_SECONDS))
            if follow.is_stopped:
                return
            yield

    def _waits(self) -> Iterator[Callable[[], float]]:
        """Before each run, what tells how many seconds are left until it; of one that is late, 0.

        A clock that is set does not count for ``every``, and counts at once for ``cron``.
        """
        if self.every is not None:
            begin = time.monotonic()
            while True:
                yield partial(_left_until, begin)
                begin = max(begin + _seconds(self.every), time.monotonic())
        assert self.cron is not None
        while True:
            yield _CronWait(self.cron).left


def _left_until(begin: float) -> float:
    """Seconds until a moment of the clock that nobody sets."""
    return begin - time.monotonic()


def _seconds(text: str) -> float:
    try:
        seconds = float(parse_timedelta(text))
    except (ValueError, KeyError, OverflowError):
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        msg = f"--every {text} is not allowed; use a time such as 30s, 10m or 1h"
        raise SettingsError(msg)
    return seconds


class _CronWait:
    """Waiting from now on for the next time of a cron expression.

    Raises
    ------
    SettingsError
        It is none, or no time is left that it could mean.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._since = time.time()
        self._next = _next_cron_time(text, self._since)

    def left(self) -> float:
        """Seconds until then."""
        now = time.time()
        if now < self._since:
            self._since, self._next = now, _next_cron_time(self._text, now)
        return self._next - now


def _next_cron_time(text: str, since: float) -> float:
    """First time of a cron expression after another one, as seconds since 1970."""
    try:
        from cronsim import CronSim, CronSimError
    except ImportError:
        msg = (
            "--cron needs cronsim; pip install -e '.[schedule]' in the checkout of graphtide, or "
            "pip install cronsim; or use --every"
        )
        raise SettingsError(msg) from None
    try:
        if len(text.split()) != 5:
            # With six it takes the first one for seconds.
            msg = "not five fields"
            raise CronSimError(msg)
        times = CronSim(text, datetime.fromtimestamp(since, LOCAL_ZONE))
        # In an hour that is there twice, it may give times of the first one.
        later = dropwhile(lambda each: each <= since, (each.timestamp() for each in times))
        return next(later)
    except (CronSimError, StopIteration) as error:
        # Also of a day that no month in question has.
        reason = str(error).lower() or "no such time"
        msg = (
            f'--cron "{text}" is no cron expression ({reason}); write five fields, such as '
            '"*/10 * * * *"'
        )
        raise SettingsError(msg) from None


@contextmanager
def stopped_in_order(follow: "Follow", *, report: bool) -> Iterator[None]:
    """Have the first Ctrl-C or termination signal stop a run in order, and the next one at once.

    A process that ignores Ctrl-C goes on ignoring it. ``report``: say so on standard error.
    """
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    heeded = {each: handler for each, handler in before.items() if handler != signal.SIG_IGN}

    def restore() -> None:
        for number, handler in heeded.items():
            signal.signal(number, handler)

    def stop(_number: int, _frame: FrameType | None) -> None:
        restore()
        follow.stop()
        if report:
            os.write(2, _STOPPING)

    for number in heeded:
        signal.signal(number, stop)
    try:
        yield
    finally:
        restore()


def when_free(run: Callable[[], _Result], follow: "Follow", *, wait: bool) -> _Result:
    """Run, once no other run has the state.

    Raises
    ------
    StateInUseError
        One has it, and is not to be waited for.
    """
    is_reported = False
    while True:
        try:
            return run()
        except StateInUseError as error:
            if not wait or follow.is_stopped:
                raise
            if not is_reported:
                click.echo(line("waiting", str(error).partition(";")[0]), err=True)
                is_reported = True
        follow.sleep(_LOOK_SECONDS)
