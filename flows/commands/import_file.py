"""``graphtide import``: one more file of an update log, from an edge list or a matrix."""

from collections.abc import Iterator
from contextlib import suppress

import click
import pyarrow as pa
import pyarrow.parquet as pq

from ...gpu_core.errors import SettingsError
from ...gpu_core.printable import amount, counted
from ...io.durable import check_new_file
from ...io.file_systems import is_local_address
from ...io.interchange.edge_lists import TextEdges, import_edges
from ...io.interchange.matrix_market import banner_of, is_matrix_market
from ...io.log.paths.overlap import holds
from ...io.state.directory import StateDirectory
from ..printing.text import TIED, command, line
from .output_files import local_folder

#: What is between two fields, in words.
_APART = {" ": "white space", ",": "commas", ";": "semicolons", "\t": "tabs"}


def import_file(source: str, out: str, columns: str | None) -> None:
    """Write the edges of a file as one more file of a log."""
    folder = local_folder(out)
    target = folder / f"{_stem(source)}.parquet"
    if target.exists():
        msg = f"{target} exists; import into another folder, or remove it"
        raise SettingsError(msg)
    if StateDirectory(folder).exists():
        msg = f"{folder} is a state, where runs alone write; import into another folder"
        raise SettingsError(msg)
    if is_local_address(source) and holds(str(folder.resolve()), source):
        msg = f"{source} would be a file of the log {folder} as well; import into another folder"
        raise SettingsError(msg)
    names = None if columns is None else [name.strip() or None for name in columns.split(",")]
    check_new_file(target, SettingsError)
    was_there = folder.exists()

    def show(edges: TextEdges) -> None:
        for text in _reading_lines(source, edges):
            click.echo(text)

    try:
        if is_matrix_market(source) and names is None:
            for text in _matrix_lines(source):
                click.echo(text)
        rows = import_edges(source, str(target), columns=names, on_open=show)
    except BaseException:
        if not was_there:
            with suppress(OSError):
                folder.rmdir()
        raise
    with target.open("rb") as file:
        schema = pq.read_schema(file)
    found = schema.names
    what = counted(rows, "row" if "op" in found else "edge")
    click.echo(f"{what}, {amount(target.stat().st_size)}: {target}")
    kept = "semantic" if "ts" in found else "weighted" if "weight" in found else None
    records = f" --records {kept}" if kept else ""
    kind = schema.field("src").type
    ids = f" --ids {kind}" if kind in (pa.string(), pa.uint64()) else ""
    run = command("graphtide", "run", str(folder))
    click.echo(f"next: {run} --state STATE{records}{ids}")


def _reading_lines(source: str, edges: TextEdges) -> Iterator[str]:
    """Lines on how a text file is read, for a person to see whether it is meant so."""
    reading, rows = edges.reading, edges.first_rows
    names = "the first line names them" if reading.has_header else "no header"
    apart = _APART[reading.form.delimiter]
    yield line("file", f"{source}: fields separated by {apart}, {names}", wrap=False)
    types = (f"{column.name} {column.type}".replace(" ", TIED) for column in rows.schema)
    yield line("columns", ", ".join(types))
    for note in reading.notes:
        yield line("", note)
    cells = [[name, *map(str, rows[name].to_pylist())] for name in rows.column_names]
    widths = [max(map(len, column)) for column in cells]
    for number, row in enumerate(zip(*cells, strict=True)):
        text = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        yield line("" if number else "rows", text, wrap=False)


def _matrix_lines(source: str) -> Iterator[str]:
    """The same of a matrix."""
    kind, symmetry = banner_of(source)
    yield line(
        "file", f"{source}: a Matrix Market matrix, {kind}, {symmetry}; numbers of its rows are "
        f"src, of its columns dst"
    )  # fmt: skip
    if symmetry == "symmetric":
        yield line("", "each entry becomes an edge in both directions; --undirected makes it one")


def _stem(source: str) -> str:
    """Name of a file without its folder and its endings: ``karate`` of ``data/karate.txt.gz``."""
    return source.rstrip("/").rsplit("/", 1)[-1].split(".", 1)[0] or "edges"
