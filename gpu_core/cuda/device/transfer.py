"""Host arrays to the device in as few copies as their addresses allow.

Arrays that lie side by side in the host's memory, padded as in one block, are one copy: those of a
batch that was packed into one block, or that came through a slot of shared memory. The device's
memory, one piece for all, comes from CuPy's pool, in a few sizes only, so that what one batch gives
back serves the next ones and nothing is asked of the driver.
"""

import ctypes
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...batch.packed_batch import padded
from ..memory.scratch import DeviceScratch
from .device import Device
from .packed_arguments import DeviceList, address

#: Sizes of pieces are multiples of a sixteenth of a power of two.
_STEPS: Final = 4
_HOST_TO_DEVICE: Final = 1


def send(
    device: Device, arrays: Mapping[str, npt.NDArray[Any]], stream: Any = None
) -> dict[str, DeviceList]:
    """Begin to copy contiguous arrays to the device.

    Returns at once where the arrays are page-locked; then they must stay as they are until the copy
    is done.

    Parameters
    ----------
    stream
        That copies, into memory of the current one, which no other work uses any more; by default
        the current one does.
    """
    sizes = [padded(array.nbytes) for array in arrays.values()]
    memory = device.empty(size_of_piece(sum(sizes)), np.uint8)
    block = DeviceScratch(device.xp, memory)
    target = address(memory)
    sent: dict[str, DeviceList] = {}
    #: What is copied next: where from, where to, bytes.
    copied = begin = span = 0
    for (name, array), size in zip(arrays.items(), sizes, strict=True):
        sent[name] = DeviceList(target, array.size, array.dtype, block)
        if array.size:
            source: int = array.__array_interface__["data"][0]
            if source != copied + (target - begin):
                _copy(device, copied, begin, span, stream)
                copied, begin = source, target
            span = target + array.nbytes - begin
        target += size
    _copy(device, copied, begin, span, stream)
    return sent


def _copy(device: Device, source: int, target: int, nbytes: int, stream: Any) -> None:
    if nbytes == 0:
        return
    cuda: Any = getattr(device.xp, "cuda", None)
    if cuda is None:  # an emulated device: its memory is the host's
        ctypes.memmove(target, source, nbytes)
        return
    stream = stream or cuda.get_current_stream()
    with device.errors_named("copying to the device"):
        cuda.runtime.memcpyAsync(target, source, nbytes, _HOST_TO_DEVICE, stream.ptr)


def size_of_piece(nbytes: int) -> int:
    """Bytes to ask the pool for: one of a few sizes, so that pieces serve again."""
    step = 1 << max(nbytes.bit_length() - 1 - _STEPS, 9)
    return max(-(-nbytes // step), 1) * step
