"""Copies of an image that do not change, which epochs read, and the memory that they take.

Only words that are in use are copied: header, vertex records and pages, those after these without
the unused space between them. Pages are counted down from ``Field.PAGE_END``, so a page keeps its
number, and nothing within it changes.
"""

import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import ArenaFullError, EpochClosedError
from ..rows import Array
from .fields import HEADER_WORDS, WORD_BYTES, Field, ImageTable
from .free_runs import COUNT_WORDS
from .image_graph import Arena, ImageGraph
from .view import ImageView, Int64s

T = TypeVar("T")

#: Words that ``Field.PAGE_END`` is a multiple of, as a warp reads 128 bytes at a time.
_ALIGNMENT = 32


class PinnedImage(ImageView):
    """A copy of the words in use of another image; nothing may be allocated in it.

    Parameters
    ----------
    source
        The image. Its header must be up to date.
    empty
        Makes uint32[words] of undefined content, where the copy is to lie.
    copy
        Copies words to others, both of one size; by default one after the other.
    """

    def __init__(
        self,
        source: ImageView,
        empty: Callable[[int], Array],
        copy: Callable[[Array, Array], None] = lambda target, words: target.__setitem__(..., words),
    ) -> None:
        self.xp = source.xp
        vertices, pages = source._used_words()
        sizes = vertices.stop, pages.stop - pages.start
        end = -(-sum(sizes) // _ALIGNMENT) * _ALIGNMENT
        self.image = empty(end)
        copy(self.image[: sizes[0]], source.image[vertices])
        copy(self.image[end - sizes[1] :], source.image[pages])
        self.header: Int64s = source.header.copy()
        self.header[Field.IMAGE_WORDS] = self.header[Field.PAGE_END] = end
        self.limit_bytes = end * WORD_BYTES

    def free_run_counts(self) -> Int64s:
        """int64[CLASSES]: free runs of each class."""
        counts = self.table(ImageTable.FREE_TREE)[:COUNT_WORDS]
        return np.asarray(counts if self.xp is np else self.xp.asnumpy(counts)).view(np.int64)

    def host_image(self) -> npt.NDArray[np.uint32]:
        """Copy of it in host memory, with its header."""
        image = self.image.copy() if self.xp is np else self.xp.asnumpy(self.image)
        image[:HEADER_WORDS] = self.header.view(np.uint32)
        return image


def pinned_bytes(source: ImageView) -> int:
    """Bytes that a `PinnedImage` of this one takes."""
    words = sum(part.stop - part.start for part in source._used_words())
    return -(-words // _ALIGNMENT) * _ALIGNMENT * WORD_BYTES


class Pins:
    """Memory that epochs of one graph hold: bytes, accounted for from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: Bytes held now.
        self.nbytes = 0

    def take(self, need_bytes: int, have_bytes: int, spare_bytes: int) -> None:
        """Enter a copy of ``need_bytes`` bytes, if so many are free, and others to spare.

        Raises
        ------
        ArenaFullError
            They are not.
        """
        with self._lock:
            if need_bytes + spare_bytes > have_bytes:
                spare = f" and {spare_bytes:,} to spare" if spare_bytes else ""
                msg = (
                    f"an epoch of this graph needs {need_bytes:,} bytes{spare} and "
                    f"{have_bytes:,} are free, beside {self.nbytes:,} that other epochs of it "
                    f"hold; close those that are no longer needed"
                )
                raise ArenaFullError(msg)
            self.nbytes += need_bytes

    def give_back(self, nbytes: int) -> None:
        """Leave out the bytes of a copy that is gone."""
        with self._lock:
            self.nbytes -= nbytes


class PinnedMemory:
    """Memory of one epoch: taken, filled with a copy, closed, given back.

    However the epoch ends, by these calls or by the garbage collector, its bytes are given back
    once.

    Parameters
    ----------
    pins, need_bytes, have_bytes, spare_bytes
        As of `Pins.take`.

    Raises
    ------
    ArenaFullError
        There is not enough memory.
    """

    def __init__(self, pins: Pins, need_bytes: int, have_bytes: int, spare_bytes: int) -> None:
        pins.take(need_bytes, have_bytes, spare_bytes)
        self.nbytes = need_bytes
        #: Whether the epoch may not be read any more.
        self.is_closed = False
        #: Gives the bytes back, at its first call.
        self.give_back = weakref.finalize(self, pins.give_back, need_bytes)

    def fill(self, make: Callable[[], T]) -> T:
        """Make what lies in the memory; if that fails, the bytes are given back."""
        try:
            return make()
        except BaseException:
            self.give_back()
            raise

    def check_open(self) -> None:
        """Raise `EpochClosedError` if the epoch is closed."""
        if self.is_closed:
            msg = "the epoch was closed; pin the graph again"
            raise EpochClosedError(msg)


class PinnedGraph(ImageGraph[Arena]):
    """What the pinned graphs of both engines share; its engine's reader is the next base class."""

    #: What the copy takes; set before the reader is made.
    _memory: PinnedMemory

    def check_whole(self) -> None:
        """Raise `EpochClosedError` if the copy is gone, `EngineError` if the device broke."""
        super().check_whole()
        self._memory.check_open()

    @property
    def is_closed(self) -> bool:
        """Whether the copy is gone."""
        return self._memory.is_closed

    @property
    def nbytes(self) -> int:
        """Bytes of the copy."""
        return self._memory.nbytes
