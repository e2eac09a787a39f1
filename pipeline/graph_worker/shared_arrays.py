"""Shared-memory arrays through which a copy of the graph, or a result, reaches the client.

The graph worker moves the arrays of a checkpoint, or the columns of a result, into one memory file
(`SharedArrays`). What travels by Dask is an `ArraysAddress`; the client opens the file and maps it
(`open_arrays`). So the machine holds them once, for as long as a process has them mapped. A client
that cannot open the file asks for the arrays.

Not here: when the file is let go (``actor.py``), and the files themselves (``memory_files.py``).
"""

import mmap
import os
import secrets
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...gpu_core.batch.packed_batch import padded
from .memory_files import close_all, new_memory_file, opened, write_all


@dataclass(frozen=True)
class ArrayExtent:
    """Extent of one array in its file."""

    #: As ``numpy.dtype`` takes it.
    dtype: str
    items: int
    #: Byte where it begins.
    start: int


@dataclass(frozen=True)
class ArraysAddress:
    """Address of arrays, for processes of the same machine and user."""

    pid: int
    #: Number of the memory file in that process.
    descriptor: int
    #: Random name of the memory file.
    name: str
    extents: dict[str, ArrayExtent]


class SharedArrays:
    """Arrays in a memory file of this process, which others can open as long as this is there.

    Parameters
    ----------
    arrays
        Moved one by one: each is replaced by a read-only view of the file, also where an error ends
        it halfway.

    Raises
    ------
    OSError
        The system has no memory files, or memory is short.
    """

    def __init__(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        extents, end = {}, 0
        for name, array in arrays.items():
            extents[name] = ArrayExtent(array.dtype.str, array.size, end)
            end += padded(array.nbytes)
        file_name = f"graphtide-arrays-{secrets.token_hex(8)}"
        descriptors: list[int] = []
        weakref.finalize(self, close_all, descriptors).atexit = False
        memory = new_memory_file(file_name, max(end, mmap.PAGESIZE), descriptors)
        for name, extent in extents.items():
            write_all(
                descriptors[0], np.ascontiguousarray(arrays[name]).view(np.uint8).data, extent.start
            )
            arrays[name] = _view(memory, extent)
        #: The arrays, as views.
        self.arrays = arrays
        self.address = ArraysAddress(os.getpid(), descriptors[0], file_name, extents)


def open_arrays(address: ArraysAddress) -> dict[str, npt.NDArray[Any]]:
    """Map the arrays of another process, read-only.

    Raises
    ------
    OSError
        They are on another machine or of another user, or gone.
    """
    with opened(address.pid, address.descriptor, address.name, os.O_RDONLY) as descriptor:
        memory = mmap.mmap(descriptor, 0, prot=mmap.PROT_READ)
    return {name: _view(memory, extent) for name, extent in address.extents.items()}


def _view(memory: mmap.mmap, extent: ArrayExtent) -> npt.NDArray[Any]:
    view = np.frombuffer(memory, np.dtype(extent.dtype), extent.items, extent.start)
    view.flags.writeable = False
    return view
