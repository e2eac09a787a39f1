"""Making the index of a text file, for which the file is read once.

JSON lines are parsed for it, as any line may have a column that the others do not have.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from zlib import crc32

import pyarrow as pa

from ...gpu_core.errors import UpdateLogError
from ..error_text import one_line
from ..file_systems import as_storage_errors, is_local
from ..log.file_errors import UnusableFileError
from ..log.paths.log_paths import LogPath
from .csv_columns import CsvColumns
from .json_columns import JsonColumns
from .line_blocks import line_blocks
from .text_index import BLOCK_BYTES, TextBlock, TextIndex
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
    """Make the index of an open file; arguments as of `TextLogFile`.

    Raises
    ------
    UnusableFileError
        It is no such file, or has no columns.
    """
    stamp = stamp_of(path)
    whole = {name for name, canonical in roles.items() if canonical in _WHOLE_COLUMNS}
    times = [name for name, canonical in roles.items() if canonical == "ts"]
    is_json = form == "json"
    columns = JsonColumns(whole) if is_json else CsvColumns(path.shown, whole, times)
    try:
        size = source.seek(0, 2)
        source.seek(0)
        blocks = _blocks(_unpacked(source, path), columns)
    except UpdateLogError as error:
        raise UnusableFileError(str(error)) from error
    except (OSError, EOFError, ValueError, pa.ArrowException) as error:
        msg = f"{path.shown} cannot be read: {one_line(error)}"
        is_of_system = isinstance(error, OSError) and error.errno is not None
        raise (UpdateLogError if is_of_system else UnusableFileError)(msg) from error
    names = columns.found()
    # With the name of the file, as they are shown.
    faults = tuple(
        (name, f"{path.shown}{': ' if name else ', '}{why}") for name, why in columns.faults.items()
    )
    if not names:
        msg = f"{path.shown} is empty; remove it, or write it again"
        raise UnusableFileError(faults[0][1] if faults else msg)
    digest = hashlib.sha256(json.dumps([asdict(block) for block in blocks]).encode()).hexdigest()
    return TextIndex(
        size, stamp, f"{size}-{digest}", sum(block.rows for block in blocks), tuple(names),
        columns.delimiter, blocks, columns.is_padded, faults,
    )  # fmt: skip


def _unpacked(source: Any, path: LogPath) -> Any:
    """What the text of an open file is read from."""
    codec = codec_of(path.path)
    refuse_misnamed(source, path.shown, codec)
    if codec is None:
        return source
    return pa.CompressedInputStream(pa.PythonFile(source, mode="r"), codec)


def _blocks(text: Any, columns: JsonColumns | CsvColumns) -> tuple[TextBlock, ...]:
    """Blocks of a text, whose columns are taken note of."""
    blocks: list[TextBlock] = []
    offset = row = 0
    for line, content in line_blocks(text, BLOCK_BYTES):
        rows = columns.add(content, line)
        blocks.append(TextBlock(len(blocks), row, rows, line, offset, len(content), crc32(content)))
        offset += len(content)
        row += rows
    return tuple(blocks)
