"""A look at what the device has found so far, that waits for what comes before it, not for more.

So the device goes on while the host looks. A copy among launches holds them up by some 15 us
(`PendingRead`); words that kernels write to page-locked memory themselves do not (`PendingReport`).
"""

from typing import Any

import numpy.typing as npt

from .device import Array, Device

_DEVICE_TO_HOST = 2


class PendingReport:
    """What all work of the current stream up to now writes to page-locked memory.

    Parameters
    ----------
    device
        Whose kernels write it.
    words
        Of `device.Device.page_locked`. To be kept until nothing writes to it any more.
    """

    def __init__(self, device: Device, words: npt.NDArray[Any]) -> None:
        self._device, self._words = device, words
        #: Event behind that work; None on an emulated device.
        self._written: Any = None
        cuda: Any = getattr(device.xp, "cuda", None)
        if cuda is not None:
            with device.errors_named("reading back"):
                self._written = cuda.Event(disable_timing=True)
                self._written.record(cuda.get_current_stream())

    def wait(self) -> npt.NDArray[Any]:
        """Return the words, once that work is done; later work may go on writing to them."""
        if self._written is not None:
            with self._device.errors_named("reading back"):
                self._written.synchronize()
        return self._words


class PendingRead:
    """A copy to page-locked memory that begins after all work of the current stream before it.

    Parameters
    ----------
    device
        Whose array this is.
    array
        Small and contiguous; work that is launched later may write to it.
    """

    def __init__(self, device: Device, array: Array) -> None:
        cuda: Any = getattr(device.xp, "cuda", None)
        if cuda is None:
            words = device.to_host(array)
        else:
            words = device.page_locked(array.size, array.dtype)
            with device.errors_named("reading back"):
                stream = cuda.get_current_stream()
                cuda.runtime.memcpyAsync(
                    words.ctypes.data, array.data.ptr, array.nbytes, _DEVICE_TO_HOST, stream.ptr
                )
        self._report = PendingReport(device, words)

    def wait(self) -> npt.NDArray[Any]:
        """Return what was read, once it is there."""
        return self._report.wait()
