"""The lock of an engine on a device: whoever holds it works on the engine's own stream.

CuPy's current stream is one of each thread. A graph that is used from several threads must not do
a batch on one stream and the next one on another, with nothing between them that waits. So an
engine has one stream, and the lock that every call holds makes it the current one.

The stream that was current before is waited for when the lock is taken, and waits in turn when it
is given back: arrays that a caller filled on a stream of its own can be handed over as they are,
and used again behind the call. The default stream needs neither, because CUDA orders it so.
"""

import threading
from contextlib import suppress
from types import TracebackType
from typing import Any

from .device import Device

#: Handles of CUDA's default stream.
_DEFAULT_STREAM = (0, 1)


class StreamLock:
    """Re-entrant; may be held by one thread at a time."""

    def __init__(self, device: Device) -> None:
        self._lock = threading.RLock()
        #: CuPy's module for streams; NumPy, which stands for it in tests, has none.
        self._cuda: Any = getattr(device.xp, "cuda", None)
        self._stream = self._cuda.Stream() if self._cuda is not None else None
        self._depth = 0
        #: The stream that was current when the lock was taken, if it is to be waited for.
        self._callers: Any = None

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1
        if self._stream is None or self._depth > 1:
            return
        callers = self._cuda.get_current_stream()
        self._stream.__enter__()
        if callers.ptr not in _DEFAULT_STREAM:
            self._callers = callers
            self._stream.wait_event(callers.record())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._depth -= 1
        try:
            if self._stream is not None and self._depth == 0:
                callers, self._callers = self._callers, None
                self._stream.__exit__(kind, error, traceback)
                if callers is not None:
                    # Where the device broke, the call has said so, or the next one does.
                    with suppress(Exception):
                        callers.wait_event(self._stream.record())
        finally:
            self._lock.release()
