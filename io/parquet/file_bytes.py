"""Bytes of an open file: mapped views of a local file, fetched ranges of any other.

Whatever is renamed over the file afterwards, these are the bytes of the one that was opened.

Not here: where rows and columns are in a file (``row_groups.py``).
"""

import io
import mmap
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
from fsspec.implementations.local import LocalFileOpener

#: Of Linux 5.14 and later: maps a range at once, not page by page as each is met.
_MADV_POPULATE_READ = 22

#: Bytes between two ranges that are rather read than asked for apart.
_GAP_BYTES = 1 << 18

#: The local file that this process has opened last: the next batch is often of it, too, and to map
#: it again takes as long as to check it.
_newest: "FileBytes | None" = None


def bytes_of(file: Any) -> "FileBytes":
    """Bytes of a file that fsspec has opened."""
    global _newest
    if not isinstance(file, LocalFileOpener):
        return FileBytes(file)
    # Other threads open other files meanwhile: what is returned is never read from the global.
    found = _newest
    if found is None or found.identity != identity_of(file.fileno()):
        found = _newest = FileBytes(file)
    return found


def identity_of(descriptor: int) -> tuple[int, ...]:
    """Tells a local file from others, and from itself once it is changed."""
    found = os.fstat(descriptor)
    times = found.st_mtime_ns, found.st_ctime_ns
    return found.st_dev, found.st_ino, found.st_size, *times


class FileBytes:
    """Bytes of an open file, which is not empty.

    Parameters
    ----------
    file
        A file that fsspec has opened for reading; it may be closed afterwards if it is local.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        #: `identity_of` a local file.
        self.identity: tuple[int, ...] | None = None
        self._mapping: mmap.mmap | None = None
        #: First byte -> bytes from there on, of a file that is not local.
        self._fetched: dict[int, bytes] = {}
        if isinstance(file, LocalFileOpener):
            descriptor = file.fileno()
            self.identity = identity_of(descriptor)
            self._mapping = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
            self.nbytes = len(self._mapping)
        else:
            self.nbytes = int(file.seek(0, 2))

    def range(self, start: int, nbytes: int) -> memoryview:
        """Bytes of the file from ``start`` on, fewer where it ends."""
        if self._mapping is not None:
            return memoryview(self._mapping)[start : start + nbytes]
        for begin, data in self._fetched.items():
            if begin <= start and start + nbytes <= begin + len(data):
                return memoryview(data)[start - begin : start - begin + nbytes]
        self._file.seek(start)
        self._fetched[start] = self._file.read(nbytes)
        return memoryview(self._fetched[start])

    def fetch(self, extents: Sequence[tuple[int, int]]) -> None:
        """Have these ranges, each a first byte and its bytes, of a file that is not local.

        Those that lie close together are one request.
        """
        joined: list[list[int]] = []
        for start, nbytes in sorted(extents):
            end = min(start + nbytes, self.nbytes)
            if joined and start <= joined[-1][1] + _GAP_BYTES:
                joined[-1][1] = max(joined[-1][1], end)
            else:
                joined.append([start, end])
        for start, end in joined:
            self.range(start, end - start)

    def will_need(self, start: int, nbytes: int) -> None:
        """Say that all of a range is about to be read: it is then mapped at once."""
        if self._mapping is not None:
            before = start % mmap.PAGESIZE
            with suppress(OSError):
                self._mapping.madvise(_MADV_POPULATE_READ, start - before, nbytes + before)

    def arrow_file(self) -> pa.NativeFile:
        """The file as Arrow reads it; one that is not local has the ranges that were fetched."""
        if self._mapping is not None:
            return pa.BufferReader(pa.py_buffer(self._mapping))
        return pa.PythonFile(_Fetched(self._fetched, self.nbytes), mode="r")


class _Fetched(io.RawIOBase):
    """A file of which some ranges are there; in between are zeros, which are not read.

    Arrow reads ranges that lie close together as one.
    """

    def __init__(self, ranges: dict[int, bytes], nbytes: int) -> None:
        super().__init__()
        self._ranges, self._nbytes, self._at = ranges, nbytes, 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a byte, counted from the beginning, from here or from the end."""
        self._at = offset + (0, self._at, self._nbytes)[whence]
        return self._at

    def tell(self) -> int:
        """Offset of the next byte that is read."""
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Read ``size`` bytes, or all that are left."""
        begin = self._at
        self._at = self._nbytes if size < 0 else min(begin + size, self._nbytes)
        found = bytearray(self._at - begin)
        for start, data in self._ranges.items():
            low, high = max(begin, start), min(self._at, start + len(data))
            if low < high:
                found[low - begin : high - begin] = memoryview(data)[low - start : high - start]
        return bytes(found)
