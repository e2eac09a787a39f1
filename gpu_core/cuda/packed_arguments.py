"""Arguments of kernels as packed 8-byte words: for `device.Device.launch_packed`.

Kernels that every batch takes have no other arguments than addresses, integers of 8 bytes, and
structs that are aligned to 8 bytes. So pieces can be put one behind the other: what the image
contributes is packed once an image, what a batch contributes once a batch, and a launch joins them.
"""

import struct
from collections.abc import Callable
from typing import Any, NamedTuple


def packer(*names: str) -> Callable[..., bytes]:
    """Make a function that packs integers, one for each of the names of what they are."""
    return struct.Struct(f"{len(names)}q").pack


def pack(*values: float) -> bytes:
    """Pack integers as int64 and floats as float64."""
    return struct.pack("".join("d" if isinstance(v, float) else "q" for v in values), *values)


class Piece(NamedTuple):
    """Items on the device of which only kernels see the content."""

    #: Address of the first.
    place: int
    #: How many.
    size: int


def address(array: Any) -> int:
    """Address of an array or a `Piece` on the device; 0 for an empty one and for `None`."""
    if array is None or not array.size:
        return 0
    if array.__class__ is Piece:
        return array.place
    try:
        place: int = array.data.ptr
    except AttributeError:
        # Memory of the host is NumPy's, and so is what an emulated device has.
        place = array.ctypes.data
    return place
