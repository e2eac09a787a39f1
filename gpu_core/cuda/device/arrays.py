"""Arrays of a device: memory for them, copies to the host and from it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .context import DeviceContext
from .host_copies import LEAST_BYTES, HostCopies

#: An array of the device: ``cupy.ndarray``.
Array = Any

#: Most bytes of a result that is copied to page-locked memory.
_MOST_LOCKED_BYTES = 8 << 20

#: Most bytes that the driver takes from pageable memory of the host at once, and copies later.
_MOST_TAKEN_BYTES = 64 << 10

#: Most bytes that come to the host through the page-locked memory of a thread.
_MOST_WORDS_BYTES = 4 << 10


class DeviceArrays(DeviceContext):
    """Memory and copies; a base of `device.Device`."""

    def __init__(self, ordinal: int) -> None:
        super().__init__(ordinal)
        self._host_copies = HostCopies(self.xp.cuda)

    def empty(self, count: int, dtype: npt.DTypeLike) -> Array:
        """Array of ``count`` items, undefined content, from CuPy's current allocator.

        Raises
        ------
        ArenaFullError
            The device has no such piece of memory left.
        """
        self._enter()
        try:
            return self.xp.empty(count, dtype)
        except Exception as error:
            self._raise_named("taking memory", error, count * np.dtype(dtype).itemsize)

    def to_device(self, array: npt.ArrayLike) -> Array:
        """Copy an array of the host to the device.

        CuPy's way, through page-locked memory with an event each time, takes 40 to 80 us, as long
        as a small search. Few bytes are therefore given to the driver as they are, which takes
        them before it returns: from pageable memory, so they are copied there first.
        """
        self._enter()
        array = np.asarray(array, order="C")
        if array.nbytes <= _MOST_TAKEN_BYTES:
            array = array.copy()
        with self.errors_named("copying to the device", asked=array.nbytes):
            if not 0 < array.nbytes <= _MOST_TAKEN_BYTES:
                return self.xp.asarray(array)
            copied = self.xp.empty(array.shape, array.dtype)
            # 1: host to device.
            self._runtime.memcpyAsync(
                copied.data.ptr, array.ctypes.data, array.nbytes, 1, self.stream
            )
            return copied

    def fill_bytes(self, address: int, size: int, value: int) -> None:
        """Give so many bytes at an address of the device the same value, after all work before."""
        self._enter()
        if size == 0:
            return
        try:
            self._runtime.memsetAsync(address, value, size, self.stream)
        except Exception as error:
            self._raise_named("setting memory", error)

    def to_host(self, array: Array) -> npt.NDArray[Any]:
        """Copy an array to the host, after all work before; leaves the caller's device current."""
        with self.current(), self.errors_named("copying to the host"):
            self._enter()
            if not array.flags.c_contiguous:
                return self.xp.asnumpy(array)
            if 0 < array.nbytes <= _MOST_WORDS_BYTES:
                return self.read_words(array)
            if array.nbytes < LEAST_BYTES:
                return self.xp.asnumpy(array)
            return self._host_copies.copy(array)

    def page_locked(self, count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Array of ``count`` zeros in page-locked memory of the host.

        Kernels write to it at the address that the host has for it (CUDA's unified addressing); the
        host sees it once it has waited for them.
        """
        self._enter()
        with self.errors_named("taking page-locked memory"):
            memory = self.xp.cuda.alloc_pinned_memory(count * np.dtype(dtype).itemsize)
        array = np.frombuffer(memory, dtype, count)
        array[:] = 0
        return array

    def to_locked_host(self, array: Array) -> npt.NDArray[Any]:
        """Copy a contiguous array of results to page-locked memory, after all work before.

        That memory is of CuPy's pool, and goes back there with the last reference to the array: so
        the next one is copied at the speed of the bus, to pages that are there. Arrays beyond 8 MiB
        are copied as by `to_host`: to lock as much for the first one takes long
        (``host_copies.py``).
        """
        if not 0 < array.nbytes <= _MOST_LOCKED_BYTES:
            return self.to_host(array)
        with self.current(), self.errors_named("copying to the host"):
            self._enter()
            memory = self.xp.cuda.alloc_pinned_memory(array.nbytes)
            self._copy_to(memory, array)
        return np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)

    def _copy_to(self, memory: Any, array: Array) -> None:
        """Copy an array to page-locked memory, after all work before, and wait for it."""
        stream = self.stream
        # 2: device to host.
        self._runtime.memcpyAsync(memory.ptr, array.data.ptr, array.nbytes, 2, stream)
        self._runtime.streamSynchronize(stream)

    def read_words(self, array: Array) -> npt.NDArray[Any]:
        """Copy a small contiguous array to the host, after all work before, by pinned memory."""
        thread = self._enter()
        size = array.nbytes
        try:
            if size > thread.pinned_bytes:
                thread.pinned_bytes = max(4096, 1 << (size - 1).bit_length())
                thread.pinned = self.xp.cuda.alloc_pinned_memory(thread.pinned_bytes)
            self._copy_to(thread.pinned, array)
        except Exception as error:
            self._raise_named("reading back", error)
        return np.frombuffer(thread.pinned, array.dtype, array.size).copy().reshape(array.shape)
