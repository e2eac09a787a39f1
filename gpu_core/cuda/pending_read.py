"""A small read from the device that waits for what comes before it, not for what comes after.

So the device goes on while the host looks at what it has found so far.
"""

from typing import Any

import numpy.typing as npt

from .device import Array, Device

_DEVICE_TO_HOST = 2


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
        self._device = device
        #: Event behind the copy; None on an emulated device.
        self._copied: Any = None
        cuda: Any = getattr(device.xp, "cuda", None)
        if cuda is None:
            self._words = device.to_host(array)
            return
        self._words = device.page_locked(array.size, array.dtype)
        with device.errors_named("reading back"):
            stream = cuda.get_current_stream()
            cuda.runtime.memcpyAsync(
                self._words.ctypes.data, array.data.ptr, array.nbytes, _DEVICE_TO_HOST, stream.ptr
            )
            self._copied = cuda.Event(disable_timing=True)
            self._copied.record(stream)

    def wait(self) -> npt.NDArray[Any]:
        """Return what was read, once it is there."""
        if self._copied is not None:
            with self._device.errors_named("reading back"):
                self._copied.synchronize()
        return self._words
