"""Import of edge lists into an update log, and export of a graph as one.

Text: an edge a line, fields apart by white space, commas, semicolons or tabs; lines that begin with
``#``, ``%`` or ``//`` are comments, and a first line of names is a header. Which field is what:
``edge_list_form.py``. Matrix Market files are known by their name (``.mtx``).

Not here: how lines are parsed (``text_lines.py``), matrices (``matrix_market.py``), writing
(``export.py``); what a caller needs of them is offered here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ...gpu_core.errors import SettingsError, UpdateLogError
from ..log.log_writer import write_log_file
from ..parquet.footers import PARQUET_BEGINS
from ..text.line_blocks import first_lines, refuse_utf_16
from ..text.text_lines import parse_lines
from ..text.text_types import SAMPLE_LINES
from .edge_list_form import Reading, reading_of
from .export import export_edges, export_vertices
from .matrix_market import is_matrix_market, matrix_tables
from .text_blocks import blocks_of, without_comments

__all__ = [
    "TextEdges",
    "export_edges",
    "export_vertices",
    "import_edges",
    "is_matrix_market",
    "open_edge_list",
]

#: Rows that show how a file is read.
_SHOWN_ROWS = 3


@dataclass(frozen=True)
class TextEdges:
    """A text file of edges that is open: how it is read, its first rows, and all of them."""

    reading: Reading
    #: As the log will have them.
    first_rows: pa.Table
    #: Rows in the order of the lines; can be gone through once.
    tables: Iterator[pa.Table]


def import_edges(
    source: str,
    log_file: str,
    *,
    columns: Sequence[str | None] | None = None,
    on_open: Callable[[TextEdges], None] | None = None,
) -> int:
    """Write an edge list, or a matrix (``.mtx``), as a file of an update log.

    Parameters
    ----------
    source
        The file to read: a local path or any fsspec URL.
    log_file
        The file to write, likewise.
    columns
        As for `open_edge_list`; None for a matrix.
    on_open
        Called with how an edge list is read, before any row is written.

    Returns
    -------
    rows
        Rows that the file has; each inserts an edge, unless the list has a column ``op``.

    Raises
    ------
    UpdateLogError, SettingsError
        As of `open_edge_list`, or of `matrix_tables`.
    """
    if is_matrix_market(source):
        if columns is not None:
            msg = f"{source} is a matrix, which needs no columns; leave them out"
            raise SettingsError(msg)
        tables = matrix_tables(source)
    else:
        edges = open_edge_list(source, columns)
        if on_open is not None:
            on_open(edges)
        tables = edges.tables
    rows = 0

    def counted() -> Iterator[pa.Table]:
        nonlocal rows
        for table in tables:
            rows += table.num_rows
            yield table

    write_log_file(log_file, counted())
    return rows


def open_edge_list(path: str, columns: Sequence[str | None] | None = None) -> TextEdges:
    """Find out how an edge list in text form is read.

    Parameters
    ----------
    path
        A local path or any fsspec URL.
    columns
        What each field of a line is: ``src``, ``dst``, ``weight``, ``type``, ``ts``, ``op``, or
        None or ``_`` for what is not wanted. None takes the header's names, or looks at the fields.

    Returns
    -------
    edges
        Its tables have weights as float64, dates as timestamps, ids as integers or, where they are
        names, as strings, all else as integers.

    Raises
    ------
    UpdateLogError
        The file is missing or empty, or a line is not what the columns say; names file and line.
    SettingsError
        ``columns`` cannot be meant.
    """
    blocks = blocks_of(path)
    # Until a line is neither empty nor a comment.
    for number, block in blocks:
        if number == 1:
            _refuse_other_forms(path, block)
        content = without_comments(block)
        if content.strip():
            break
    else:
        msg = f"{path} holds no edge; give a file with an edge a line"
        raise UpdateLogError(msg)
    header = first_lines(content, 1)
    line = number + header.count(b"\n") - 1
    reading = reading_of(path, first_lines(content, SAMPLE_LINES), line, columns)
    if reading.has_header:
        content = b"\n" * header.count(b"\n") + content[len(header) :]

    def tables() -> Iterator[pa.Table]:
        yield parse_lines(content, number, reading.form)
        for first_line, block in blocks:
            yield parse_lines(without_comments(block), first_line, reading.form)

    shown = parse_lines(first_lines(content, _SHOWN_ROWS), number, reading.form)
    return TextEdges(reading, shown, tables())


def _refuse_other_forms(path: str, block: bytes) -> None:
    if block.startswith(PARQUET_BEGINS):
        msg = f"{path} is a Parquet file, which is a log as it is; give it to graphtide run"
        raise UpdateLogError(msg)
    if block.lstrip().startswith(b"{"):
        msg = f"{path} is JSON lines, which is a log as it is; give it to graphtide run"
        raise UpdateLogError(msg)
    refuse_utf_16(block, path)
