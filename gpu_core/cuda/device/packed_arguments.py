"""Arguments of kernels as packed 8-byte words: for `device.Device.launch_packed`.

Kernels that every batch takes have no other arguments than addresses, integers of 8 bytes, and
structs that are aligned to 8 bytes. So pieces can be put one after the other: what the image
contributes is packed once an image, what a batch contributes once a batch, and a launch joins them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np


def packer(*names: str) -> Callable[..., bytes]:
    """Make a function that packs integers, one for each of the names of what they are."""
    return struct.Struct(f"{len(names)}q").pack


def pack(*values: float) -> bytes:
    """Pack integers as int64 and floats as float64."""
    return _packer_of(*map(type, values))(*values)


@cache
def _packer_of(*types: type) -> Callable[..., bytes]:
    return struct.Struct("".join("d" if issubclass(each, float) else "q" for each in types)).pack


class Piece(NamedTuple):
    """Items on the device of which only kernels see the content."""

    #: Address of the first.
    address: int
    #: How many.
    size: int


class HasArrays(Protocol):
    """Memory of a device of which arrays are made; as `scratch.DeviceScratch`."""

    def array_at(self, address: int, count: int, dtype: Any) -> Any:
        """Array at an address."""


class DeviceList(NamedTuple):
    """Items of one type on the device, of which an array is made only if they are read."""

    #: Address of the first.
    address: int
    #: How many.
    size: int
    dtype: np.dtype[Any]
    #: What they are part of; it is held with them.
    memory: HasArrays

    def array(self) -> Any:
        """The items as an array of the device."""
        return self.memory.array_at(self.address, self.size, self.dtype)

    def part(self, first: int, size: int) -> DeviceList:
        """``size`` of the items."""
        return DeviceList(self.address + first * self.dtype.itemsize, size, self.dtype, self.memory)


def as_array(items: Any) -> Any:
    """An array, or a `DeviceList` as one."""
    return items.array() if items.__class__ is DeviceList else items


def address(array: Any) -> int:
    """Address of an array, a list or a `Piece` on the device; 0 for an empty one and for `None`."""
    if array is None or not array.size:
        return 0
    found: int
    if array.__class__ is DeviceList or array.__class__ is Piece:
        found = array.address
        return found
    try:
        found = array.data.ptr
    except AttributeError:
        # Memory of the host is NumPy's, and so is what an emulated device has.
        found = array.ctypes.data
    return found
