"""Estimate of what a log will need of arena and disk before it is applied: at most, and likely.

At most: if every row to come were a new edge of two new vertices. Likely: if the rows to come are
to the graph what those before them were. In a new state nothing is known of them, and each counts
as a new edge, `_EDGES_A_VERTEX` of them a vertex.
"""

from ...config.settings import GraphSettings
from ...gpu_core.image.need import likely_bytes, most_bytes, usable_bytes, used_bytes
from ...gpu_core.properties.kinds import table_bytes, value_bytes

#: Edges that each vertex has where nothing is known of a log.
_EDGES_A_VERTEX = 16

#: Bytes of a vertex in a checkpoint, and in a result: its id and a value.
_CHECKPOINT_VERTEX_BYTES = 13
RESULT_VERTEX_BYTES = 16

#: Vertices and edges of a graph.
Size = tuple[int, int]


class Need:
    """What a graph of some size needs, in the arena and on the disk.

    Parameters
    ----------
    settings
        Of the graph.
    """

    def __init__(self, settings: GraphSettings) -> None:
        self._kind = settings.kind()

    def arena(self, likely: Size, most: Size) -> tuple[int, int]:
        """Bytes in the arena, likely and at most; arguments are vertices and edges."""
        return likely_bytes(self._kind, *likely), most_bytes(self._kind, *most)

    def properties(self, vertices: int, edges: int) -> int:
        """Bytes of host memory that properties of the user's own take."""
        kind = self._kind
        return table_bytes(kind.properties, edges) + table_bytes(kind.vertex_properties, vertices)

    def checkpoint(self, vertices: int, edges: int) -> int:
        """Bytes of a checkpoint, before compression."""
        kind = self._kind
        entry = 4 + sum(int(dtype[-2:]) // 8 for dtype in kind.record.dtypes.values())
        entry += value_bytes(kind.properties)
        vertex = _CHECKPOINT_VERTEX_BYTES + value_bytes(kind.vertex_properties)
        return vertices * vertex + edges * entry

    def usable(self, limit_bytes: int) -> int:
        """Bytes that the graph can take of an arena of this limit."""
        return usable_bytes(self._kind, limit_bytes)

    def used(self, vertices: int, pages_used: int, page_bytes: int) -> int:
        """Bytes that a graph takes now."""
        return used_bytes(self._kind, vertices, pages_used, page_bytes)


def sizes_to_come(rows: int, rows_left: int, vertices: int, edges: int) -> tuple[Size, Size]:
    """``(vertices, edges)`` at the end of a log, likely and at most.

    Parameters
    ----------
    rows, rows_left
        Rows that the graph has, and rows to come.
    vertices, edges
        Of the graph now.
    """
    most = vertices + 2 * rows_left, edges + rows_left
    if rows:
        likely = vertices * (rows + rows_left) // rows, edges * (rows + rows_left) // rows
    else:
        likely = -(-rows_left // _EDGES_A_VERTEX), rows_left
    return (min(likely[0], most[0]), min(likely[1], most[1])), most
