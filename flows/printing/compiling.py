"""Whether kernels are compiled while a command goes on: once in each environment, mostly at first.

Workers and this process keep what they compile in one folder, so new files in it show that
something was compiled. Workers on other machines have folders of their own.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from ...gpu_core.jit.cache_folder import cache_folder

#: Seconds for which a kernel that was compiled is news.
_NEWS_SECONDS: Final = 10.0


class CompiledKernels:
    """Counts kernels that were compiled since it was made.

    Parameters
    ----------
    clock
        Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._before = _compiled_files()
        #: Compiled so far.
        self.count = 0
        self._newest_seconds: float | None = None

    def look(self) -> None:
        """Count again; takes 10 ms where a thousand are kept."""
        count = _compiled_files() - self._before
        if count > self.count:
            self.count, self._newest_seconds = count, self._clock()

    def texts(self) -> list[str]:
        """Message for the time while a command starts: none, unless something is compiled."""
        if self.count:
            return [f"compiling kernels, once in this environment: {self.count:,} so far"]
        return [] if self._before else ["kernels are compiled once in each environment"]

    def is_going_on(self) -> bool:
        """Whether one was compiled a moment ago: what waits for it makes no progress."""
        newest = self._newest_seconds
        return newest is not None and self._clock() - newest <= _NEWS_SECONDS


def _compiled_files() -> int:
    count, folders = 0, [str(cache_folder())]
    while folders:
        # A folder may not be there yet, or go away.
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".nbc"):
                    count += 1
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    return count
