"""Progress of a command: one line that is written over on a terminal.

It goes to standard error, so that standard output holds the summary alone. What a run tells
elsewhere: ``run_reports.py``, ``activity.py``.
"""

import shutil
import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from ...gpu_core.printable import counted, rate
from .text import duration

if TYPE_CHECKING:
    from ...pipeline.monitoring.progress import Progress

#: Seconds between two lines, or two events, where there is no terminal.
EVERY_SECONDS = 10.0

#: Seconds between two looks at the clock, of what reports by a thread.
TICK_SECONDS = 0.5

#: Seconds between two writings of the line.
_INTERVAL_SECONDS = 0.1

#: Between two parts of the line.
_SEPARATOR = "   "

#: Clear to the end of the line.
_CLEAR = "\x1b[K"


class ProgressLine:
    """Progress line of a command; nothing in a pipe or a log file.

    Parameters
    ----------
    stream
        Where to write; silent unless it is a terminal.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = self._stream.isatty()
        self._next_time = float("-inf")
        self._stage = ""
        self._is_shown = False
        #: Two threads may write.
        self._lock = threading.Lock()

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    def show(self, progress: "Progress", *, compiles: bool = False) -> None:
        """Write the line, unless it was written a moment ago and the stage is the same."""
        if not self._is_terminal:
            return
        now = time.monotonic()
        if progress.stage == self._stage and now < self._next_time:
            return
        self._stage = progress.stage
        self._next_time = now + _INTERVAL_SECONDS
        self.write(progress_text(progress, compiles=compiles))

    def write(self, text: str) -> None:
        """Write over the line; a terminal that is too narrow shows its first parts."""
        if self._is_terminal:
            columns = shutil.get_terminal_size().columns
            with self._lock:
                self._stream.write(f"\r{_fitting(text, columns - 1)}{_CLEAR}")
                self._stream.flush()
                self._is_shown = True

    def clear(self) -> None:
        """Take the line away, so that what follows begins on an empty one."""
        with self._lock:
            if self._is_shown:
                self._stream.write(f"\r{_CLEAR}")
                self._stream.flush()
                self._is_shown = False


def _fitting(text: str, width: int) -> str:
    """The parts of a line that fit, whole: half of a number would be another one."""
    if len(text) <= width:
        return text
    parts = text[: width + len(_SEPARATOR)].rpartition(_SEPARATOR)[0]
    return (parts or text)[:width]


def progress_text(
    progress: "Progress", separator: str = _SEPARATOR, *, compiles: bool = False
) -> str:
    """``batch 3/25   1.2 M rows/s   4 min 5 s left   apply   24,759 vertices   187,986 edges``.

    ``compiles``: kernels are compiled in some worker, which the stage may wait for.
    """
    if not progress.rows_done:
        return f"{progress.stage} …"
    parts = [
        f"batch {progress.batches_done:,}/{progress.batches_total:,}",
        f"{rate(progress.rows_per_second)} rows/s",
        *([f"{duration(progress.seconds_left)} left"] if progress.seconds_left else []),
        progress.stage,
        *(["compiling kernels"] if compiles else []),
        counted(progress.num_vertices, "vertex"),
        counted(progress.num_edges, "edge"),
    ]
    return separator.join(parts)
