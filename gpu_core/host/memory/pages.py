"""Zeroed memory for an image, on small system pages for small graphs.

A page of the operating system is allocated when it is first touched, and NumPy asks for huge ones,
of 2 MiB. These are faster to walk, but a graph of a few edges, which touches both ends of the area
of its image, took 4 MB that way. So the first and the last part of the area have small pages. That
costs little: those parts are read most only while the graph is small, and then the TLB holds their
pages.
"""

import mmap

import numpy as np
import numpy.typing as npt

UInt32s = npt.NDArray[np.uint32]

_WORD_BYTES = 4
_HUGE_BYTES = 2 << 20
#: Below that NumPy requests no huge pages.
_LEAST_BYTES = 2 * _HUGE_BYTES


def zeroed_words(words: int, area_words: int) -> UInt32s:
    """uint32[words], all 0; its first ``area_words`` are filled from both ends.

    Raises
    ------
    MemoryError
        There is not so much.
    """
    size = words * _WORD_BYTES
    if size < _LEAST_BYTES or not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return np.zeros(words, np.uint32)
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, ValueError) as error:
        msg = f"there are no {size:,} bytes of memory"
        raise MemoryError(msg) from error
    image = np.frombuffer(memory, np.uint32)
    # Huge pages begin at multiples of their size, and this memory may not.
    address = image.ctypes.data
    end = area_words * _WORD_BYTES
    _advise(memory, mmap.MADV_HUGEPAGE, 0, size)
    for first, last in ((0, _HUGE_BYTES), (end - 2 * _HUGE_BYTES, end + _HUGE_BYTES)):
        low = max((address + first) // _HUGE_BYTES * _HUGE_BYTES - address, 0)
        _advise(memory, mmap.MADV_NOHUGEPAGE, low, min(last, size))
    return image


def _advise(memory: mmap.mmap, advice: int, low: int, high: int) -> None:
    low, high = (position // mmap.PAGESIZE * mmap.PAGESIZE for position in (low, high))
    if high > low:
        try:
            memory.madvise(advice, low, high - low)
        except OSError:
            # A kernel without huge pages.
            return
