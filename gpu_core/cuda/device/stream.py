"""The lock of an engine; its holder works on the engines' stream of the device.

CuPy keeps one current stream a thread. A graph that is used from several threads must not run a
batch on one stream and the next one on another unsynchronized. So the lock that every call holds
makes its device and one stream the current ones. All engines of a device share that stream: CuPy's
pool returns memory to the stream that it was allocated on, so memory that a graph releases can be
used by the next graph, and no earlier launch can still write into it.

When the lock is taken the engines' stream waits for the caller's, and when it is released the
caller's waits for it: arrays that were filled on another stream can be passed as they are, and used
after the call. The default stream needs neither, because CUDA orders it so.

Epochs have a stream of their own, one for all of a device, and each its own lock.

Where compiled code alone works on the device it names the stream itself, and does not ask which one
is current. Such calls hold `StreamLock.for_launches`, which leaves the default stream current: to
make another one current, and that one again, takes as long as the launches of a small batch.
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
    """Re-entrant; may be held by one thread at a time.

    Parameters
    ----------
    device
        Whose stream it is.
    of_epochs
        Whether it is the stream of epochs, which go on beside the engines. CUDA does not order it
        with the default stream, so results are complete before the lock is given back
        (``waits_at_end``).
    """

    def __init__(self, device: Device, *, of_epochs: bool = False) -> None:
        self._device = device
        self._lock = threading.RLock()
        #: CuPy's module for streams; NumPy, which stands for it in tests, has none.
        self._cuda: Any = getattr(device.xp, "cuda", None)
        self._stream = _stream_of(device, self._cuda, of_epochs=of_epochs)
        #: Whether the host waits for the stream before it gives the lock back.
        self.waits_at_end = of_epochs
        #: The stream, as the driver knows it; without CUDA there is none.
        self.handle: int = 0 if self._stream is None else self._stream.ptr
        #: The same lock, for calls in which compiled code alone works on the device.
        self.for_launches = _LaunchLock(self)
        #: How often the lock is held by its thread, and at which of these times the engines' stream
        #: became the current one; 0: it has not.
        self._depth = self._current_since = 0
        #: The stream that was current when the lock was taken, if it is to be waited for.
        self._callers: Any = None
        #: Ordinals of the device, and of the one that was current then.
        self._ordinal = self._callers_device = device.ordinal

    def __enter__(self) -> None:
        self._take(leaves_default=False)

    def _take(self, *, leaves_default: bool) -> None:
        self._lock.acquire()
        self._depth += 1
        # A device that broke is left alone; taking the lock raises.
        if self._current_since > 0 or self._stream is None or self._device.broken is not None:
            return
        if self._depth == 1:
            # Inline, here and below: every batch passes, and after other work each call is slow.
            self._callers_device = self._cuda.runtime.getDevice()
            if self._callers_device != self._ordinal:
                self._cuda.runtime.setDevice(self._ordinal)
        callers = self._cuda.get_current_stream()
        if not (leaves_default and callers.ptr in _DEFAULT_STREAM):
            self._make_current(callers)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if self._current_since == self._depth:
                self._leave_stream(kind, error, traceback)
        finally:
            self._depth -= 1
            if self._depth == 0 and self._callers_device != self._ordinal:
                self._cuda.runtime.setDevice(self._callers_device)
                self._callers_device = self._ordinal
            self._lock.release()

    def _leave_stream(self, *error: Any) -> None:
        callers, self._callers, self._current_since = self._callers, None, 0
        try:
            if self.waits_at_end:
                self._device.synchronize()
        finally:
            self._stream.__exit__(*error)
            if callers is not None:
                with suppress(Exception):  # the call has met it, or the next one does
                    callers.wait_event(self._stream.record())

    def _make_current(self, callers: Any) -> None:
        """Make the engines' stream the current one, after the stream of the caller."""
        self._stream.__enter__()
        self._current_since = self._depth
        # One engine may be called while another is at work.
        if callers.ptr not in _DEFAULT_STREAM and callers.ptr != self.handle:
            with suppress(Exception):  # the engine's first call meets it again
                self._stream.wait_event(callers.record())
            self._callers = callers


class _LaunchLock:
    """As `StreamLock.for_launches` says."""

    def __init__(self, lock: StreamLock) -> None:
        self._whole = lock

    def __enter__(self) -> None:
        self._whole._take(leaves_default=True)

    def __exit__(self, *error: Any) -> None:
        self._whole.__exit__(*error)


def follow_engines(device: Device) -> None:
    """Have the current stream wait for all that the engines' stream has been given.

    For results that stay on the device until they are read, perhaps on another stream than the one
    that was current at the call. The default stream waits by itself, and epochs have waited.
    """
    cuda: Any = getattr(device.xp, "cuda", None)
    if cuda is None:
        return
    with device.current(), device.errors_named("waiting for a result"):
        current = cuda.get_current_stream()
        engines = _stream_of(device, cuda, of_epochs=False)
        if current.ptr not in (*_DEFAULT_STREAM, engines.ptr):
            current.wait_event(engines.record())


#: The streams of each device: of engines, and of epochs.
_STREAMS: WeakKeyDictionary[Device, tuple[Any, Any]] = WeakKeyDictionary()
_MAKING = threading.Lock()


def _stream_of(device: Device, cuda: Any, *, of_epochs: bool) -> Any:
    if cuda is None:
        return None
    with _MAKING:
        if device not in _STREAMS:
            # What engines put on the default stream waits for no epoch, nor the other way round.
            with device.current():
                _STREAMS[device] = cuda.Stream(), cuda.Stream(non_blocking=True)
        return _STREAMS[device][of_epochs]
