"""Arguments of kernels as packed 8-byte words: for `device.Device.launch_packed`.

Kernels that every batch takes have no other arguments than addresses, integers of 8 bytes, and
structs that are aligned to 8 bytes. So pieces can be put one behind the other: what the image
contributes is packed once an image, what a batch contributes once a batch, and a launch joins them.
"""

import struct
from collections.abc import Callable
from typing import Any


def packer(*names: str) -> Callable[..., bytes]:
    """Make a function that packs integers, one for each of the names of what they are."""
    return struct.Struct(f"{len(names)}q").pack


class Piece:
    """Items on the device: of an array, no more than `address` asks for."""

    __slots__ = ("ptr", "size")

    def __init__(self, ptr: int, size: int) -> None:
        self.ptr, self.size = ptr, size

    @property
    def data(self) -> "Piece":
        """What says the address, as of an array."""
        return self


def address(array: Any) -> int:
    """Address of an array on the device; 0 for an empty one and for `None`."""
    if array is None or not array.size:
        return 0
    try:
        place: int = array.data.ptr
    except AttributeError:
        # What an emulated device has is NumPy's.
        place = array.ctypes.data
    return place
