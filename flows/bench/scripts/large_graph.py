"""A graph of billions of entries on one GPU, of which every result is known.

    python -m graphtide.flows.bench.scripts.large_graph --vertices '2**26' --offsets 38
    python -m graphtide.flows.bench.scripts.large_graph --vertices '2**28' --offsets 60 --one-way

The graph is *circulant*: vertex ``u`` has edges to ``u + d`` and ``u - d`` (modulo the number of
vertices, a power of two) for each of some offsets ``d``, the first ten of which are 1 to 10. So all
vertices are alike: ranks are the same, every vertex is in as many triangles, and hops from one
source are those from another, moved along. Each result is compared with what it must be; one that
is wrong ends the script. ``--one-way``: directed edges to ``u + d`` alone, without a reverse
adjacency, in rows that are complete when they are inserted, and updates and searches only.

So numbers of more than 32 bits are tried, for which the machines of tests have no memory. Seconds
are of one call each, on the caller's clock, with the copies of its results and, if its kernels are
not in the cache yet, their compilation.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from graphtide.flows.bench.measuring.arm import Arm
from graphtide.gpu_core.errors import ArenaFullError, GraphtideError

from .measuring import NotedTable, number, parser, print_tables

Int64s = npt.NDArray[np.int64]

#: Offsets that make triangles.
_SMALL = 10
#: Rows of a part that is inserted at once, one way.
_ROWS = 1 << 22
_UPDATES = 1_000_000
#: Vertices at least.
_LEAST = 1 << 12


class Circulant:
    """The graph, and what is known of it."""

    def __init__(self, arm: Arm, vertices: int, offsets: int, *, one_way: bool) -> None:
        self.arm, self.vertices, self.one_way = arm, vertices, one_way
        self.random = np.random.default_rng(1)
        distant = self.random.choice(
            np.arange(1_000, vertices // 2 - 1), max(offsets - _SMALL, 0), replace=False
        )
        self.offsets: Int64s = np.concatenate(
            [np.arange(1, 1 + min(offsets, _SMALL)), np.sort(distant)]
        )
        both = self.offsets if one_way else np.concatenate([self.offsets, -self.offsets])
        #: From a vertex to each of its neighbors, increasing.
        self.steps: Int64s = np.sort(both % vertices)
        self.graph = arm.graph(ids="dense", directed=one_way, **self._settings())
        self.edges = vertices * len(self.offsets)

    def _settings(self) -> dict[str, Any]:
        if not self.one_way:
            return {}
        # No second image fits a device beside a graph that fills it.
        size = 6 * self.vertices * len(self.offsets) + (1 << 25)
        return {"reverse": False, "arena_bytes": size, "max_arena_bytes": size + (1 << 30)}

    def batch(self, op: int, src: Any, dst: Any) -> Any:
        """A batch of edges, which are arrays of the engine."""
        return self.arm.batch(op, src, dst, directed=self.one_way)

    def build(self) -> None:
        """Insert all edges."""
        for src, dst in self._parts_one_way() if self.one_way else self._parts():
            self.graph.apply(self.batch(1, src, dst))

    def _parts(self) -> Iterator[tuple[Any, Any]]:
        xp = self.arm.xp
        every = xp.arange(self.vertices, dtype=xp.int64)
        for step in self.offsets.tolist():
            yield self.narrow(every, every + step)

    def _parts_one_way(self) -> Iterator[tuple[Any, Any]]:
        xp, rows = self.arm.xp, min(_ROWS, self.vertices)
        steps = xp.tile(xp.asarray(self.steps), rows)
        for first in range(0, self.vertices, rows):
            src = xp.repeat(xp.arange(first, first + rows), len(self.steps))
            yield self.narrow(src, src + steps)

    def narrow(self, src: Any, dst: Any) -> tuple[Any, Any]:
        """Vertices modulo their number, of 32 bits on a device, as batches of dense ids have."""
        kind = self.arm.xp.int64 if self.arm.xp is np else self.arm.xp.uint32
        return src.astype(kind), (dst % self.vertices).astype(kind)

    def drawn(self, count: int) -> Int64s:
        """Vertices at random."""
        return self.random.integers(0, self.vertices, count)

    def are_edges(self, src: Int64s, dst: Int64s) -> npt.NDArray[np.bool_]:
        """Which pairs are edges."""
        return np.isin((dst - src) % self.vertices, self.steps)

    def new_edges(self, count: int) -> tuple[Int64s, Int64s, int]:
        """Edges that are not there, and how many of them are different."""
        src, dst = self.drawn(count), self.drawn(count)
        is_new = ~self.are_edges(src, dst) & (src != dst)
        src, dst = src[is_new], dst[is_new]
        low, high = (src, dst) if self.one_way else (np.minimum(src, dst), np.maximum(src, dst))
        return src, dst, np.unique(low * self.vertices + high).size

    @property
    def triangles(self) -> int:
        """Of each vertex."""
        differences = (self.steps[:, None] - self.steps) % self.vertices
        return int(np.isin(differences, self.steps).sum()) // 2


def updates_of(known: Circulant, repeats: int) -> tuple[list[float], list[float]]:
    """Milliseconds that a million new edges take, and their deletes; all are counted."""
    xp, graph = known.arm.xp, known.graph
    inserts, deletes = [], []
    for _ in range(1 + repeats):
        src, dst, distinct = known.new_edges(_UPDATES)
        pairs = known.narrow(xp.asarray(src), xp.asarray(dst))
        for op, kept in ((1, inserts), (-1, deletes)):
            batch = known.batch(op, *pairs)
            begin = time.perf_counter()
            report = graph.apply(batch)
            kept.append(1e3 * (time.perf_counter() - begin))
            found = report.edges_added if op > 0 else report.edges_removed
            _must(found == distinct and report.num_edges == known.edges + max(op, 0) * distinct)
    return inserts[1:], deletes[1:]


def _must(holds: object) -> None:
    if not holds:
        msg = "a result is not what it must be"
        raise GraphtideError(msg)


def queries(known: Circulant) -> Iterator[tuple[str, Callable[[], None]]]:
    """What any graph is asked."""
    graph, n = known.graph, known.vertices

    def neighbors() -> None:
        for vertex in (0, n - 1, *known.drawn(20).tolist()):
            _must(np.array_equal(graph.neighbors(vertex), np.sort((vertex + known.steps) % n)))
        _must((graph.out_degree() == len(known.steps)).all())

    def has_edges() -> None:
        src, dst = known.drawn(_UPDATES), known.drawn(_UPDATES)
        _must(np.array_equal(graph.has_edges(src, dst), known.are_edges(src, dst)))
        _must(graph.has_edges(src, (src + known.random.choice(known.steps, src.size)) % n).all())

    def hops() -> None:
        first, moved = graph.bfs(0).distance, graph.bfs(n - 5).distance
        _must(first[0] == 0 and np.array_equal(np.roll(first, n - 5), moved))
        # Each vertex but the source has a neighbor one hop nearer.
        some = known.drawn(100_000)
        some = some[some != 0]
        _must((first[(some[:, None] - known.steps) % n].min(axis=1) == first[some] - 1).all())

    yield from {"neighbors, degrees": neighbors, "has_edges": has_edges, "bfs": hops}.items()


def analytics(known: Circulant) -> Iterator[tuple[str, Callable[[], None]]]:
    """What an undirected graph is asked."""
    graph, n, degree = known.graph, known.vertices, len(known.steps)

    def alike(values: Any, expected: float, tolerance: float = 0.0) -> None:
        _must(np.abs(np.asarray(values) - expected).max() <= tolerance * abs(expected))

    def shortest_paths() -> None:
        _must(np.array_equal(graph.sssp(0).distance, graph.bfs(0).distance))

    def katz() -> None:
        values = graph.katz_centrality(alpha=1e-3).katz_centrality
        alike(values, float(values[0]), 1e-12)

    def clustering() -> None:
        alike(graph.clustering().clustering, 2 * known.triangles / (degree * (degree - 1)), 1e-14)

    def pairs() -> None:
        src, step = known.drawn(10_000), known.random.integers(1, 25, 10_000)
        shared = [np.isin((known.steps + each) % n, known.steps).sum() for each in range(25)]
        common = np.array(shared)[step]
        found = graph.jaccard_coefficient(np.stack([src, (src + step) % n], axis=1))
        _must(np.allclose(found.jaccard_coefficient, common / (2 * degree - common), rtol=1e-14))

    yield from {
        "pagerank": lambda: alike(graph.pagerank().pagerank, 1 / n, 1e-5),
        "katz_centrality": katz,
        "spmv": lambda: alike(graph.spmv(np.ones(n)).value, degree),
        "sssp": shortest_paths,
        "weakly_connected_components": lambda: alike(
            graph.weakly_connected_components().component, 0
        ),
        "core_number": lambda: alike(graph.core_number().core_number, degree),
        "triangles": lambda: alike(graph.triangles(), known.triangles),
        "clustering": clustering,
        "jaccard_coefficient": pairs,
    }.items()


def main() -> None:
    """Measure, and print the table."""
    options = parser(__doc__, with_csv=False)
    options.add_argument("--engine", default="auto", help="cuda, host or auto (default)")
    options.add_argument("--layout", default="runs", help="runs (default), chain or tree")
    options.add_argument("--vertices", type=number, default=1 << 26, help="a power of two")
    options.add_argument("--offsets", type=number, default=38, help="edges of a vertex")
    options.add_argument("--one-way", action="store_true", help="directed, updates and searches")
    asked = options.parse_args()
    if asked.vertices < _LEAST or asked.vertices & (asked.vertices - 1):
        options.error(f"--vertices: use a power of two, {_LEAST:,} or more")
    if not 0 < asked.offsets <= asked.vertices // 8 or asked.repeats < 1:
        options.error("use 1 repeat or more, and at most an eighth as many offsets as vertices")
    arm = Arm(asked.engine, asked.layout)
    known = Circulant(arm, asked.vertices, asked.offsets, one_way=asked.one_way)
    rows: list[list[str]] = []

    def timed(what: str, call: Callable[[], None]) -> None:
        begin = time.perf_counter()
        try:
            call()
            shown = f"{time.perf_counter() - begin:.2f}"
        except ArenaFullError as error:
            shown = str(error)
        rows.append([what, shown])

    begin = time.perf_counter()
    known.build()
    _must(known.graph.num_edges == known.edges)
    rows.append(["build", f"{time.perf_counter() - begin:.2f}"])
    inserts, deletes = updates_of(known, asked.repeats)
    for what, call in queries(known):
        timed(what, call)
    for what, call in () if asked.one_way else analytics(known):
        timed(what, call)
    size = known.graph.memory().graph_bytes / 1e9
    entries = known.vertices * len(known.steps)
    updates = ", ".join(
        f"{what} {statistics.median(each):.3f} ({min(each):.3f} to {max(each):.3f}) ms"
        for what, each in (("inserts", inserts), ("deletes", deletes))
    )
    title = f"{entries:,} entries, {known.edges:,} edges, {size:.1f} GB"
    note = f"A million new edges, and their deletes, medians of {len(inserts)}: {updates}."
    print(f"`python -m {__package__}.large_graph {' '.join(sys.argv[1:])}`")
    print_tables([NotedTable(title, ["call", "s"], rows, note)])


if __name__ == "__main__":
    main()
