"""Shared-memory arrays through which a copy of the graph, or a result, reaches the client.

The graph worker moves the arrays of a checkpoint, or the columns of a result, into memory files
(`SharedArrays`). What travels by Dask is an `ArraysAddress`; the client opens the files and maps
them (`open_arrays`). So the machine holds them once, for as long as a process has them mapped. A
client that cannot open the files asks for the arrays.

Each array has a file of its own: the system lets one thread at a time write to a file, and most of
what a write takes is the making of its pages.

Not here: when files are let go (``actor.py``), and the files themselves (``memory_files.py``).
"""

import mmap
import os
import secrets
import weakref
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...gpu_core.jit.parallel import run_all
from .memory_files import close_all, new_memory_file, opened, write_all


@dataclass(frozen=True)
class ArrayPlace:
    """Where one array is."""

    #: As ``numpy.dtype`` takes it.
    dtype: str
    items: int
    #: Number of its memory file in the process that has it.
    descriptor: int


@dataclass(frozen=True)
class ArraysAddress:
    """Address of arrays, for processes of the same machine and user."""

    pid: int
    #: Random name of the memory files.
    name: str
    places: dict[str, ArrayPlace]


class SharedArrays:
    """Arrays in memory files of this process, which others can open as long as this is there.

    Parameters
    ----------
    arrays
        Moved side by side: each is replaced by a read-only view of its file once it is there, also
        where an error ends this halfway.

    Raises
    ------
    OSError
        The system has no memory files, or memory is short.
    """

    def __init__(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        file_name = f"graphtide-arrays-{secrets.token_hex(8)}"
        descriptors: list[int] = []
        weakref.finalize(self, close_all, descriptors).atexit = False
        places, moves = {}, []
        for name, array in arrays.items():
            memory = new_memory_file(file_name, max(array.nbytes, mmap.PAGESIZE), descriptors)
            places[name] = ArrayPlace(array.dtype.str, array.size, descriptors[-1])
            moves.append(partial(_move, arrays, name, places[name], memory))
        run_all(moves)
        #: The arrays, as views.
        self.arrays = arrays
        self.address = ArraysAddress(os.getpid(), file_name, places)


def open_arrays(address: ArraysAddress) -> dict[str, npt.NDArray[Any]]:
    """Map the arrays of another process, read-only.

    Raises
    ------
    OSError
        They are on another machine or of another user, or gone.
    """
    arrays = {}
    for name, place in address.places.items():
        with opened(address.pid, place.descriptor, address.name, os.O_RDONLY) as descriptor:
            arrays[name] = _view(mmap.mmap(descriptor, 0, prot=mmap.PROT_READ), place)
    return arrays


def _move(
    arrays: dict[str, npt.NDArray[Any]], name: str, place: ArrayPlace, memory: mmap.mmap
) -> None:
    write_all(place.descriptor, np.ascontiguousarray(arrays[name]).view(np.uint8).data, 0)
    arrays[name] = _view(memory, place)


def _view(memory: mmap.mmap, place: ArrayPlace) -> npt.NDArray[Any]:
    view = np.frombuffer(memory, np.dtype(place.dtype), place.items)
    view.flags.writeable = False
    return view
