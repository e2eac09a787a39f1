"""Anonymous memory files: memory that processes of one machine and user share.

A file has no place in any file system. Others open it as ``/proc/<pid>/fd/<n>``, and it is gone
with the last process that has it open or mapped, however that ends.

Not here: what lies in a file (``ring.py``, ``shared_arrays.py``).
"""

import fcntl
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager


def new_memory_file(name: str, nbytes: int, descriptors: list[int]) -> mmap.mmap:
    """Make a memory file and map it; its number is added to ``descriptors`` at once.

    Raises
    ------
    OSError
        The system has no memory files, or refuses one of this size.
    """
    if not hasattr(os, "memfd_create"):
        msg = "this system has no memory files"
        raise OSError(msg)
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    descriptors.append(descriptor)
    os.ftruncate(descriptor, nbytes)
    # A process that reads a mapping of a file that has shrunk is killed.
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return mmap.mmap(descriptor, nbytes)


def shown_name(name: str) -> str:
    """Path of a memory file in ``/proc``."""
    return f"/memfd:{name} (deleted)"


@contextmanager
def opened(pid: int, descriptor: int, name: str, flags: int) -> Iterator[int]:
    """Open a memory file of a process, as ``flags`` of ``os.open`` say, until the block ends.

    Raises
    ------
    OSError
        It is not there, or that number stands for another file; no other file is opened.
    """
    path = f"/proc/{pid}/fd/{descriptor}"
    # Elsewhere these numbers may be those of any file. It is looked at before, so that no such file
    # is opened, and after, so that none is used.
    _check_name(path, name)
    own = os.open(path, flags | os.O_CLOEXEC)
    try:
        _check_name(f"/proc/self/fd/{own}", name)
        yield own
    finally:
        os.close(own)


def write_all(descriptor: int, data: bytes | memoryview, start: int) -> None:
    """Write all of ``data`` to a file, from byte ``start`` on."""
    # Not through a mapping: a full machine is an error here, and a signal there, and the first
    # write of a page costs half.
    view = memoryview(data)
    while view.nbytes:
        written = os.pwrite(descriptor, view, start)
        view, start = view[written:], start + written


def close_all(descriptors: list[int]) -> None:
    """Close files; mappings of them stay."""
    for descriptor in descriptors:
        os.close(descriptor)


def _check_name(path: str, name: str) -> None:
    if os.readlink(path) != shown_name(name):
        msg = f"{path} is not {shown_name(name)}"
        raise FileNotFoundError(msg)
