"""Shared-memory arrays through which a copy of the graph, or a result, reaches the client.

The graph worker moves the arrays of a checkpoint, or the columns of a result, into memory files
(`SharedArrays`). What travels by Dask is an `ArraysAddress`; the client opens the files and maps
them (`open_arrays`). So the machine holds them once, for as long as a process has them mapped. A
client that cannot open the files asks for the arrays.

Each array has a file of its own: the system lets one thread at a time write to a file, and most of
what a write takes is the making of its pages. Columns of results are so moved side by side. What is
larger is moved one by one, so that the memory of each is given back before the next one takes some.

Not here: when files are released (``pinned_reads.py``), and what a memory file is
(``memory_files.py``).
"""

import mmap
import os
import secrets
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .memory_files import close_all, new_memory_file, opened, write_all

#: Bytes of all arrays up to which these are moved side by side, and threads that do it: not those
#: of the host engine's kernels, which may have a batch to do.
_MOST_AT_ONCE = 1 << 28
_THREADS = 4


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
        Each is replaced by a read-only view of its file once it is there, also where an error ends
        this halfway.

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
        _run(moves, sum(array.nbytes for array in arrays.values()))
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


def _run(moves: Sequence[Callable[[], None]], nbytes: int) -> None:
    if nbytes > _MOST_AT_ONCE or len(moves) < 2:
        for move in moves:
            move()
        return
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="graphtide-share") as pool:
        for moved in [pool.submit(move) for move in moves]:
            moved.result()


def _move(
    arrays: dict[str, npt.NDArray[Any]], name: str, place: ArrayPlace, memory: mmap.mmap
) -> None:
    write_all(place.descriptor, np.ascontiguousarray(arrays[name]).view(np.uint8).data, 0)
    arrays[name] = _view(memory, place)


def _view(memory: mmap.mmap, place: ArrayPlace) -> npt.NDArray[Any]:
    view = np.frombuffer(memory, np.dtype(place.dtype), place.items)
    view.flags.writeable = False
    return view
