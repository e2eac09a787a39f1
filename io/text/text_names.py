"""What the name of a file says: which form of text it is, and how it is packed."""

import re
from typing import Any

from ...gpu_core.errors import UpdateLogError

#: Ends of the names of text files, less that of the packer -> format.
_FORMATS = {".csv": "csv", ".tsv": "csv", ".jsonl": "json", ".ndjson": "json", ".json": "json"}
#: Ends of names of packed files -> Arrow's name of the codec.
_PACKERS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
#: Arrow's name of a codec -> what all files begin with that are packed so.
_PACKED_BEGINS = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd", "bz2": b"BZh"}
_TEXT_FILE = re.compile(r"(\.\w+?)(\.gz|\.zst|\.bz2)?$", re.IGNORECASE)


def text_format(path: str) -> str | None:
    """``csv`` or ``json`` by the name of a file; None: it is no text."""
    match = _TEXT_FILE.search(path)
    return _FORMATS.get(match[1].lower()) if match else None


def codec_of(path: str) -> str | None:
    """Arrow's name of the codec of a packed file; None: it is not packed."""
    return next((codec for end, codec in _PACKERS.items() if path.lower().endswith(end)), None)


def refuse_misnamed(source: Any, shown: str, codec: str | None) -> None:
    """Refuse a file whose name says that it is packed, and it is not; or the other way round."""
    begins = bytes(source.read(8))
    source.seek(0)
    if codec is not None and begins and not begins.startswith(_PACKED_BEGINS[codec]):
        msg = (
            f"{shown} is not packed with {codec}, as its name says; give it the name of what it is"
        )
        raise UpdateLogError(msg)
    for end, packer in _PACKERS.items():
        # Text of any encoding may begin with the letters of bz2.
        if codec is None and packer != "bz2" and begins.startswith(_PACKED_BEGINS[packer]):
            msg = f"{shown} is packed with {packer}; give it a name that ends in {end}"
            raise UpdateLogError(msg)
