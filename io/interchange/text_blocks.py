"""Text files of edges in blocks of whole lines: unpacked, without marks of spreadsheets.

Packed files (``.gz``, ``.bz2``, ``.xz``, ``.zst``) are known by their names. Lines that begin with
``#``, ``%`` or ``//`` are comments.

Not here: what is in a line (``io/text/text_lines.py``).
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import pyarrow as pa
from fsspec.core import OpenFile
from fsspec.utils import infer_compression

from ...gpu_core.errors import UpdateLogError
from ..error_text import one_line
from ..file_systems import as_storage_errors, file_system_of
from ..text.line_blocks import line_blocks, without_marks_of_excel

_BLOCK_BYTES = 1 << 24

_COMMENT = re.compile(rb"^[ \t]*(?:[#%]|//).*$", re.MULTILINE)


def without_comments(block: bytes) -> bytes:
    """Comment lines made empty, so that the count of lines stays."""
    if b"#" in block or b"%" in block or b"//" in block:
        return _COMMENT.sub(b"", block)
    return block


def blocks_of(path: str) -> Iterator[tuple[int, bytes]]:
    """Give a file in blocks of whole lines, each with the number of its first line, from 1."""
    try:
        with _opened(path) as file:
            for number, block in line_blocks(file, _BLOCK_BYTES):
                whole = without_marks_of_excel(block) if number == 1 else block
                yield number, whole if whole.endswith(b"\n") else whole + b"\n"
    except (OSError, EOFError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            advice = "check the path"
            if any(each in path for each in "*?["):
                advice = "give one file, as patterns are not expanded"
            msg = f"there is no file {path}; {advice}"
            raise UpdateLogError(msg) from None
        if isinstance(error, UpdateLogError):
            raise
        msg = f"{path} cannot be read: {one_line(error)}"
        raise UpdateLogError(msg) from error


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    """Open a file of bytes, unpacked where its name says that it is packed."""
    filesystem, place = file_system_of(path)
    with as_storage_errors(filesystem):
        if not path.lower().endswith(".zst"):
            with OpenFile(filesystem, place, compression=infer_compression(place)) as file:
                yield file
            return
        # fsspec needs another package for that.
        with (
            OpenFile(filesystem, place) as packed,
            pa.input_stream(packed, compression="zstd") as file,
        ):
            yield file
