"""Edge lists as others keep them: into an update log, and out of a graph.

Text: an edge a line, fields apart by white space, or by commas; lines that begin with ``#`` or
``%`` are comments, and a first line of names is a header. Without one, two fields are ``src dst``,
three ``src dst weight``, four ``src dst weight ts`` (as KONECT has it); ``columns`` says otherwise.
Matrix Market files are known by their name (``.mtx``).

Not here: how lines are parsed (``text_lines.py``), matrices (``matrix_market.py``), writing
(``export.py``); what a caller needs of them is offered here.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

import pyarrow as pa

from ..gpu_core.errors import SettingsError, UpdateLogError
from .export import export_edges, export_vertices
from .matrix_market import is_matrix_market, matrix_tables, read_matrix_market
from .schema import CANONICAL
from .text_lines import Form, blocks_of, parse_lines, without_comments
from .update_log import write_log_file

__all__ = [
    "export_edges",
    "export_vertices",
    "import_edges",
    "is_matrix_market",
    "read_edge_list",
    "read_matrix_market",
]

#: Number of fields -> their names, where nothing else says it.
_COLUMNS_BY_COUNT = {count: ("src", "dst", "weight", "ts")[:count] for count in (2, 3, 4)}
#: A Parquet file begins so.
_PARQUET = b"PAR1"
_NUMBER = re.compile(rb"[-+]?(\d|\.\d|nan|inf)", re.IGNORECASE)


def read_edge_list(path: str, columns: Sequence[str | None] | None = None) -> pa.Table:
    """Read an edge list in text form.

    Parameters
    ----------
    path
        A local path or any fsspec URL.
    columns
        What each field of a line is: ``src``, ``dst``, ``weight``, ``type``, ``ts``, ``op``, or
        None for what is not wanted. None takes the header's names, or goes by their number.

    Returns
    -------
    table
        The columns, rows in the order of the lines; weights as float64, all else as integers.

    Raises
    ------
    UpdateLogError
        The file is missing or empty, or a line is not what the columns say; names file and line.
    """
    return pa.concat_tables(_edge_list_tables(path, columns))


def import_edges(
    source: str,
    log_file: str,
    *,
    columns: Sequence[str | None] | None = None,
    expand_symmetric: bool = True,
) -> int:
    """Write an edge list, or a matrix (``.mtx``), as a file of an update log.

    Returns
    -------
    rows
        Rows that the file has; each inserts an edge, unless the list has a column ``op``.
    """
    if is_matrix_market(source):
        if columns is not None:
            msg = f"{source} is a matrix, which needs no columns; leave them out"
            raise SettingsError(msg)
        tables = matrix_tables(source, expand_symmetric)
    else:
        tables = _edge_list_tables(source, columns)
    rows = 0

    def counted() -> Iterator[pa.Table]:
        nonlocal rows
        for table in tables:
            rows += table.num_rows
            yield table

    write_log_file(log_file, counted())
    return rows


def _edge_list_tables(path: str, columns: Sequence[str | None] | None) -> Iterator[pa.Table]:
    blocks = blocks_of(path)
    # Lines before the first that is neither empty nor a comment.
    before: list[tuple[int, bytes]] = []
    for number, block in blocks:
        content = without_comments(block)
        first = next((line for line in content.split(b"\n") if line.strip()), None)
        before.append((number, block))
        if first is not None:
            break
    else:
        msg = f"{path} holds no edge; give a file with an edge a line"
        raise UpdateLogError(msg)
    if before[0][1].startswith(_PARQUET):
        msg = f"{path} is a Parquet file, which is a log as it is; give it to graphtide run"
        raise UpdateLogError(msg)
    line = number + content[: content.index(first)].count(b"\n")
    form, has_header = _form_of(path, first, columns, line)
    found_header = False
    for number, block in chain(before[-1:], blocks):
        content = without_comments(block)
        if has_header and not found_header:
            content = content.replace(first, b"", 1)
            found_header = True
        yield parse_lines(content, number, form)


def _form_of(
    path: str, first: bytes, columns: Sequence[str | None] | None, line: int
) -> tuple[Form, bool]:
    """Tell from the first line how the others are to be read, and whether it is a header."""
    is_comma = b"," in first
    fields = [field.strip() for field in (first.split(b",") if is_comma else first.split())]
    has_header = not any(_NUMBER.match(field) for field in fields)
    chosen: tuple[str | None, ...]
    if columns is not None:
        chosen = tuple(columns)
    elif has_header:
        chosen = tuple(field.decode(errors="replace").strip('"') for field in fields)
    elif len(fields) in _COLUMNS_BY_COUNT:
        chosen = _COLUMNS_BY_COUNT[len(fields)]
    else:
        msg = (
            f"{path}, line {line} has {len(fields)} fields; say what they are, as in "
            f"--columns src,dst,weight, or write src dst [weight [ts]]"
        )
        raise UpdateLogError(msg)
    wanted = [name for name in chosen if name is not None]
    unknown = [name for name in wanted if name not in CANONICAL]
    if unknown:
        msg = (
            f"{path}: column {unknown[0]!r} is unknown; say with --columns what each field is, of "
            f"{', '.join(CANONICAL)}, with nothing between two commas where it is not wanted"
        )
        raise UpdateLogError(msg)
    twice = [name for name in wanted if wanted.count(name) > 1]
    if twice or "src" not in wanted or "dst" not in wanted:
        what = f"two columns {twice[0]}" if twice else "no src or no dst"
        msg = f"{path}: the columns {', '.join(wanted)} have {what}; name src and dst, each once"
        raise UpdateLogError(msg)
    if len(chosen) != len(fields):
        msg = (
            f"{path}, line {line} has {len(fields)} fields, but {len(chosen)} columns are named; "
            f"name a column for each field"
        )
        raise UpdateLogError(msg)
    return Form(path, chosen, is_comma), has_header
