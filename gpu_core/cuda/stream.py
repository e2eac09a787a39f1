"""The lock of an engine on a device: whoever holds it works on the engines' own stream.

CuPy's current stream is one of each thread. A graph that is used from several threads must not do
a batch on one stream and the next one on another, with nothing between them that waits. So the lock
that every call holds makes one stream the current one. All engines of a device share it: CuPy's
memory pool gives memory back to the stream that it was taken on, so what a graph leaves behind can
serve the next graph, and nothing that is still under way can write into it.

The stream that was current before is waited for when the lock is taken, and waits in turn when it
is given back: arrays that a caller filled on a stream of its own can be handed over as they are,
and used again behind the call. The default stream needs neither, because CUDA orders it so.
"""

import threading
from contextlib import suppress
from types import TracebackType
from typing import Any
from weakref import WeakKeyDictionary

from .device import Device

#: Handles of CUDA's default stream.
_DEFAULT_STREAM = (0, 1)


class StreamLock:
    """Re-entrant; may be held by one thread at a time."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._lock = threading.RLock()
        #: CuPy's module for streams; NumPy, which stands for it in tests, has none.
        self._cuda: Any = getattr(device.xp, "cuda", None)
        self._stream = _stream_of(device, self._cuda)
        #: The stream, as the driver knows it; without CUDA there is none.
        self.handle: int = 0 if self._stream is None else self._stream.ptr
        self._depth = 0
        self._is_current = False
        #: The stream that was current when the lock was taken, if it is to be waited for.
        self._callers: Any = None

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1
        # A device that broke is left alone; whoever takes the lock says so.
        if self._depth > 1 or self._stream is None or self._device.broken is not None:
            return
        callers = self._cuda.get_current_stream()
        self._stream.__enter__()
        self._is_current = True
        # One engine may be called while another is at work.
        if callers.ptr not in _DEFAULT_STREAM and callers.ptr != self._stream.ptr:
            with suppress(Exception):  # the engine's first call meets it again
                self._stream.wait_event(callers.record())
            self._callers = callers

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._depth -= 1
        try:
            if self._is_current and self._depth == 0:
                callers, self._callers, self._is_current = self._callers, None, False
                self._stream.__exit__(kind, error, traceback)
                if callers is not None:
                    with suppress(Exception):  # the call has met it, or the next one does
                        callers.wait_event(self._stream.record())
        finally:
            self._lock.release()


#: The stream of each device that engines work on.
_STREAMS: WeakKeyDictionary[Device, Any] = WeakKeyDictionary()
_MAKING = threading.Lock()


def _stream_of(device: Device, cuda: Any) -> Any:
    if cuda is None:
        return None
    with _MAKING:
        if device not in _STREAMS:
            _STREAMS[device] = cuda.Stream()
        return _STREAMS[device]
