"""The text of one UUID, for those who compile nothing (`uuids.py` reads many at once)."""

import uuid
from typing import Final

from ..errors import BatchError

#: What a UUID is written with, but for the words in front of it.
_CHARACTERS: Final = frozenset(b"0123456789abcdefABCDEF-{}")


def is_uuid(text: str) -> bool:
    """Whether a text is one of a UUID, in any of its forms."""
    try:
        uuid_of(text.encode(errors="replace"))
    except BatchError:
        return False
    return True


def uuid_of(text: bytes) -> bytes:
    """Bytes of one UUID; `BatchError` where the text is none."""
    try:
        found = uuid.UUID(text.decode()).bytes
        # Python reads the digits as those of a number, which may have a sign, spaces and _ as well.
        if set(text.replace(b"urn:", b"").replace(b"uuid:", b"")) <= _CHARACTERS:
            return found
        raise ValueError
    except (ValueError, UnicodeDecodeError):
        msg = f"{text.decode(errors='replace')!r} is no UUID; use ids='string' for other names"
        raise BatchError(msg) from None
