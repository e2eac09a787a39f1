"""Progress messages of a command that works in this process: its step, and what it compiles.

`ProgressLine` on a terminal; elsewhere a line each 10 s with the time of the day, as of a run. A
thread tells, for the first command of an environment compiles kernels for many seconds before
anything else happens.
"""

import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import TextIO

from .compiling import CompiledKernels
from .progress import EVERY_SECONDS, TICK_SECONDS, ProgressLine


class Activity:
    """Tells on standard error what is done within its block.

    Parameters
    ----------
    doing
        What is done first, such as ``reading the graph …``.
    stream
        Where to write.
    clock
        Seconds that only grow.
    """

    def __init__(
        self,
        doing: str,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._line = ProgressLine(self._stream)
        self._clock = clock
        self._due = clock() + EVERY_SECONDS
        self._doing = doing
        self._kernels = CompiledKernels()
        #: Held while something is reported: the thread and the command may want to at once.
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._thread = threading.Thread(
            target=self._keep_reporting, name="graphtide-activity", daemon=True
        )

    def __enter__(self) -> "Activity":
        self._report()
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._line.clear()

    def now(self, doing: str) -> None:
        """Tell what is done from now on."""
        self._doing = doing
        self._report()

    def _keep_reporting(self) -> None:
        while not self._is_over.wait(TICK_SECONDS):
            self._kernels.look()
            self._report()

    def _report(self) -> None:
        with self._lock:
            parts = [self._doing, *self._kernels.texts()]
            self._line.write("   ".join(parts))
            if not self._stream.isatty() and self._clock() >= self._due:
                self._due = self._clock() + EVERY_SECONDS
                self._stream.write(f"{datetime.now():%H:%M:%S}  {', '.join(parts)}\n")
                self._stream.flush()
