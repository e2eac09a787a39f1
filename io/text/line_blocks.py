"""Text in blocks of whole lines, and what may stand before the first one.

Not here: what is in a line (``text_lines.py``).
"""

import re
from collections.abc import Iterator
from typing import Any

from ..log.file_errors import UnusableFileError
from .line_spaces import is_blank

#: Text of 16 bits a letter begins so.
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
#: First line that says, to Excel, what is between fields.
_SEPARATOR_LINE = re.compile(rb'"?sep=[^\r\n]"?(?=\r?\n)', re.IGNORECASE)


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
