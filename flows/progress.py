"""What a user sees while a run goes on: one line on a terminal, nothing in a pipe or a log file.

The line is written over, to standard error, so that standard output holds the summary alone.
"""

import shutil
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from .text import rate

if TYPE_CHECKING:
    from ..pipeline.monitoring import Progress

#: Seconds between two writings of the line.
_INTERVAL_SECONDS = 0.1

#: Clear to the end of the line.
_CLEAR = "\x1b[K"


class ProgressLine:
    """One line that tells how far a run is.

    Parameters
    ----------
    stream
        Where to write; silent unless it is a terminal.
    clock
        Seconds that only grow.
    """

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = self._stream.isatty()
        self._clock = clock
        self._next_time = float("-inf")
        self._stage = ""
        self._is_shown = False

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    def show(self, progress: "Progress") -> None:
        """Write the line, unless it was written a moment ago and the stage is the same."""
        if not self._is_terminal:
            return
        now = self._clock()
        if progress.stage == self._stage and now < self._next_time:
            return
        self._stage = progress.stage
        self._next_time = now + _INTERVAL_SECONDS
        self.write(progress_text(progress))

    def write(self, text: str) -> None:
        """Write over the line; a terminal that is too narrow shows its beginning."""
        if self._is_terminal:
            columns = shutil.get_terminal_size().columns
            self._stream.write(f"\r{text[: columns - 1]}{_CLEAR}")
            self._stream.flush()
            self._is_shown = True

    def clear(self) -> None:
        """Take the line away, so that what follows begins on an empty one."""
        if self._is_shown:
            self._stream.write(f"\r{_CLEAR}")
            self._stream.flush()
            self._is_shown = False


def progress_text(progress: "Progress") -> str:
    """``batch 3/25   1.2 M updates/s   24,759 vertices   187,986 edges   apply``."""
    if not progress.batches_done:
        return f"{progress.stage} …"
    parts = [
        f"batch {progress.batches_done:,}/{progress.batches_total:,}",
        f"{rate(progress.updates_per_second)} updates/s",
        f"{progress.num_vertices:,} vertices",
        f"{progress.num_edges:,} edges",
        progress.stage,
    ]
    return "   ".join(parts)
