"""The footer of a Parquet file, read on its own, checked and parsed."""

import errno
import hashlib
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ...gpu_core.errors import UpdateLogError
from ..error_text import RESTORE, one_line
from ..log.file_errors import GoneFileError, UnusableFileError
from .footer_checks import TRAILER_BYTES, FooterError, check_footer

#: What a Parquet file begins with, and ends with.
PARQUET_BEGINS = b"PAR1"
#: Read at the end of a file, and ahead in one that is not local: most footers need one request.
TAIL_BYTES = 1 << 16


def read_footer(file: Any, shown: str) -> tuple[int, bytes]:
    """Size of an open file, and its footer without the trailer; refuses what is not Parquet."""
    try:
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL_BYTES))
        tail = file.read()
        footer_bytes = int.from_bytes(tail[-TRAILER_BYTES:-4], "little")
        if tail[-4:] == PARQUET_BEGINS and len(tail) < footer_bytes + TRAILER_BYTES <= size:
            file.seek(size - footer_bytes - TRAILER_BYTES)
            tail = file.read()
        file.seek(0)
        head = file.read(4)
    except OSError as error:
        if error.errno == errno.ENOENT:
            # Some file systems open without looking.
            msg = f"{shown} is gone from the log; {RESTORE}"
            raise GoneFileError(msg) from None
        msg = f"{shown} cannot be read: {one_line(error)}"
        raise UpdateLogError(msg) from error
    if size == 0:
        msg = f"{shown} is empty; remove it, or write it again"
        raise UnusableFileError(msg)
    if head != PARQUET_BEGINS:
        msg = (
            f"{shown} is not a Parquet file, and text is known by its name (.csv, .tsv, .jsonl, "
            f".ndjson, .json); move it out of the log, rename it, or make a log of an edge list "
            f"with graphtide import"
        )
        raise UnusableFileError(msg)
    if tail[-4:] != PARQUET_BEGINS or footer_bytes + TRAILER_BYTES + 4 > size:
        msg = (
            f"{shown} is cut short, or still being written; copy it again, and write files of a "
            f"log under a name ending in .tmp until they are whole"
        )
        raise UnusableFileError(msg)
    return size, tail[len(tail) - footer_bytes - TRAILER_BYTES : -TRAILER_BYTES]


def parse_footer(footer: bytes, shown: str) -> Any:
    """Metadata of a Parquet file, from its footer alone, which must have the checksum in it."""
    try:
        return _parsed(footer)
    except MemoryError:
        raise
    except pa.ArrowNotImplementedError as error:
        # Then it opens no file with such a column, whether that is needed or not.
        msg = (
            f"{shown} has a column of a type that Arrow does not read ({one_line(error)}); write "
            f"it as another one, such as Int64 of Polars for Int128, or leave it out"
        )
        raise UnusableFileError(msg) from error
    except (pa.ArrowException, OSError, ValueError, IndexError) as error:
        msg = f"{shown}: the Parquet footer is damaged ({one_line(error)}); copy the file again"
        raise UnusableFileError(msg) from error


@lru_cache(maxsize=16)
def _parsed(footer: bytes) -> Any:
    """Metadata of a footer; the batches of a file come one after the other."""
    check_footer(footer)
    length = len(footer).to_bytes(4, "little")
    metadata = pq.read_metadata(pa.BufferReader(PARQUET_BEGINS + footer + length + PARQUET_BEGINS))
    _check_names(metadata)
    return metadata


def _check_names(metadata: Any) -> None:
    """Compare the names of columns, which a footer holds once for each row group and once for all.

    A column of another name would not be missed where it may be absent, as ``op`` may.
    """
    metadata.schema.to_arrow_schema()
    for index in range(metadata.num_columns if metadata.num_row_groups else 0):
        of_group, of_all = metadata.row_group(0).column(index), metadata.schema.column(index)
        if of_group.path_in_schema != of_all.path:
            msg = f"it calls column {index} {of_all.path} and {of_group.path_in_schema}"
            raise FooterError(msg)


def fingerprint_of(size: int, footer: bytes) -> str:
    """Fingerprint of a file, by which a change is found: ``<size>-<SHA-256 of the footer>``."""
    return f"{size}-{hashlib.sha256(footer).hexdigest()}"
