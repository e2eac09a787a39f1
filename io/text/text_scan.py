"""Making the index of a text file, for which the file is read once.

JSON lines are parsed for it, as any line may have a column that the others do not have.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any
from zlib import crc32

import pyarrow as pa

from ...gpu_core.errors import UpdateLogError
from ..error_text import one_line
from ..file_systems import as_storage_errors, is_local
from ..log.file_errors import UnusableFileError
from ..log.log_paths import LogPath
from ..parquet.footers import PARQUET_BEGINS
from .csv_lines import csv_layout, without_header
from .json_lines import JsonColumns
from .line_blocks import line_blocks
from .line_form import Form
from .line_spaces import rows_of_lines
from .text_form import SAMPLE_LINES, type_of_fields
from .text_index import BLOCK_BYTES, TextBlock, TextIndex
from .text_lines import parse_lines, sift_lines
from .text_names import codec_of, refuse_misnamed

#: Canonical columns in which a number with a fraction has no meaning.
_WHOLE_COLUMNS = ("src", "dst", "type", "ts")


def stamp_of(path: LogPath) -> str:
    """Fingerprint that finds a change without reading the file; empty where there is none."""
    try:
        if is_local(path.filesystem):
            found = os.stat(path.path)
            return f"{found.st_size}-{found.st_mtime_ns}"
        with as_storage_errors(path.filesystem):
            return str(path.filesystem.ukey(path.path))
    except OSError:
        return ""


def scan_text(source: Any, path: LogPath, form: str, roles: Mapping[str, str]) -> TextIndex:
    """Make the index of a file."""
    stamp = stamp_of(path)
    blocks: list[TextBlock] = []
    names: list[tuple[str, str]] = []
    whole = {name for name, canonical in roles.items() if canonical in _WHOLE_COLUMNS}
    columns = JsonColumns(whole)
    faults: list[tuple[str, str]] = []
    delimiter, is_padded = "", True
    offset = row = 0
    try:
        size = source.seek(0, 2)
        source.seek(0)
        codec = codec_of(path.path)
        stream: Any = source
        refuse_misnamed(source, path.shown, codec)
        if codec is not None:
            stream = pa.CompressedInputStream(pa.PythonFile(source, mode="r"), codec)
        for line, content in line_blocks(stream, BLOCK_BYTES):
            if form == "json":
                rows = columns.add(content, line)
            else:
                if line == 1 and content.startswith(PARQUET_BEGINS):
                    msg = f"{path.shown} is a Parquet file; give it a name that ends in .parquet"
                    raise UpdateLogError(msg)
                if not names:
                    delimiter, is_padded, names = csv_layout(content, path.shown, whole)
                data = without_header(content) if line == 1 else content
                rows = rows_of_lines(data)
                names = [
                    (name, _later_type(data, names, index, delimiter))
                    if kind == "null" and roles.get(name) == "ts"
                    else (name, kind)
                    for index, (name, kind) in enumerate(names)
                ]
            blocks.append(
                TextBlock(len(blocks), row, rows, line, offset, len(content), crc32(content))
            )
            offset += len(content)
            row += rows
    except UpdateLogError as error:
        raise UnusableFileError(str(error)) from error
    except (OSError, EOFError, ValueError, pa.ArrowException) as error:
        msg = f"{path.shown} cannot be read: {one_line(error)}"
        is_of_system = isinstance(error, OSError) and error.errno is not None
        raise (UpdateLogError if is_of_system else UnusableFileError)(msg) from error
    if form == "json":
        names = columns.found()
        # With the name of the file, as they are shown.
        faults = [
            (name, f"{path.shown}{': ' if name else ', '}{why}")
            for name, why in columns.faults.items()
        ]
    if not names and faults:
        raise UnusableFileError(faults[0][1])
    if not names:
        msg = f"{path.shown} is empty; remove it, or write it again"
        raise UnusableFileError(msg)
    print_ = hashlib.sha256(json.dumps([asdict(block) for block in blocks]).encode()).hexdigest()
    return TextIndex(
        size, stamp, f"{size}-{print_}", row, tuple(names), delimiter, tuple(blocks), is_padded,
        tuple(faults),
    )  # fmt: skip


def _later_type(
    content: bytes, names: Sequence[tuple[str, str]], index: int, delimiter: str
) -> str:
    """Type of a column of times of which no line before has a value."""
    columns = [name if at == index else None for at, (name, _) in enumerate(names)]
    name = names[index][0]
    form = Form("", tuple(columns), delimiter, {name: pa.string()}, has_nulls=True)
    try:
        table = parse_lines(content, 1, form)
    except UpdateLogError:
        table, _ = sift_lines(content, 1, form)
    given = table[name].drop_null().slice(0, SAMPLE_LINES).to_pylist()
    return str(type_of_fields([text.strip() for text in given], is_whole=True))
