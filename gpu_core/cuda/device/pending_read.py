"""Asynchronous read-back: waits for the work before it, not for what is launched later.

So the device continues while the host reads. A copy between launches delays them by some 15 us;
words that kernels write to page-locked memory do not.
"""

import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy.typing as npt

from .device import Device


class PendingReport:
    """Page-locked memory that the work of the current stream up to now writes.

    Parameters
    ----------
    device
        Whose kernels write it.
    words
        Of `device.Device.page_locked`. They are kept until that work is done, also where nothing
        waits for it: the next owner may write to it at once. A caller that has later work write
        to them keeps them until that is done.
    used
        What that work uses besides, kept likewise.
    """

    def __init__(self, device: Device, words: npt.NDArray[Any], *used: object) -> None:
        self._device, self._words = device, words
        #: Event after that work; None on an emulated device.
        self._written: Any = None
        cuda: Any = getattr(device.xp, "cuda", None)
        if cuda is not None:
            with device.errors_named("reading back"):
                self._written = cuda.Event(disable_timing=True)
                self._written.record(cuda.get_current_stream())
            weakref.finalize(self, _wait_for, self._written, words, *used).atexit = False

    def wait(self) -> npt.NDArray[Any]:
        """Return the words, once that work is done; later work may go on writing to them."""
        if self._written is not None:
            with self._device.errors_named("reading back"):
                self._written.synchronize()
        return self._words


@contextmanager
def done_when_broken_off(device: Device) -> Iterator[None]:
    """Kernels in here write to the host's memory: an error leaves none of them at work."""
    try:
        yield
    except BaseException:
        device.synchronize()
        raise


def _wait_for(written: Any, *used: object) -> None:
    """Wait for an event after work that uses memory, which is released with this call."""
    with suppress(Exception):  # a device that broke writes no more
        written.synchronize()
