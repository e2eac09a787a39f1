"""What an algorithm works with: the device, and scratch of its own."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

from ..device.device import Device
from .scratch import DeviceScratch


class Workspace(NamedTuple):
    """Device and scratch memory of an algorithm, beside the rows that it reads."""

    device: Device
    #: Reserves bytes for the length of a ``with`` block; `ArenaFullError` if they are not free.
    scratch: Callable[[int], AbstractContextManager[DeviceScratch]]
