"""References that are too slow to use and too simple to be wrong.

`ModelGraph` is the meaning of an update log: two dictionaries, changed row by row. What counts as
what is written down as the sentences of the contract, each as a search over the rows.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.errors import BatchError
from graphtide.gpu_core.records import RECORDS


class Row(NamedTuple):
    """One row of a log; ``dst`` None is a vertex row."""

    op: int
    src: int
    dst: int | None
    weight: float = 1.0
    type: int = 0
    ts: int = 0


class Edge(NamedTuple):
    """Properties of an edge of semantic records; the others keep some of them."""

    weight: float
    type: int
    first: int
    last: int


#: Properties that each kind of record keeps.
KEPT = {record.name: record.properties for record in RECORDS.values()}


class ModelGraph:
    """A graph as a set of vertices and a dictionary of edges."""

    def __init__(
        self,
        *,
        directed: bool = True,
        records: str = "simple",
        self_loops: str = "drop",
        create_vertices: bool = True,
        on_repeat: str = "last",
    ) -> None:
        self.directed = directed
        self.records = records
        self.self_loops = self_loops
        self.create_vertices = create_vertices
        self.on_repeat = on_repeat
        self.vertices: set[int] = set()
        self.edges: dict[tuple[int, int], Edge] = {}

    def _weight(self, row: Row, before: Edge | None) -> float:
        """Weight of an edge that a row inserts; ``before``: as it is, if it is there."""
        kind = np.float64 if self.records.endswith("64") else np.float32
        new = kind(1 if self.on_repeat == "count" else row.weight)
        if before is None or self.on_repeat == "last":
            return float(new)
        old = kind(before.weight)
        if self.on_repeat in ("sum", "count"):
            with np.errstate(over="ignore"):
                total = old + new
            limit = np.finfo(kind).max
            return float(np.clip(total, -limit, limit))
        choices = {"first": old, "min": min(old, new), "max": max(old, new)}
        return float(choices[self.on_repeat])

    def key(self, src: int, dst: int) -> tuple[int, int]:
        """The one name of an edge: undirected edges are folded."""
        return (src, dst) if self.directed else (min(src, dst), max(src, dst))

    def apply(self, rows: Sequence[Row]) -> dict[str, int]:
        """Apply rows one by one; return the counts of a `BatchReport`.

        On `BatchError` the graph is as before.
        """
        if self.self_loops == "reject" and any(map(is_loop, rows)):
            msg = "self loop"
            raise BatchError(msg)
        before_vertices, before_edges = set(self.vertices), dict(self.edges)
        self._replay(rows)
        if any(end not in self.vertices for edge in self.edges for end in edge):
            self.vertices, self.edges = before_vertices, before_edges
            msg = "end point is missing"
            raise BatchError(msg)

        # What is there after the vertex deletes of the batch: edges are classified against that.
        deleted = {row.src for row in rows if row.dst is None and row.op < 0}
        kept_vertices = before_vertices - deleted
        kept_edges = {edge for edge in before_edges if not deleted & set(edge)}
        fates = [
            self._fate(rows, at, before_vertices, kept_vertices, kept_edges)
            for at in range(len(rows))
        ]
        return {
            "rows": len(rows),
            **{fate: fates.count(fate) for fate in FATES},
            # What is deleted and made anew within a batch counts on both sides.
            "edges_added": len(self.edges.keys() - kept_edges),
            "edges_removed": len(before_edges) - len(kept_edges & self.edges.keys()),
            "vertices_created": len(self.vertices - kept_vertices),
            "vertices_removed": len(before_vertices - kept_vertices),
            "num_vertices": len(self.vertices),
            "num_edges": len(self.edges),
        }

    def _replay(self, rows: Iterable[Row]) -> None:
        for row in rows:
            if row.dst is None:
                if row.op > 0:
                    self.vertices.add(row.src)
                else:
                    self.vertices.discard(row.src)
                    self.edges = {e: value for e, value in self.edges.items() if row.src not in e}
            elif not (self.self_loops == "drop" and is_loop(row)):
                key = self.key(row.src, row.dst)
                if row.op < 0:
                    self.edges.pop(key, None)
                    continue
                if self.create_vertices:
                    self.vertices |= {row.src, row.dst}
                before = self.edges.get(key)
                first = row.ts if before is None else before.first
                self.edges[key] = Edge(self._weight(row, before), row.type, first, row.ts)

    def _fate(
        self,
        rows: Sequence[Row],
        at: int,
        before_vertices: set[int],
        kept_vertices: set[int],
        kept_edges: set[tuple[int, int]],
    ) -> str:
        row, later = rows[at], rows[at + 1 :]
        if row.dst is None:
            if any(other.dst is None and other.src == row.src for other in later):
                return "overridden"
            if row.op > 0:
                return "updated" if row.src in kept_vertices else "inserted"
            return "deleted" if row.src in before_vertices else "missing"
        if self.self_loops == "drop" and is_loop(row):
            return "dropped"
        ends, key = {row.src, row.dst}, self.key(row.src, row.dst)
        for other in later:
            if other.dst is None:
                if other.op < 0 and other.src in ends:
                    return "overridden"
            elif self.key(other.src, other.dst) == key:
                return "overridden"
        if row.op > 0:
            return "updated" if key in kept_edges else "inserted"
        return "deleted" if key in kept_edges else "missing"

    def canonical_edges(self) -> list[tuple[Any, ...]]:
        """``(src, dst, *kept properties)`` sorted by (src, dst)."""
        return [
            (*key, *(getattr(edge, name) for name in KEPT[self.records]))
            for key, edge in sorted(self.edges.items())
        ]


FATES = ("dropped", "overridden", "missing", "inserted", "updated", "deleted")


def is_loop(row: Row) -> bool:
    """Whether a row is about an edge from a vertex to itself; a vertex row is not."""
    return row.dst is not None and row.src == row.dst


def batch_arguments(rows: Sequence[Row]) -> dict[str, Any]:
    """Rows as the arguments of ``UpdateBatch.from_rows``; null destinations hold a stray number."""
    return {
        "op": np.array([row.op for row in rows], dtype=np.int8),
        "src": np.array([row.src for row in rows], dtype=np.int64),
        "dst": np.array([77 if row.dst is None else row.dst for row in rows], dtype=np.int64),
        "dst_valid": np.array([row.dst is not None for row in rows], dtype=np.bool_),
        "weight": np.array([row.weight for row in rows], dtype=np.float64),
        "type": np.array([row.type for row in rows], dtype=np.int64),
        "ts": np.array([row.ts for row in rows], dtype=np.int64),
    }


#: What a batch is told of the graph that it is for.
OF_BATCHES = ("directed", "records", "self_loops", "create_vertices", "on_repeat")


def batch_of(rows: list[Row], meaning: dict[str, Any], batch_id: int = -1) -> UpdateBatch:
    kind = {name: meaning[name] for name in OF_BATCHES if name in meaning}
    return UpdateBatch.from_rows(**batch_arguments(rows), **kind, batch_id=batch_id)


def listed_edges(batch: UpdateBatch, name: str) -> list[tuple[int, int]]:
    """Edges of the ``put`` or ``delete`` list, in its order."""
    rows, indptr, indices = (
        getattr(batch, f"{name}_{part}").tolist() for part in ("rows", "indptr", "indices")
    )
    return [
        (src, dst)
        for src, low, high in zip(rows, indptr[:-1], indptr[1:], strict=True)
        for dst in indices[low:high]
    ]


def apply_batch(graph: ModelGraph, batch: UpdateBatch) -> dict[str, int]:
    """Do to a `ModelGraph` what an engine does with the lists of a batch."""
    vertices, edges = set(graph.vertices), dict(graph.edges)
    counts = {"rows": batch.rows, "dropped": batch.dropped, "overridden": batch.overridden}
    counts |= dict.fromkeys(FATES[2:], 0)
    counts |= dict.fromkeys(("edges_added", "edges_removed"), 0)
    counts |= dict.fromkeys(("vertices_created", "vertices_removed"), 0)

    for vertex, is_row in zip(
        batch.delete_vertices.tolist(), batch.delete_vertex_rows, strict=True
    ):
        counts["deleted" if vertex in vertices else "missing"] += int(is_row)
        counts["vertices_removed"] += vertex in vertices
        vertices.discard(vertex)
        incident = [edge for edge in edges if vertex in edge]
        counts["edges_removed"] += len(incident)
        for edge in incident:
            del edges[edge]
    for vertex, is_row in zip(batch.put_vertices.tolist(), batch.put_vertex_rows, strict=True):
        counts["updated" if vertex in vertices else "inserted"] += int(is_row)
        counts["vertices_created"] += vertex not in vertices
        vertices.add(vertex)
    for edge in listed_edges(batch, "delete"):
        counts["deleted" if edge in edges else "missing"] += 1
        counts["edges_removed"] += edge in edges
        edges.pop(edge, None)

    def property_of(name: str, i: int, default: float) -> Any:
        column = getattr(batch, name)
        return default if column is None else column[i].item()

    for i, edge in enumerate(listed_edges(batch, "put")):
        if not graph.create_vertices and not vertices.issuperset(edge):
            msg = "end point is missing"
            raise BatchError(msg)
        counts["updated" if edge in edges else "inserted"] += 1
        counts["edges_added"] += edge not in edges
        counts["vertices_created"] += len(set(edge) - vertices)
        vertices |= set(edge)
        first = property_of("put_first", i, 0)
        if edge in edges and not property_of("put_reset", i, False):
            first = edges[edge].first
        edges[edge] = Edge(
            property_of("put_weight", i, 1.0),
            property_of("put_type", i, 0),
            first,
            property_of("put_last", i, 0),
        )
    graph.vertices, graph.edges = vertices, edges
    return counts | {"num_vertices": len(vertices), "num_edges": len(edges)}


def chance_of(counts: Any, expected: Any = None) -> float:
    """How often chance alone is at least as far from what is expected, or from equal shares."""
    from scipy import stats  # not above: most processes that collect tests need none of it

    return stats.chisquare(counts, expected).pvalue
