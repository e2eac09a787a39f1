"""Text files in blocks of whole lines: unpacked, without marks, their comments made empty.

Comment lines, which begin with ``#``, ``%`` or ``//``, are made empty, so that lines keep their
numbers. Compressed files (``.gz``, ``.bz2``, ``.xz``, ``.zst``) are read as they are.

Not here: what is in a line (``text_lines.py``).
"""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import fsspec
import pyarrow as pa

from ...gpu_core.errors import UpdateLogError
from ..error_text import one_line
from ..file_systems import as_storage_errors, file_system_of
from ..log.file_errors import UnusableFileError
from .line_spaces import is_blank

_BLOCK_BYTES = 1 << 24

_COMMENT = re.compile(rb"^[ \t]*(?:[#%]|//).*$", re.MULTILINE)
#: Text of 16 bits a letter begins so.
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
#: First line by which Excel is told what is between fields.
_SEPARATOR_LINE = re.compile(rb'"?sep=[^\r\n]"?(?=\r?\n)', re.IGNORECASE)


def without_comments(block: bytes) -> bytes:
    """Comment lines made empty, so that the count of lines stays."""
    if b"#" in block or b"%" in block or b"//" in block:
        return _COMMENT.sub(b"", block)
    return block


def first_lines(content: bytes, count: int) -> bytes:
    """Give the beginning of some lines, up to ``count`` that are not empty."""
    end = 0
    while count and end < len(content):
        start, end = end, content.find(b"\n", end) + 1 or len(content)
        count -= not is_blank(content[start:end].rstrip(b"\n"))
    return content[:end]


def refuse_utf_16(content: bytes, shown: str) -> None:
    """Raise `UpdateLogError` where a file begins as spreadsheets write text in UTF-16."""
    if content.startswith(_UTF_16):
        msg = f"{shown} is text in UTF-16; save it as UTF-8"
        raise UnusableFileError(msg)


def without_mark(content: bytes) -> bytes:
    """The beginning of a file without a byte order mark."""
    return content.removeprefix(_BYTE_ORDER_MARK)


def without_marks_of_excel(content: bytes) -> bytes:
    """The beginning of a file without a byte order mark, a first line ``sep=;`` made empty."""
    content = without_mark(content)
    line = _SEPARATOR_LINE.match(content)
    return content[line.end() :] if line else content


def line_blocks(file: Any, nbytes: int) -> Iterator[tuple[int, bytes]]:
    """Give an open file in blocks of whole lines, each with the number of its first line, from 1.

    The last line may lack its end, and is in the block of those before it.
    """
    number, block = 1, b""
    #: Of a line that has not ended yet.
    rest: list[bytes] = []
    while read := file.read(nbytes):
        cut = read.rfind(b"\n") + 1
        if not cut:
            rest.append(read)
            continue
        if block:
            yield number, block
            number += block.count(b"\n")
        block, rest = b"".join([*rest, read[:cut]]), [read[cut:]]
    block += b"".join(rest)
    if block:
        yield number, block


def blocks_of(path: str) -> Iterator[tuple[int, bytes]]:
    """Give a file in blocks of whole lines, each with the number of its first line, from 1."""
    try:
        with _opened(path) as file:
            for number, block in line_blocks(file, _BLOCK_BYTES):
                whole = without_marks_of_excel(block) if number == 1 else block
                yield number, whole if whole.endswith(b"\n") else whole + b"\n"
    except (OSError, EOFError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOENT:
            msg = f"there is no file {path}; check the path"
            raise UpdateLogError(msg) from None
        if isinstance(error, UpdateLogError):
            raise
        msg = f"{path} cannot be read: {one_line(error)}"
        raise UpdateLogError(msg) from error


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    """Open a file of bytes, unpacked where its name says that it is packed."""
    with as_storage_errors(file_system_of(path)[0]):
        if not path.endswith(".zst"):
            with fsspec.open(path, "rb", compression="infer") as file:
                yield file
            return
        # fsspec needs another package for that.
        with fsspec.open(path, "rb") as packed, pa.input_stream(packed, compression="zstd") as file:
            yield file
