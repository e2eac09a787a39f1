"""The writer of a run: one thread writes files in order while the graph goes on."""

import concurrent.futures
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from .state_machine.events import WriteFailed, Written


class Writer:
    """Does what is asked of it in order; after a write that failed it does no other.

    Parameters
    ----------
    report
        Called on the writer's thread when a write has ended, well or not.
    """

    def __init__(self, report: Callable[[Written | WriteFailed], None]) -> None:
        self._report = report
        self._has_failed = False
        self._thread = concurrent.futures.ThreadPoolExecutor(
            1, thread_name_prefix="graphtide-writer"
        )
        # With its first array pyarrow loads pandas, where that is installed, 0.2 s, and with that
        # of NumPy ``numpy.ma``, which holds up all threads: better now than beside batches.
        self._thread.submit(pa.array, np.zeros(1))

    def write(self, job: Callable[[], None]) -> None:
        """Do this after all that was asked for before."""
        self._thread.submit(self._do, job)

    def _do(self, job: Callable[[], None]) -> None:
        if self._has_failed:
            return
        try:
            job()
        except Exception as error:
            self._has_failed = True
            self._report(WriteFailed(error))
        else:
            self._report(Written())

    def close(self) -> None:
        """Finish the write in progress, and drop all others."""
        self._thread.shutdown(wait=True, cancel_futures=True)
