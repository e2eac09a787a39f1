"""What a graph costs after a thousand batches, over a fresh graph of the same edges.

    python benchmarks/bench_ageing.py [--edges 8M] [--vertices 2**20] [--batches 1000]

Two graphs age, each by ``--batches`` batches of ``--share`` of the edges; half of the rows of a
batch delete edges that are there, half insert edges that are not, so the size stays. *uniform*
deletes edges drawn at random; *sliding window* deletes the oldest. By default each edge is replaced
about five times, and every row has been outgrown, left and shrunk many times over.

Then the aged graph and a fresh one, built of the same edges in one batch, take turns:

* *insert*, *delete*: ``DynamicGraph.apply`` on a converted batch of ``--share`` of the edges, fresh
  edges, the same ones for both graphs; deleting them brings the edges back;
* *scan*: read every entry of every adjacency once, in the order of vertices, on all threads.

The warm-up gives the fresh graph the room that its first batch needs, as the aged one has. Checked:
counts of every report, equal edges at the end (against NumPy's own list), and `verify`.
"""

import argparse
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from edge_source import Edges, EdgeSource
from measuring import Sample, Table, drive, number, parser, quartiles, seconds_of
from plain_loops import converted

from graphtide import DynamicGraph, UpdateBatch
from graphtide.gpu_core.host.compile import compiled
from graphtide.gpu_core.host.parallel import for_ranges
from graphtide.gpu_core.host.prefetch import FAR_AHEAD, prefetch_row
from graphtide.gpu_core.layouts import next_segment, open_adjacency, segment_base, strides

STREAMS = ("uniform", "sliding window")
WHATS = ("insert", "delete", "scan")


@compiled
def scan(low, high, image, shape):
    """Sum of the neighbours of vertices ``low … high - 1``."""
    total = np.uint64(0)
    for vertex in range(low, high):
        prefetch_row(image, shape, vertex + FAR_AHEAD)
        segment, degree, entries, pages = open_adjacency(image, shape, vertex)
        step, _ = strides(shape, entries)
        while degree > 0:
            base = segment_base(shape, segment, pages)
            for i in range(base, base + min(degree, entries) * step, step):
                total += np.uint64(image[i])
            degree -= entries
            if degree > 0:
                segment = next_segment(image, shape, segment)
    return total


class Ageing:
    """An aged graph and a fresh one of the same edges."""

    def __init__(self, stream: str, options: argparse.Namespace) -> None:
        self.stream = stream
        self._rows = max(1, round(options.edges * options.share))
        self._source = EdgeSource(options.vertices, seed=2)
        self._random = np.random.default_rng(7)
        self._settings = {
            "ids": options.ids,
            "reverse": options.reverse,
            "layout": options.layout,
        }
        self._edges = self._source.take(options.edges)
        self._aged = self._built()
        self._age(options.batches)
        self.graphs = {"aged": self._aged, "fresh": self._built()}

    def bench_once(self, repeat: int) -> Iterable[Sample]:
        """Insert, delete and scan, the two graphs in turns."""
        fresh = self._source.take(self._rows, self._is_known)
        batches = {
            what: converted(op, *fresh, directed=True)
            for op, what in ((1, "insert"), (-1, "delete"))
        }
        for what in WHATS:
            # The batch is in the cache for whoever comes second.
            for age in ("aged", "fresh") if repeat % 2 else ("fresh", "aged"):
                graph = self.graphs[age]
                if what == "scan":
                    work, call = graph.num_edges, partial(self._scan, graph)
                else:
                    work, call = self._rows, partial(self._apply, graph, batches[what])
                yield Sample(f"{self.stream}, {age}", what, repeat, work, seconds_of(call))

    def check(self) -> None:
        """Compare both graphs with the list of edges that NumPy kept, and verify them."""
        order = np.lexsort((self._edges[1], self._edges[0]))
        for graph in self.graphs.values():
            found = graph.edges()
            assert np.array_equal(found.src, self._edges[0][order]), "other sources"
            assert np.array_equal(found.dst, self._edges[1][order]), "other destinations"
            graph.verify()

    def memory_ratio(self) -> float:
        """Bytes that the aged graph needs over those of the fresh one."""
        needed = {age: graph.memory().graph_bytes for age, graph in self.graphs.items()}
        return needed["aged"] / needed["fresh"]

    def _built(self) -> DynamicGraph:
        graph = DynamicGraph(**self._settings)
        self._apply(graph, converted(1, *self._edges, directed=True))
        return graph

    def _age(self, batches: int) -> None:
        src, dst = self._edges
        half = max(1, self._rows // 2)
        for number_of_batch in range(batches):
            if self.stream == "uniform":
                places = self._random.choice(src.size, half, replace=False, shuffle=False)
            else:
                places = (number_of_batch * half + np.arange(half)) % src.size
            new: Edges = self._source.take(half, self._is_known)
            batch = UpdateBatch.from_rows(
                np.repeat(np.array([-1, 1], np.int8), half),
                np.concatenate([src[places], new[0]]),
                np.concatenate([dst[places], new[1]]),
            )
            self._apply(self._aged, batch)
            src[places], dst[places] = new

    def _is_known(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        # The graph under test answers; `check` finds out if it was wrong.
        return self._aged.has_edges(src, dst) | self._aged.has_edges(dst, src)

    def _apply(self, graph: DynamicGraph, batch: UpdateBatch) -> None:
        report = graph.apply(batch)
        assert report.inserted + report.deleted == batch.rows

    def _scan(self, graph: DynamicGraph) -> None:
        engine: Any = graph._engine
        for_ranges(scan, engine.vertex_count, engine.image, engine.shape("out"))


def tidy_results(samples: list[Sample], ageings: list[Ageing]) -> list[Table]:
    """Make one table: milliseconds, and the ratio of aged to fresh."""
    rows = []
    for ageing in ageings:
        for what in WHATS:
            seconds = {
                age: {
                    each.repeat: 1e3 * each.seconds
                    for each in samples
                    if (each.case, each.what) == (f"{ageing.stream}, {age}", what)
                }
                for age in ("fresh", "aged")
            }
            fresh, aged = seconds["fresh"], seconds["aged"]
            ratios = [aged[repeat] / fresh[repeat] for repeat in fresh]
            cells = [quartiles(fresh.values()), quartiles(aged.values()), quartiles(ratios)]
            rows.append([f"{ageing.stream}, {what}", *map(str, cells)])
        rows.append([f"{ageing.stream}, memory", "", "", f"{ageing.memory_ratio():.2f}"])
    note = "Milliseconds, median (quartiles); ratios are taken within a repeat."
    return [Table("aged over fresh", ["", "fresh", "aged", "aged over fresh"], rows, note)]


def main() -> None:
    """Age the graphs, measure, and print the table."""
    flags = parser(__doc__)
    flags.add_argument("--edges", type=number, default="8M")
    flags.add_argument("--vertices", type=number, default="2**20")
    flags.add_argument("--batches", type=number, default="1000", help="batches to age by")
    flags.add_argument("--share", type=float, default=0.01, help="rows of a batch over the edges")
    flags.add_argument("--ids", choices=("dense", "any"), default="dense")
    flags.add_argument("--layout", choices=("runs", "chain"), default="runs")
    flags.add_argument("--reverse", action="store_true", help="keep the reverse adjacency")
    options = flags.parse_args()
    ageings = [Ageing(stream, options) for stream in STREAMS]

    def bench_once(repeat: int) -> Iterable[Sample]:
        for ageing in ageings:
            yield from ageing.bench_once(repeat)
        if repeat == options.repeats:
            for ageing in ageings:
                ageing.check()

    drive(options, bench_once, lambda samples: tidy_results(samples, ageings))


if __name__ == "__main__":
    main()
