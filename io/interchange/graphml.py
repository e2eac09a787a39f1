"""GraphML: vertices and edges with properties, as XML that Gephi, yEd, igraph and networkx read.

Source: Brandes, Eiglsperger, Herman, Himsolt, Marshall, "GraphML Progress Report", 2001.
"""

from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from ...gpu_core.errors import SettingsError
from ...gpu_core.printable import printable
from ..arrow_types import is_text

#: Characters with a meaning within quotes -> what stands for them; ``&`` first.
_ENTITIES = {
    "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;",
    "\t": "&#9;", "\n": "&#10;", "\r": "&#13;",
}  # fmt: skip
#: Characters that XML 1.0 has no form of.
_NO_XML = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x{fffe}\x{ffff}]"

#: Arrow's texts of floats that are not finite -> those that readers of GraphML parse, as Java does.
_NO_NUMBERS = {"nan": "NaN", "inf": "Infinity"}

#: Rows turned into text at a time.
_PIECE_ROWS = 1 << 18

_TYPES = {
    "float": "float", "double": "double", "bool": "boolean",
    **dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16"), "int"),
    **dict.fromkeys(("int64", "uint32", "uint64"), "long"),
}  # fmt: skip


def write_graphml(file: BinaryIO, vertices: pa.Table, edges: pa.Table, *, directed: bool) -> None:
    """Write a graph.

    Parameters
    ----------
    file
        Open for bytes.
    vertices
        Column ``vertex``, the ids of all vertices, and properties: numbers.
    edges
        Columns ``src``, ``dst``, and properties: numbers, or text without marks of XML.
    directed
        Whether edges have a direction.

    Raises
    ------
    SettingsError
        A name has characters that XML has no form of.
    """
    for text in _texts(vertices, edges, directed=directed):
        file.write(text.encode())


def _texts(vertices: pa.Table, edges: pa.Table, *, directed: bool) -> Iterator[str]:
    parts = (
        ("node", ("id",), vertices),
        ("edge", ("source", "target"), edges),
    )
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for element, ends, table in parts:
        yield "".join(_keys(element, table.schema, len(ends)))
    yield f'<graph edgedefault="{"directed" if directed else "undirected"}">\n'
    for element, ends, table in parts:
        marks = _marks(element, ends, table.column_names[len(ends) :])
        for position in range(len(ends)):
            column = _escaped(table.column(position))
            table = table.set_column(position, table.column_names[position], column)
        for piece in table.to_batches(max_chunksize=_PIECE_ROWS):
            yield "".join(_lines(piece, marks))
    yield "</graph>\n</graphml>\n"


def _keys(element: str, schema: pa.Schema, ends: int) -> list[str]:
    """Declarations of properties, of which a vertex and an edge may have one of the same name."""
    return [
        f'<key id="{element}_{field.name}" for="{element}" attr.name="{field.name}" '
        f'attr.type="{_TYPES.get(str(field.type), "string")}"/>\n'
        for field in list(schema)[ends:]
    ]


def _marks(element: str, ends: tuple[str, ...], names: list[str]) -> list[str]:
    """What stands before each value of a row, and behind the last."""
    marks = [f'<{element} {ends[0]}="', *(f'" {end}="' for end in ends[1:])]
    before = '">'
    for name in names:
        marks.append(f'{before}<data key="{element}_{name}">')
        before = "</data>"
    return [*marks, f"{before}</{element}>\n" if names else '"/>\n']


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
        texts = column.cast(pa.string())
        if pa.types.is_floating(column.type):
            for text, name in _NO_NUMBERS.items():
                texts = pc.replace_substring(texts, text, name)
        parts += [mark, texts]
    return pc.binary_join_element_wise(*parts, marks[-1], "").to_pylist()
