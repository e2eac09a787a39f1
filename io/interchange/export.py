"""Export of a graph as files: edges and vertices in canonical order, with users' ids.

The ending of the file's name says the form:

=============  ================================================================================
``.parquet``   columns ``src``, ``dst`` and the properties
``.csv``       the same, with a header
``.tsv``       the same, apart by tabs
``.txt``       the same, apart by spaces; the names stand in a comment line
``.mtx``       Matrix Market: ids are row and column numbers, so they start at 1; of the
               properties the weight alone. Edges only
``.graphml``   GraphML: vertices and edges, both with their properties
=============  ================================================================================

An edge of an undirected graph stands once, with ``src <= dst``; in ``.mtx`` as an entry of the
lower triangle, as the format wants symmetric matrices. Times are timestamps where the graph's are,
in text as ISO 8601, those with a zone in UTC; else integers. Ids that are names are in quotes in
text. All but Parquet, which is compressed by itself, may be packed: ``.csv.gz``, likewise ``.zst``
and ``.bz2``.

A file may be at any address that fsspec can write to, such as ``s3://bucket/edges.parquet``.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

from ...gpu_core.errors import SettingsError
from ...gpu_core.face.graph_reader import GraphReader
from ..arrow_types import is_text
from ..file_systems import check_new_file_at, new_file_at
from ..given_paths import path_text
from ..parquet.encodings import fast_encodings
from ..parquet.file_writer import write_file
from ..text.text_names import codec_of
from .edge_table import edge_table, table_of
from .given_graph import check_graph
from .graphml import write_graphml

EDGE_ENDINGS = (".parquet", ".csv", ".tsv", ".txt", ".mtx", ".graphml")
VERTEX_ENDINGS = (".parquet", ".csv", ".tsv", ".txt")

_ID_COLUMNS = ("src", "dst", "vertex")

#: Rows turned into text at a time.
_PIECE_ROWS = 1 << 20


def export_edges(graph: GraphReader, path: str | Path) -> int:
    """Write the edges of a graph, sorted by (src, dst), with their properties, to a file.

    Parameters
    ----------
    graph
        The graph, or an epoch.
    path
        The ending of its name decides the format: ``.parquet``, ``.csv``, ``.tsv``, ``.txt``,
        ``.mtx`` (Matrix Market) or ``.graphml``; all but Parquet packed as well, as ``.csv.gz``,
        ``.csv.zst`` or ``.csv.bz2``.

    Returns
    -------
    int
        Number of edges; an undirected edge counts once.

    Raises
    ------
    SettingsError
        ``graph`` is none, the ending is unknown, the format cannot hold the graph, or the file
        cannot be written.
    """
    check_graph(graph)
    path = path_text("path", path)
    ending = ending_of(path, EDGE_ENDINGS)
    check_new_file_at(path, SettingsError)
    with graph.lock:  # all as of one moment
        edges = graph.edges()
        vertices = _vertex_columns(graph) if ending == ".graphml" else {}
    with new_file_at(path, SettingsError) as temporary:
        if ending == ".mtx":
            columns = {"src": edges.src, "dst": edges.dst, **edges.properties}
            with _text_file(temporary, path) as file:
                _write_matrix(file, columns, path, directed=graph.directed)
        elif ending == ".graphml":
            table = _with_iso_times(edge_table(edges))
            with _text_file(temporary, path) as file:
                write_graphml(file, table_of(vertices), table, directed=graph.directed)
        else:
            _write_table(temporary, path, edge_table(edges))
    return len(edges)


def export_vertices(graph: GraphReader, path: str) -> int:
    """Write the vertices of a graph, sorted, and their properties; gives their number.

    As for edges, but no matrix.
    """
    ending_of(path, VERTEX_ENDINGS)
    return export_columns(_vertex_columns(graph), path)


def _vertex_columns(graph: GraphReader) -> Mapping[str, npt.NDArray[Any]]:
    """Ids of all vertices, and their properties."""
    if not graph.vertex_properties:
        return {"vertex": graph.vertices()}
    columns: Mapping[str, npt.NDArray[Any]] = graph.vertex_values().columns
    return columns


def export_columns(columns: Mapping[str, npt.NDArray[Any]], path: str) -> int:
    """Write columns, such as those of a result, as files of vertices are; gives their rows."""
    ending_of(path, VERTEX_ENDINGS)
    with new_file_at(path, SettingsError) as temporary:
        _write_table(temporary, path, table_of(columns))
    return next(iter(columns.values())).size


def ending_of(path: str, known: tuple[str, ...]) -> str:
    """`form_of` a file, which is refused if it is none of the known ones."""
    form = form_of(path)
    if form == ".parquet" and codec_of(path) is not None:
        msg = f"Parquet is compressed by itself; end the name of {path} in .parquet"
        raise SettingsError(msg)
    if form not in known:
        msg = f"the form of {path} is unknown; end its name in {', '.join(known)}"
        raise SettingsError(msg)
    return form


def form_of(path: str) -> str:
    """The ending of a file's name, in lower case, less that of a packer."""
    return Path(path if codec_of(path) is None else path.rpartition(".")[0]).suffix.lower()


@contextmanager
def _text_file(path: Path, name: str) -> Iterator[Any]:
    """A file for bytes, which are packed if its final ``name`` says so."""
    codec = codec_of(name)
    with path.open("wb") as file:
        if codec is None:
            yield file
        else:
            with pa.CompressedOutputStream(file, codec) as packed:
                yield packed


def _write_table(path: Path, name: str, table: pa.Table) -> None:
    ending = form_of(name)
    if ending == ".parquet":
        write_file(path, table, **fast_encodings(table.schema))
        return
    with _text_file(path, name) as file:
        if ending == ".txt":
            file.write(f"# {' '.join(table.column_names)}\n".encode())
        else:
            delimiter = "," if ending == ".csv" else "\t"
            file.write(f"{delimiter.join(table.column_names)}\n".encode())
        _write_rows(file, _with_iso_times(table), {".csv": ",", ".tsv": "\t", ".txt": " "}[ending])


def _with_iso_times(table: pa.Table) -> pa.Table:
    """Timestamps as ISO 8601, with a T, since a space may delimit fields; with a zone: in UTC.

    By NumPy: Arrow's years have 16 bits, and wrap around after 32767.
    """
    for position, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            zone: Literal["naive", "UTC"] = "naive" if field.type.tz is None else "UTC"
            counts = table[field.name].cast(pa.int64())
            times = counts.to_numpy().view(f"M8[{field.type.unit}]")
            pieces = (
                pa.array(np.datetime_as_string(times[at : at + _PIECE_ROWS], timezone=zone))
                for at in range(0, times.size, _PIECE_ROWS)
            )
            text = pa.chunked_array(pieces, pa.string())
            table = table.set_column(position, field.name, text)
    return table


def _write_matrix(
    file: Any, columns: dict[str, npt.NDArray[Any]], name: str, *, directed: bool
) -> None:
    src, dst = columns["src"], columns["dst"]
    if src.dtype == object:
        msg = f"{name}: ids of a matrix are numbers, but these are names; export .parquet"
        raise SettingsError(msg)
    lowest = min(src.min(), dst.min()) if src.size else 1
    if lowest < 1:
        msg = f"{name}: rows of a matrix start at 1, but there is vertex {lowest}; export .parquet"
        raise SettingsError(msg)
    size = int(max(src.max(), dst.max())) if src.size else 0
    has_weight = "weight" in columns
    kind = "real" if has_weight else "pattern"
    symmetry = "general" if directed else "symmetric"
    # The lower triangle of a symmetric matrix: the larger id is the row.
    entries = {"row": src, "column": dst} if directed else {"row": dst, "column": src}
    if has_weight:
        entries["weight"] = columns["weight"]
    file.write(f"%%MatrixMarket matrix coordinate {kind} {symmetry}\n".encode())
    file.write(f"{size} {size} {src.size}\n".encode())
    _write_rows(file, pa.table(entries), " ")


def _write_rows(file: Any, table: pa.Table, delimiter: str) -> None:
    # Names may hold what stands between fields.
    has_names = any(column.name in _ID_COLUMNS and is_text(column.type) for column in table.schema)
    options = csv.WriteOptions(
        include_header=False, batch_size=_PIECE_ROWS, delimiter=delimiter,
        quoting_style="needed" if has_names else "none",
    )  # fmt: skip
    csv.write_csv(table, file, options)
