"""One CUDA device as the threads of a process meet it: which is current, errors, waiting.

The only file that imports CuPy, when a device is opened, so the package works without it.
"""

import importlib
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ...errors import EngineError
from .driver_errors import INSTALL, BrokenDeviceError, NamedErrors, translated
from .launches import empty_list


@dataclass
class ThreadState:
    """State of a thread that is kept between its calls."""

    #: Page-locked memory for what is read back.
    pinned: Any = None
    pinned_bytes: int = 0
    #: Launches by file, kernel, and types of the arguments or defines.
    prepared: dict[Any, Any] = field(default_factory=dict)
    #: The launches that were started last.
    launches: npt.NDArray[np.int64] = field(default_factory=empty_list)


class DeviceContext:
    """A device that is opened; a base of `device.Device`.

    Parameters
    ----------
    ordinal
        Its number among the devices that CUDA counts, from 0.
    """

    def __init__(self, ordinal: int) -> None:
        cupy = cupy_module()
        self.ordinal = ordinal
        #: The array module: CuPy.
        self.xp: ModuleType = cupy
        self._driver = cupy.cuda.driver
        self._runtime = cupy.cuda.runtime
        #: Why the device is of no more use, or None.
        self.broken: str | None = None
        self._thread = threading.local()
        with self.errors_named("opening the device"):
            properties = self._runtime.getDeviceProperties(ordinal)
        #: Name of the device.
        self.name: str = properties["name"].decode()
        #: Multiprocessors of the device.
        self.multiprocessors: int = properties["multiProcessorCount"]
        #: Whether launches of a list may overlap: since Hopper.
        self.overlaps = int(properties["major"] >= 9)
        #: Bytes of shared memory that a block may have.
        self.shared_bytes: int = properties["sharedMemPerBlockOptin"]
        #: Blocks of a launch that can wait for one another: those of a cluster, since Hopper.
        self.meeting_blocks = 8 if self.overlaps else 1
        #: Bytes of memory of the device.
        self.memory_bytes: int = properties["totalGlobalMem"]

    @property
    def stream(self) -> int:
        """The current stream, as the driver knows it."""
        handle: int = self.xp.cuda.get_current_stream().ptr
        return handle

    def synchronize(self) -> None:
        """Wait for all work of the current stream."""
        self._enter()
        try:
            self.xp.cuda.get_current_stream().synchronize()
        except Exception as error:
            self._raise_named("waiting for the device", error)

    def _enter(self) -> ThreadState:
        """State of this thread, whose current device this one is from now on."""
        if self.broken is not None:
            raise EngineError(self.broken)
        try:
            state = self._thread.state
        except AttributeError:
            with self.errors_named("opening the device"):
                self._runtime.setDevice(self.ordinal)
                self._runtime.free(0)
            state = self._thread.state = ThreadState()
        if self._runtime.getDevice() != self.ordinal:
            self._runtime.setDevice(self.ordinal)
        return state

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make this the thread's current device within the block."""
        before = self._runtime.getDevice()
        if before == self.ordinal:
            yield
            return
        self._runtime.setDevice(self.ordinal)
        try:
            yield
        finally:
            self._runtime.setDevice(before)

    def errors_named(self, doing: str, asked: int | None = None) -> AbstractContextManager[None]:
        """In here, errors of CUDA and CuPy become those of this package; `broken` keeps the worst.

        Parameters
        ----------
        doing
            What is done, for the message.
        asked
            Bytes that are asked for, if any are.
        """
        return NamedErrors(partial(self._raise_named, doing, asked=asked))

    def _raise_named(self, doing: str, error: Exception, asked: int | None = None) -> NoReturn:
        """Raise an error of CUDA or CuPy as one of this package; others unchanged."""
        named = translated(error, doing, asked, self._memory_text)
        if named is error:
            raise error
        if isinstance(named, BrokenDeviceError):
            self.broken = str(named)
        raise named from error

    def _memory_text(self) -> str:
        try:
            free, total = self._runtime.memGetInfo()
        except Exception:
            return "the device does not say how much is free"
        return f"{free:,} of {total:,} bytes of {self.name} are free"


def cupy_module() -> ModuleType:
    """CuPy; an `EngineError` says what to install."""
    try:
        return importlib.import_module("cupy")
    except ImportError as error:
        msg = f"a graph on a GPU needs CuPy, which cannot be imported ({error}); run {INSTALL}"
        raise EngineError(msg) from error
