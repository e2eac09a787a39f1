"""Time one call in two ways: on the device's own clock, and as the caller sees it."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Lap:
    """Milliseconds of one call."""

    #: Between two CUDA events around the call; on the host engine the same as ``caller``.
    device: float
    caller: float


class Clock:
    """Times calls; ``xp`` is CuPy where the work is done on a GPU, else NumPy."""

    def __init__(self, xp: Any) -> None:
        self._cuda = xp.cuda if xp.__name__ == "cupy" else None

    def time(self, call: Callable[[], Any]) -> Lap:
        """Time a call from an idle device to the end of all that it has started."""
        if self._cuda is None:
            start = time.perf_counter()
            call()
            took = (time.perf_counter() - start) * 1e3
            return Lap(took, took)
        begin, end = self._cuda.Event(), self._cuda.Event()
        self._cuda.get_current_stream().synchronize()
        start = time.perf_counter()
        begin.record()
        call()
        end.record()
        end.synchronize()
        took = (time.perf_counter() - start) * 1e3
        return Lap(self._cuda.get_elapsed_time(begin, end), took)


def spread(milliseconds: Sequence[float]) -> str:
    """``median (lower quartile to upper quartile)``, in milliseconds."""
    if len(milliseconds) == 1:
        return _short(milliseconds[0])
    low, median, high = statistics.quantiles(milliseconds, n=4, method="inclusive")
    return f"{_short(median)} ({_short(low)} to {_short(high)})"


def percentile(milliseconds: Sequence[float], percent: int) -> str:
    """The value that ``percent`` percent of at least two are not above, in milliseconds."""
    return _short(statistics.quantiles(milliseconds, n=100, method="inclusive")[percent - 1])


def _short(milliseconds: float) -> str:
    digits = 3 if milliseconds < 10 else 1 if milliseconds < 1000 else 0
    return f"{milliseconds:,.{digits}f}"
