"""A graph in dictionaries that takes the rows of a batch one by one: what ``study stress`` goes by.

It shares no code with the engines, and knows neither net effects nor memory: an insert enters an
edge, a delete takes it out, a vertex delete takes out all edges of the vertex, in the order of the
rows. Some microseconds a row; the graph may be as large as dictionaries may.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

#: Counts of a `BatchReport` that are compared.
COUNTS = (
    "rows", "dropped", "overridden", "missing", "inserted", "updated", "deleted", "edges_added",
    "edges_removed", "vertices_created", "vertices_removed", "num_vertices", "num_edges",
)  # fmt: skip


class LogRow(NamedTuple):
    """One row; ``dst`` None: it is about the vertex ``src``."""

    op: int
    src: int
    dst: int | None
    weight: float = 1.0
    type: int = 0
    ts: int = 0


class Edge(NamedTuple):
    """What the richest records keep of an edge; the others keep some of it."""

    weight: float
    type: int
    first: int
    last: int


Ends = tuple[int, int]


class RowByRow:
    """Vertices and edges; self loops are dropped, the last insert of an edge has its weight."""

    def __init__(self, *, directed: bool) -> None:
        self._directed = directed
        #: Source -> target -> edge, and target -> sources; an undirected edge stands once.
        self._out: dict[int, dict[int, Edge]] = {}
        self._into: dict[int, set[int]] = {}
        self._num_edges = 0

    # -- what there is -----------------------------------------------------------------------

    def vertices(self) -> list[int]:
        """All vertices, increasing."""
        return sorted(self._out)

    def edges(self) -> list[tuple[int, int, Edge]]:
        """Source, target and properties of each edge, in order of its ends."""
        return [
            (src, dst, edge)
            for src, edges in sorted(self._out.items())
            for dst, edge in sorted(edges.items())
        ]

    def degrees(self, *, inward: bool) -> list[int]:
        """Neighbors of each vertex, by `vertices`; of an undirected graph those of either end."""
        if not self._directed:
            return [len(self._out[v]) + len(self._into[v]) for v in self.vertices()]
        rows = self._into if inward else self._out
        return [len(rows[vertex]) for vertex in self.vertices()]

    def _ends(self, src: int, dst: int) -> Ends:
        return (src, dst) if self._directed else (min(src, dst), max(src, dst))

    # -- what changes it ---------------------------------------------------------------------

    def apply(self, rows: Sequence[LogRow]) -> Counter[str]:
        """Take the rows of a batch, and count what a `BatchReport` counts (`COUNTS`)."""
        counts = Counter({"rows": len(rows)})
        counts.update(self._fates(rows))
        edges: dict[Ends, bool] = {}
        vertices: dict[int, bool] = {}
        for row in rows:
            self._take(row, edges, vertices)
        for (src, dst), before in edges.items():
            now = dst in self._out.get(src, ())
            counts["edges_added"] += now > before
            counts["edges_removed"] += now < before
        for vertex, before in vertices.items():
            counts["vertices_created"] += (vertex in self._out) > before
            counts["vertices_removed"] += (vertex in self._out) < before
        counts.update(num_vertices=len(self._out), num_edges=self._num_edges)
        return counts

    def expire(self, before: int) -> int:
        """Take out the edges that were last inserted before a time; how many there were."""
        ends = [
            (src, dst)
            for src, edges in self._out.items()
            for dst, edge in edges.items()
            if edge.last < before
        ]
        for src, dst in ends:
            self._remove(src, dst)
        return len(ends)

    def _fates(self, rows: Sequence[LogRow]) -> Iterable[str]:
        """What becomes of each row, from the last to the first: later rows override earlier."""
        deleted = {row.src for row in rows if row.dst is None and row.op < 0}
        decided: set[int | Ends] = set()
        gone: set[int] = set()
        for op, src, dst, *_ in reversed(rows):
            if src == dst:
                yield "dropped"
                continue
            if dst is None:
                overridden = src in decided
                there = src in self._out and (op < 0 or src not in deleted)
                decided.add(src)
                if op < 0:
                    gone.add(src)
            else:
                key = self._ends(src, dst)
                overridden = key in decided or src in gone or dst in gone
                decided.add(key)
                there = key[1] in self._out.get(key[0], ()) and not deleted & {src, dst}
            if overridden:
                yield "overridden"
            elif op > 0:
                yield "updated" if there else "inserted"
            else:
                yield "deleted" if there else "missing"

    def _take(self, row: LogRow, edges: dict[Ends, bool], vertices: dict[int, bool]) -> None:
        """Take one row; what it may change is noted as it was before the first such row."""
        src, dst = row.src, row.dst
        if src == dst:
            return
        if dst is None:
            vertices.setdefault(src, src in self._out)
            if row.op > 0:
                self._create(src)
            elif src in self._out:
                ends = [(src, other) for other in self._out[src]]
                ends += [(other, src) for other in self._into[src]]
                for key in ends:
                    edges.setdefault(key, True)
                    self._remove(*key)
                del self._out[src], self._into[src]
            return
        src, dst = self._ends(src, dst)
        before = self._out.get(src, {}).get(dst)
        edges.setdefault((src, dst), before is not None)
        if row.op > 0:
            for end in (src, dst):
                vertices.setdefault(end, end in self._out)
                self._create(end)
            first = row.ts if before is None else before.first
            self._out[src][dst] = Edge(row.weight, row.type, first, row.ts)
            self._into[dst].add(src)
            self._num_edges += before is None
        elif before is not None:
            self._remove(src, dst)

    def _create(self, vertex: int) -> None:
        self._out.setdefault(vertex, {})
        self._into.setdefault(vertex, set())

    def _remove(self, src: int, dst: int) -> None:
        del self._out[src][dst]
        self._into[dst].remove(src)
        self._num_edges -= 1
