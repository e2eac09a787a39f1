"""``graphtide bench sizes``: how times grow with the graph, from a million entries to a thousand.

Each line is a workload of another size, four times as large as the line before (with ``smaller``
they end earlier); the graph is undirected. *Insert* is of a hundredth of the entries, drawn as the
workload is where that is R-MAT, and uniformly else; with *clustering* exact coefficients are kept
up (`DynamicGraph.maintain`) and ready after it. The other columns are calls on the graph as it is
then.

What is checked in each line: the maintained counts, against a count of everything; hops, of which
no two neighbors differ by more than one, and each has a neighbor one nearer; components, which no
entry leaves, and of which that of the source has what the search has reached; the bound of ranks.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import numpy as np

from ...gpu_core.errors import GraphtideError
from .bench_options import BenchOptions
from .measuring import draws
from .measuring.arm import Arm, Bench, MeasuredRow
from .measuring.comparison import Calls
from .measuring.report import PrintedTable
from .measuring.selection import Selection
from .measuring.workloads import WORKLOADS, rmat_pairs, uniform_pairs, unpack

NAMES: Final = ("G3", "G4")
#: Binary logarithm of the entries of the smallest and of the largest graph, about, and of a step.
_SMALLEST, _LARGEST, _STEP = 20, 30, 2
_SHARE: Final = 0.01
#: Entries that are looked at in one piece.
_PIECE: Final = 1 << 26
_CLUSTERING: Final = "clustering"
_COLUMNS: Final = (
    "insert", "insert, clustering", "PageRank", "clustering", "hops", "components", "cores",
)  # fmt: skip


def bench_sizes(options: BenchOptions) -> None:
    """Measure workloads, by default `NAMES`, in all sizes, and print the table.

    Raises
    ------
    SettingsError
        A name is of no workload, or the sizes would vanish.
    GraphtideError
        A result is not what it must be.
    """
    selection = options.selection(NAMES)
    arm = selection.begin("bench sizes", Arm(options.engine))
    table = PrintedTable(["graph", "vertices", "entries"], list(_COLUMNS))
    for bench in _benches(arm, selection):
        row = _Sized(bench).measured()
        vertices = f"2^{bench.scale}"
        figures = (row.device(what) for what in _COLUMNS)
        table.row(bench.name, vertices, f"{bench.keys.size:,}", *figures)


def _benches(arm: Arm, selection: Selection) -> Iterator[Bench]:
    for name in selection.chosen:
        workload = WORKLOADS[name]
        # Entries a vertex; all sizes have about as many.
        degree = workload.keys(arm.xp, smaller=workload.scale - 12).size / (1 << 12)
        largest = _LARGEST - selection.smaller
        for bits in range(min(_SMALLEST, largest), largest + 1, _STEP):
            scale = round(bits - np.log2(degree))
            keys = workload.keys(arm.xp, smaller=workload.scale - scale)
            yield Bench(arm, name, keys, scale, selection.repeats)


class _Sized:
    """One workload of one size."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._xp = bench, bench.arm.xp
        self._graph = bench.arm.graph(directed=False, ids="dense")
        for src, dst in self._entries():
            once = src < dst
            self._graph.apply(bench.arm.batch(1, src[once], dst[once], directed=False))

    def measured(self) -> MeasuredRow:
        """Time everything, and check it."""
        bench, graph = self._bench, self._graph
        row = MeasuredRow()
        source = int(graph.vertices()[np.argmax(graph.degrees())])
        calls: Calls = {
            "PageRank": graph.pagerank,
            "clustering": graph.clustering,
            "hops": partial(graph.bfs, source),
            "components": graph.weakly_connected_components,
            "cores": graph.core_number,
        }
        for repeat in range(bench.repeats + 1):
            for what, call in calls.items():
                bench.timed(row, repeat, what, call)
            put, delete = self._batches(repeat)
            bench.timed(row, repeat, "insert", partial(graph.apply, put))
            graph.apply(delete)
            graph.maintain(_CLUSTERING)
            # The first batch after a count of all finds less memory at hand: it is not timed.
            self._clustered(put)
            self._clustered(delete)
            bench.timed(row, repeat, "insert, clustering", partial(self._clustered, put))
            graph.audit()
            graph.unmaintain(_CLUSTERING)
            graph.apply(delete)
        self._check(source)
        return row

    def _entries(self) -> Iterator[tuple[Any, Any]]:
        """Sources and targets, in pieces: as pairs they take twice the memory of the graph."""
        keys = self._bench.keys
        for low in range(0, keys.size, _PIECE):
            yield unpack(self._xp, keys[low : low + _PIECE])

    def _clustered(self, batch: Any) -> Any:
        self._graph.apply(batch)
        return self._graph.clustering()

    def _batches(self, repeat: int) -> tuple[Any, Any]:
        """A batch of new edges, and one that deletes them."""
        bench, xp = self._bench, self._xp
        draw = rmat_pairs if bench.name.startswith("G3") else uniform_pairs

        def once(size: int, random: Any) -> tuple[Any, Any]:
            src, dst = draw(xp, bench.scale, size, random)
            return xp.minimum(src, dst), xp.maximum(src, dst)

        count = max(int(_SHARE * bench.keys.size / 2), 1)
        is_known = partial(draws.is_key, xp, bench.keys)
        pairs = unpack(xp, draws.new_keys(xp, is_known, once, count, 1000 * (repeat + 1)))
        return tuple(bench.arm.batch(op, *pairs, directed=False) for op in (1, -1))

    def _check(self, source: int) -> None:
        graph, xp, bench = self._graph, self._xp, self._bench
        if 2 * graph.num_edges != bench.keys.size:
            self._refuse("edges")
        if not graph.pagerank().error_bound < 1e-5:
            self._refuse("ranks")
        hops = self._by_vertex(graph.bfs(source).distance)
        labels = self._by_vertex(graph.weakly_connected_components().component)
        is_reached = hops >= 0
        if not bool((is_reached == (labels == labels[source])).all()):
            self._refuse("components")
        has_nearer = hops <= 0
        for src, dst in self._entries():
            if not bool((labels[src] == labels[dst]).all()):
                self._refuse("components")
            if not bool((xp.abs(hops[src] - hops[dst]) <= 1).all()):
                self._refuse("hops")
            has_nearer[dst[hops[src] == hops[dst] - 1]] = True
        if not bool(has_nearer.all()):
            self._refuse("hops")

    def _by_vertex(self, values: Any) -> Any:
        """int64[2^scale] of ``xp``: values of vertices; -1 of those that are not in the graph."""
        found = np.full(1 << self._bench.scale, -1)
        found[self._graph.vertices()] = values
        return self._xp.asarray(found)

    def _refuse(self, what: str) -> None:
        msg = (
            f"{self._bench.name}, {self._bench.keys.size:,} entries: {what} are not what they must "
            "be; please report this"
        )
        raise GraphtideError(msg)
