"""Matrix Market files: a sparse matrix, read as the edges from its rows to its columns.

``coordinate`` alone; ``pattern``, ``real`` or ``integer``; ``general`` or ``symmetric``. Row and
column numbers, which start at 1, are the vertices' ids as they are.

Not here: writing them (``export.py``).

Source: Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats", NIST IR 5935, 1996.
"""

import io
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...gpu_core.errors import UpdateLogError
from ..text.line_form import Form
from ..text.text_lines import parse_lines
from .text_blocks import blocks_of, without_comments


def is_matrix_market(path: str) -> bool:
    """Whether a file is a Matrix Market file by its name."""
    return re.search(r"\.mtx(\.(gz|bz2|xz|zst))?$", path, re.IGNORECASE) is not None


def banner_of(path: str) -> tuple[str, str]:
    """Words of the first line: ``pattern``, ``real`` or ``integer``; ``general`` or ``symmetric``.

    Raises
    ------
    UpdateLogError
        The file is missing, or not such a matrix.
    """
    _, block = next(blocks_of(path), (1, b""))
    return _banner(path, block.partition(b"\n")[0])


def matrix_tables(path: str) -> Iterator[pa.Table]:
    """Read a sparse matrix in the Matrix Market exchange format: an edge from row to column.

    Parameters
    ----------
    path
        A local path or any fsspec URL.

    Yields
    ------
    table
        ``src``, ``dst`` int64 and, unless the matrix is a pattern, ``weight`` float64. Rows and
        columns without an entry are not in it. Each off-diagonal entry of a symmetric matrix is in
        both directions, as ``scipy.io.mmread`` gives it; the mirrored ones come last.

    Raises
    ------
    UpdateLogError
        The file is not such a matrix, or is cut short.
    """
    blocks = blocks_of(path)
    number, block = next(blocks, (1, b""))
    text = io.BytesIO(block)
    kind, symmetry = _banner(path, text.readline())
    line, size_line = 1, b"%"
    while size_line and (not size_line.strip() or size_line.lstrip().startswith(b"%")):
        size_line = text.readline()
        line += 1
    size = size_line.split()
    if len(size) != 3 or not all(field.isdigit() for field in size):
        msg = f"{path}, line {line} is not 'rows columns entries'; write the file again"
        raise UpdateLogError(msg)
    rows, columns, entries = (int(field) for field in size)
    if symmetry == "symmetric" and rows != columns:
        msg = (
            f"{path}, line {line}: a symmetric matrix of {rows} rows and {columns} columns is none"
        )
        raise UpdateLogError(msg)
    form = Form(path, ("src", "dst") if kind == "pattern" else ("src", "dst", "weight"))
    number, block = line + 1, text.read()
    seen = 0
    mirrored: list[pa.Table] = []
    yield form.schema.empty_table()
    for first_line, content in chain([(number, block)], blocks):
        table = parse_lines(without_comments(content), first_line, form)
        seen += table.num_rows
        _check_range(path, table, rows, columns, content, first_line)
        yield table
        if symmetry == "symmetric":
            mirrored.append(_mirrored(table))
    if seen != entries:
        msg = f"{path} announces {entries} entries but has {seen}; it is cut short, or was changed"
        raise UpdateLogError(msg)
    yield from mirrored


def _banner(path: str, line: bytes) -> tuple[str, str]:
    """Field and symmetry of a matrix from its first line."""
    words = line.decode(errors="replace").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        msg = f"{path} does not begin with %%MatrixMarket matrix …; it is no Matrix Market file"
        raise UpdateLogError(msg)
    form, kind, symmetry = words[2:]
    for value, allowed in (
        (form, ("coordinate",)),
        (kind, ("pattern", "real", "integer")),
        (symmetry, ("general", "symmetric")),
    ):
        if value not in allowed:
            msg = (
                f"{path}: a matrix that is {value} is not read; write it as {' or '.join(allowed)}"
            )
            raise UpdateLogError(msg)
    return kind, symmetry


def _check_range(
    path: str, table: pa.Table, rows: int, columns: int, content: bytes, first_line: int
) -> None:
    for name, last in (("src", rows), ("dst", columns)):
        ids = table[name]
        wrong = pc.or_(pc.less(ids, 1), pc.greater(ids, last))
        first = pc.index(wrong, True).as_py()
        if first >= 0:
            lines = without_comments(content).split(b"\n")
            line = [number for number, text in enumerate(lines, first_line) if text.strip()][first]
            what = "row" if name == "src" else "column"
            msg = (
                f"{path}, line {line}: {what} {ids[first].as_py()} lies outside 1 to {last}; "
                f"correct the line, or the size line"
            )
            raise UpdateLogError(msg)


def _mirrored(table: pa.Table) -> pa.Table:
    """Entries off the diagonal in the other direction."""
    table = table.filter(pc.not_equal(table["src"], table["dst"]))
    columns: dict[str, Any] = {name: table[name] for name in table.column_names}
    columns["src"], columns["dst"] = columns["dst"], columns["src"]
    return pa.table(columns)
