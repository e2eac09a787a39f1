"""GraphML: vertices and edges with properties, as XML that Gephi, yEd, igraph and networkx read.

Source: Brandes, Eiglsperger, Herman, Himsolt, Marshall, "GraphML Progress Report", 2001.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ...gpu_core.errors import SettingsError
from ...gpu_core.printable import printable
from ..log.schema import is_text

#: Characters with a meaning within quotes -> what stands for them; ``&`` first.
_ENTITIES = {
    "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;",
    "\t": "&#9;", "\n": "&#10;", "\r": "&#13;",
}  # fmt: skip
#: Characters that XML 1.0 has no form of.
_NO_XML = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x{fffe}\x{ffff}]"

#: Rows turned into text at a time.
_PIECE_ROWS = 1 << 18

_TYPES = {
    "float": "float", "double": "double", "bool": "boolean",
    **dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16"), "int"),
    **dict.fromkeys(("int64", "uint32", "uint64"), "long"),
}  # fmt: skip


def write_graphml(
    path: Path, vertices: pa.ChunkedArray, edges: pa.Table, *, directed: bool
) -> None:
    """Write a graph.

    Parameters
    ----------
    path
        The file.
    vertices
        Ids of all vertices.
    edges
        Columns ``src``, ``dst``, and properties: numbers, or text without marks of XML.
    directed
        Whether edges have a direction.

    Raises
    ------
    SettingsError
        A name has characters that XML has no form of.
    """
    names = edges.column_names[2:]
    vertices = _escaped(vertices)
    for position, end in enumerate(edges.column_names[:2]):
        edges = edges.set_column(position, end, _escaped(edges[end]))
    with path.open("w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        file.write('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
        for name in names:
            kind = _TYPES.get(str(edges.schema.field(name).type), "string")
            file.write(f'<key id="{name}" for="edge" attr.name="{name}" attr.type="{kind}"/>\n')
        file.write(f'<graph edgedefault="{"directed" if directed else "undirected"}">\n')
        nodes = pa.table({"id": vertices})
        for piece in nodes.to_batches(max_chunksize=_PIECE_ROWS):
            file.writelines(_lines(piece, ['<node id="', '"/>\n']))
        marks = ['<edge source="', '" target="', *(f'<data key="{name}">' for name in names)]
        # What stands between two values: the end of the one, the beginning of the next.
        ends = ["", '">', *("</data>" for _ in names)]
        between = [marks[0], marks[1]]
        between += [end + mark for end, mark in zip(ends[1:], marks[2:], strict=False)]
        for piece in edges.to_batches(max_chunksize=_PIECE_ROWS):
            file.writelines(_lines(piece, [*between, f"{ends[-1]}</edge>\n"]))
        file.write("</graph>\n</graphml>\n")


def _escaped(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """Ids without marks of XML, and without what a reader would make spaces of."""
    if not is_text(ids.type):
        return ids
    odd = pc.index(pc.match_substring_regex(ids, _NO_XML), pa.scalar(True)).as_py()
    if odd >= 0:
        msg = (
            f"{printable(ids[odd].as_py())} is a name with characters that XML has not; "
            f"export .parquet or .csv"
        )
        raise SettingsError(msg)
    for mark, entity in _ENTITIES.items():
        ids = pc.replace_substring(ids, mark, entity)
    return ids


def _lines(piece: pa.RecordBatch, marks: list[str]) -> list[str]:
    """A line for each row: its values, with ``marks`` before, between and after them."""
    parts: list[pa.Array | str] = []
    for mark, column in zip(marks, piece.columns, strict=False):
        parts += [mark, column.cast(pa.string())]
    return pc.binary_join_element_wise(*parts, marks[-1], "").to_pylist()
