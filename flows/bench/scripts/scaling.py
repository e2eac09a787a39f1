"""Rate of updates by the size of the graph and of the batch.

    python -m graphtide.flows.bench.scripts.scaling [--edges 1M,2M,4M,8M,16M,32M]
        [--batches 1K,10K,100K,1M,10M]

The mean degree stays at ``--degree``, so larger graphs have more vertices, and what changes is how
far apart the rows lie, not how long they are. Edges are uniform, fresh, and none is there yet
(``edge_source.py`` says why). Each repeat inserts a batch of every size into the graph of the same
number of edges and deletes it again; that is one row of the table. A small batch is repeated within
a repeat (``--least``), since one of 1,000 rows takes less time than a thread needs to wake.

A rate is that of ``DynamicGraph.apply`` on a converted batch; with ``--raw`` conversion is within.
The graph of a row is built once, and inserts after the first find rows that have grown before: this
is a graph in use, whereas ``updates_beside_peers.py`` has one that has just been built. Counts of
every report are checked; at the end of a row the edges are compared with NumPy.
"""

import argparse
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from graphtide import DynamicGraph

from .edge_source import EdgeSource, known_among
from .measuring import (
    Measurement,
    NotedTable,
    drive,
    millions_per_second,
    numbers,
    parser,
    shown,
)
from .plain_loops import converted


class GraphOfSize:
    """A graph of one size, and batches of all sizes into it."""

    def __init__(self, edges: int, options: argparse.Namespace) -> None:
        self._edges = edges
        self._options = options
        self._source = EdgeSource(max(2, edges // options.degree))
        self._base = self._source.take(edges)
        self._is_known = known_among(self._base, self._source.vertices)
        self._graph = DynamicGraph(
            ids=options.ids, reverse=options.reverse, directed=not options.undirected
        )
        step = max(options.batches)
        for low in range(0, edges, step):
            self._apply(1, *(ends[low : low + step] for ends in self._base))

    def bench_once(self, repeat: int) -> Iterable[Measurement]:
        """Insert and delete batches of every size."""
        for size in self._options.batches:
            # At most as many rows as the batch has anyway, where it is large.
            for _ in range(max(1, self._options.least // size)):
                yield from self._insert_and_delete(size, repeat)

    def check(self) -> None:
        """Compare the edges with those at the beginning, by NumPy, and verify the image."""
        found, size = self._graph.edges(), self._source.vertices
        src, dst = self._base
        if self._options.undirected:
            src, dst = np.minimum(src, dst), np.maximum(src, dst)
        keys = np.sort(src * size + dst)
        assert np.array_equal(np.sort(found.src * size + found.dst), keys), "other edges"
        self._graph.verify()

    def _insert_and_delete(self, size: int, repeat: int) -> Iterable[Measurement]:
        src, dst = self._source.take(size, self._is_known)
        order = np.random.default_rng(repeat).permutation(size)
        for op, ends in ((1, (src, dst)), (-1, (src[order], dst[order]))):
            seconds = self._apply(op, *ends)
            what = f"{'insert' if op > 0 else 'delete'} {size}"
            yield Measurement(str(self._edges), what, repeat, size, seconds)

    def _apply(self, op: int, src: np.ndarray, dst: np.ndarray) -> float:
        begin = time.perf_counter()
        batch = converted(op, src, dst, directed=self._graph.directed)
        if not self._options.raw:
            begin = time.perf_counter()
        report = self._graph.apply(batch)
        seconds = time.perf_counter() - begin
        assert (report.inserted if op > 0 else report.deleted) == src.size
        return seconds


def tidy_results(samples: list[Measurement], options: argparse.Namespace) -> list[NotedTable]:
    """Make one table of inserts and one of deletes."""
    return [
        NotedTable(
            f"{what}s",
            ["edges", *(f"{size:,} rows" for size in options.batches)],
            [
                [
                    f"{edges:,}",
                    *(
                        shown(millions_per_second(samples, str(edges), f"{what} {size}"))
                        for size in options.batches
                    ),
                ]
                for edges in options.edges
            ],
            "Million updates a second, median (quartiles), by edges of the graph and rows of the "
            "batch.",
        )
        for what in ("insert", "delete")
    ]


def main() -> None:
    """Measure row after row, and print the tables."""
    flags = parser(__doc__)
    flags.add_argument("--edges", type=numbers, default="1M,2M,4M,8M,16M,32M")
    flags.add_argument("--batches", type=numbers, default="1K,10K,100K,1M,10M")
    flags.add_argument("--degree", type=int, default=8, help="edges a vertex (default 8)")
    flags.add_argument("--least", type=int, default=20_000, help="rows of each size a repeat")
    flags.add_argument("--ids", choices=("dense", "any"), default="dense")
    flags.add_argument("--reverse", action="store_true", help="keep the reverse adjacency")
    flags.add_argument("--undirected", action="store_true")
    flags.add_argument("--raw", action="store_true", help="time the conversion too")
    options = flags.parse_args()
    state: dict[str, Any] = {}

    def bench_once(repeat: int) -> Iterable[Measurement]:
        # All repeats of a graph together would need one graph in memory at a time, but a machine
        # that is busy for a while would then be unfair to one size.
        for edges in options.edges:
            if edges not in state:
                state[edges] = GraphOfSize(edges, options)
            yield from state[edges].bench_once(repeat)
            if repeat == options.repeats:
                state.pop(edges).check()

    drive(options, bench_once, lambda samples: tidy_results(samples, options))


if __name__ == "__main__":
    main()
