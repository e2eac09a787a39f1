"""UUIDs: 16 bytes in a graph, 36 characters for people (RFC 9562)."""

import numpy as np
import numpy.typing as npt

from .strings import Strings
from .uuid_text import uuid_of

#: Bytes of a UUID, and characters of its text.
SIZE, TEXT_SIZE = 16, 36

_DASHES = (8, 13, 18, 23)
_DIGITS = np.array([at for at in range(TEXT_SIZE) if at not in _DASHES])
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
#: Character -> its value; 255 where it is no digit.
_VALUES = np.full(256, 255, np.uint8)
_VALUES[_HEX] = _VALUES[np.frombuffer(b"0123456789ABCDEF", np.uint8)] = np.arange(16)


def fixed(data: npt.NDArray[np.uint8]) -> Strings:
    """UUIDs of their bytes, side by side."""
    return Strings(np.arange(0, data.size + 1, SIZE, dtype=np.int64), data)


def text_of_uuids(uuids: Strings) -> Strings:
    """Texts of UUIDs, as ``01234567-89ab-cdef-0123-456789abcdef``."""
    count = len(uuids)
    data = uuids.data[uuids.starts[0] : uuids.starts[-1]].reshape(count, SIZE)
    text = np.full((count, TEXT_SIZE), ord("-"), np.uint8)
    text[:, _DIGITS[0::2]] = _HEX[data >> 4]
    text[:, _DIGITS[1::2]] = _HEX[data & 15]
    starts = np.arange(0, text.size + 1, TEXT_SIZE, dtype=np.int64)
    return Strings(starts, text.reshape(-1))


def uuids_of_text(texts: Strings) -> Strings:
    """UUIDs of their texts; also in capitals, without dashes, in braces, or as a URN.

    Raises
    ------
    BatchError
        A text is none of a UUID; names the first.
    """
    lengths = np.diff(texts.starts)
    if (lengths == TEXT_SIZE).all():
        text = texts.data[texts.starts[0] : texts.starts[-1]].reshape(-1, TEXT_SIZE)
        digits: npt.NDArray[np.uint8] = _VALUES[text[:, _DIGITS]]
        if (text[:, _DASHES] == ord("-")).all() and not (digits == 255).any():
            return fixed((digits[:, 0::2] * np.uint8(16) + digits[:, 1::2]).reshape(-1))
    return fixed(np.frombuffer(b"".join(map(uuid_of, texts.tolist())), np.uint8))
