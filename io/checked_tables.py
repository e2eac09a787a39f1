"""Parquet files of numbers and texts with checksums, so that damage is detected.

The checksums are those of log files (``parquet/footer_checks.py``), and cover every byte. Beside
them in the file's metadata, `FACTS_KEY` has plain values that the writer keeps with the rows, as
JSON.

Files of an older graphtide have a digest of their rows instead, which is compared, or pyarrow's key
alone, and are taken as they are. Where anything else is there, or nothing, the footer was damaged.

Whole numbers are written by their differences, in as few bits as these have: to compress them
takes as long again, for a twentieth of the room. Floats that are hardly ever equal, as ranks, are
written byte by byte of all of them (``BYTE_STREAM_SPLIT``): a dictionary of them takes most of the
time of writing, and room. Those that repeat, as coefficients, have one. pyarrow, pandas and polars
read all of it.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .durable import new_file
from .error_text import one_line
from .parquet.arrow_paths import arrow_path
from .parquet.file_writer import write_file
from .parquet.footer_checks import DATA_KEY, FOOTER_KEY, FooterError, check_file

FACTS_KEY = b"graphtide.facts"
#: What pyarrow writes into each file.
_ARROW_KEY = b"ARROW:schema"
_KEYS = {_ARROW_KEY, FACTS_KEY, DATA_KEY.encode(), FOOTER_KEY.encode()}
#: Keys of files of older versions.
_DIGEST_KEY = b"graphtide.digest"
_DIGEST_KEYS = {_ARROW_KEY, FACTS_KEY, _DIGEST_KEY}

#: Values of a column that show whether they repeat.
_LOOKED_AT = 1 << 12


class DamagedTableError(ValueError):
    """A file cannot be read, or is not as it was written; the text says which, but not of what."""


def write_table(path: Path, table: pa.Table, facts: Mapping[str, Any]) -> None:
    """Write a table of numbers and texts with plain values beside it, whole or not at all."""
    text = json.dumps(facts, sort_keys=True)
    table = table.replace_schema_metadata({FACTS_KEY: text.encode()})
    with new_file(path) as temporary:
        write_file(temporary, table, **encodings(table))


def encodings(table: pa.Table) -> dict[str, Any]:
    """Arguments of ``pyarrow.parquet.ParquetWriter`` for a table; they follow from its values."""
    encoding = {}
    for name, kind in zip(table.schema.names, table.schema.types, strict=True):
        if pa.types.is_integer(kind):
            encoding[name] = "DELTA_BINARY_PACKED"
        elif pa.types.is_floating(kind) and not _repeats(table[name]):
            encoding[name] = "BYTE_STREAM_SPLIT"
    packed = {name for name, each in encoding.items() if each == "DELTA_BINARY_PACKED"}
    return {
        "compression": {name: "none" if name in packed else "zstd" for name in table.schema.names},
        "use_dictionary": [name for name in table.schema.names if name not in encoding],
        "column_encoding": encoding or None,
    }


def _repeats(column: pa.ChunkedArray) -> bool:
    """Whether most of some values, which stand at even distances, are there more than once."""
    step = -(-len(column) // _LOOKED_AT)
    some = column.take(pa.array(np.arange(0, len(column), step or 1)))
    return bool(2 * pc.count_distinct(some, mode="all").as_py() < len(some))


def read_table(path: Path) -> pa.Table:
    """Read a table, and check it; FileNotFoundError where it is missing.

    Raises
    ------
    DamagedTableError
        It cannot be read, or is not as it was written.
    """
    try:
        # Into memory of Arrow's own: its threads release it a moment after the call. If it were
        # Python's, and Python was ending, that would abort the process.
        with pa.OSFile(str(path)) as whole:
            content = whole.read_buffer()
        check_file(memoryview(content).cast("B"))
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            table, metadata = file.read(), file.metadata.metadata or {}
        is_whole = metadata.keys() in (_KEYS, {_ARROW_KEY})
        if metadata.keys() == _DIGEST_KEYS:
            is_whole = metadata[_DIGEST_KEY] == _digest(table, metadata[FACTS_KEY].decode())
    except (FileNotFoundError, MemoryError):
        raise
    except FooterError as error:
        raise DamagedTableError(str(error)) from error
    # Damage may make columns of any type and name.
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        msg = f"it cannot be read: {one_line(error)}"
        raise DamagedTableError(msg) from error
    if not is_whole:
        msg = "its rows, or its footer, are not as they were written"
        raise DamagedTableError(msg)
    return table


def fault_of(path: Path, read: Callable[[Path], object]) -> str:
    """Fault of a file, as reading it finds; empty where it is whole."""
    try:
        read(path)
    except DamagedTableError as error:
        return str(error)
    return ""


def read_facts(path: Path) -> dict[str, Any] | None:
    """Read what was written beside the rows; None where there is nothing, or it is damaged.

    One short read, so the file is not checked.
    """
    try:
        facts = json.loads((pq.read_metadata(arrow_path(path)).metadata or {})[FACTS_KEY])
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError):
        return None
    return facts if isinstance(facts, dict) else None


def _digest(table: pa.Table, facts: str) -> bytes:
    """Digest of rows and facts, as older versions wrote it."""
    digest = hashlib.blake2b(facts.encode(), digest_size=16)
    for name in table.column_names:
        column = table[name]
        digest.update(f"{name} {column.type} {len(column)} {column.null_count}".encode())
        if pa.types.is_string(column.type):
            digest.update(json.dumps(column.to_pylist()).encode())
            continue
        if column.null_count:
            digest.update(np.ascontiguousarray(pc.is_null(column).to_numpy()).data)
            column = pc.fill_null(column, 0)
        digest.update(np.ascontiguousarray(column.to_numpy()).data)
    return digest.hexdigest().encode()
