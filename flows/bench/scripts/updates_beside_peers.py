"""Inserts into, and deletes from, a graph that is there: ours, a plain loop, and other packages.

    python -m graphtide.flows.bench.scripts.updates_beside_peers [--edges 8M] [--batch 1M]
        [--vertices '2**20'] [--repeats 9]

Every repeat draws a fresh batch of uniform edges that are not in the graph (``edge_source.py`` says
why), inserts it and deletes it again, one contender after the other, in an order that rotates.

What a figure includes. *Batch ready*: the update alone, on a batch in the contender's own form
(ours and the plain loop: hypersparse CSR; GraphBLAS: a matrix), as the pipeline delivers it. It was
made just before, so part of it may lie in the cache, for everyone. *From raw edges*: conversion and
update together, from two int64 arrays in random order, on all threads; what other packages take. A
rate counts rows of the batch, also where an undirected or reverse row is two entries.

Our graphs are rebuilt every ``--rebuild-every`` repeats, by batches of the same size: rows that
have just grown for one batch have room for the next, so ``--rebuild-every 100`` shows a graph in
use. Growth of rows is within the time; so is growth of the arena, which copies the whole image, in
the batches where it falls due. The table of memory counts those; ``--arena-bytes`` avoids them. The
plain loop never grows (``plain_loops.py``); ``peers.py`` says what the others do.

Checked within: counts of every report, the number of edges after every update, and, in the warm-up
and at the end, every contender's edges against NumPy.

The table of memory divides all that our graph needs (vertex table, dictionary, runs; not free
pages, scratch or unused space) by a CSR of the same entries: 8 bytes a row and 4 an entry, for each
stored direction.
"""

import argparse
import re
import time
from collections.abc import Iterable
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np

from graphtide import DynamicGraph, UpdateBatch

from .edge_source import Edges, EdgeSource, known_among
from .measuring import (
    Measurement,
    NotedTable,
    drive,
    millions_per_second,
    number,
    parser,
    ratio,
    rotated,
    seconds_of,
    shown,
)
from .plain_loops import PlainLoop, converted

#: Row of the table -> settings of the graph.
SETTINGS: dict[str, dict[str, Any]] = {
    "dense ids, one direction": {"ids": "dense", "reverse": False},
    "dense ids, reverse": {"ids": "dense"},
    "any ids, one direction": {"reverse": False},
    "any ids, reverse (defaults)": {},
    "any ids, undirected": {"directed": False},
    "chain, dense ids, one direction": {"ids": "dense", "reverse": False, "layout": "chain"},
}

PLAIN = "plain loop, append"
#: Longer than an OpenMP thread waits for work before it sleeps.
SETTLE_SECONDS = 0.05

PEERS = ("python-graphblas", "NetworKit")


class Graphtide:
    """Our graph as a contender."""

    takes_raw_edges = False

    def __init__(
        self,
        name: str,
        settings: dict[str, Any],
        base: dict[bool, list[UpdateBatch]],
        rebuild_every: int,
    ) -> None:
        self.name = name
        self._settings = settings
        self._directed = settings.get("directed", True)
        self._base = base[self._directed]
        self._rebuild_every = rebuild_every
        self.reset(0)
        #: Bytes over those of a CSR: as built, and after the newest insert.
        self.memory = [self._memory(), 0.0]
        #: Batches during which the arena grew.
        self.growths = 0

    def reset(self, repeat: int) -> None:
        """Build the graph where it is due."""
        if repeat % self._rebuild_every:
            return
        self._graph = DynamicGraph(**self._settings)
        for batch in self._base:
            self._graph.apply(batch)

    def convert(self, op: int, src: np.ndarray, dst: np.ndarray) -> UpdateBatch:
        """Raw edges to a batch."""
        return converted(op, src, dst, directed=self._directed)

    def insert(self, batch: UpdateBatch) -> None:
        """Apply a batch of inserts."""
        assert self._graph.apply(batch).inserted == batch.rows

    def delete(self, batch: UpdateBatch) -> None:
        """Apply a batch of deletes."""
        assert self._graph.apply(batch).deleted == batch.rows

    def num_edges(self) -> int:
        """Count the edges."""
        return self._graph.num_edges

    def arena_bytes(self) -> int:
        """Size of the one allocation."""
        return self._graph.memory().arena_bytes

    def note_memory(self) -> None:
        """Remember how much it needs now."""
        self.memory[1] = self._memory()

    def edges(self) -> Edges:
        """All edges; undirected ones with ``src <= dst``."""
        edges = self._graph.edges()
        return edges.src, edges.dst

    def verify(self) -> None:
        """Check every invariant of the image."""
        self._graph.verify()

    def _memory(self) -> float:
        graph = self._graph
        rows = 8 * (graph.num_vertices + 1)
        if graph.directed:
            csr_bytes = (1 + graph.reverse) * (rows + 4 * graph.num_edges)
        else:
            csr_bytes = rows + 4 * 2 * graph.num_edges
        return graph.memory().graph_bytes / csr_bytes


class Contenders:
    """The contenders, and what one repeat does with them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._batch = options.batch
        self._repeats = options.repeats
        self._source = EdgeSource(options.vertices)
        self._base = self._source.take(options.edges)
        self._is_known = known_among(self._base, options.vertices)
        cuts = [*range(0, options.edges, self._batch), options.edges]
        base = {
            directed: [
                converted(1, self._base[0][a:b], self._base[1][a:b], directed=directed)
                for a, b in pairwise(cuts)
            ]
            for directed in (True, False)
        }
        spare = options.spare or 16 + 4 * options.batch // options.vertices
        vertices = options.vertices
        arena = {"arena_bytes": options.arena_bytes} if options.arena_bytes else {}
        self.contenders: list[Any] = [
            PlainLoop(self._base, vertices, spare=spare, in_order=in_order)
            for in_order in (False, True)
        ]
        self.contenders += [
            Graphtide(name, settings | arena, base, options.rebuild_every)
            for name, settings in SETTINGS.items()
            if re.search(options.only, name)
        ]
        if not options.no_peers:
            from .peers import GraphBLAS, NetworKit

            self.contenders.append(GraphBLAS(self._base, vertices))
            self.contenders += [
                NetworKit(self._base, vertices, checked=checked) for checked in (False, True)
            ]

    def bench_once(self, repeat: int) -> Iterable[Measurement]:
        """Insert and delete a fresh batch, with every contender."""
        edges = self._source.take(self._batch, self._is_known)
        # Deletes come in another order than the inserts did.
        order = np.random.default_rng(repeat).permutation(self._batch)
        shuffled = (edges[0][order], edges[1][order])
        is_checked = repeat in (0, self._repeats)
        for contender in rotated(self.contenders, repeat):
            contender.reset(repeat)
            # Threads of the contender before may still spin, in case there is more for them to do.
            time.sleep(SETTLE_SECONDS)
            if isinstance(contender, PlainLoop):
                contender.check_room(edges[0])
            yield from self._timed(contender, repeat, 1, edges, is_checked)
            yield from self._timed(contender, repeat, -1, shuffled, is_checked)
            if is_checked and isinstance(contender, Graphtide):
                contender.verify()

    def _timed(
        self, contender: Any, repeat: int, op: int, edges: Edges, is_checked: bool
    ) -> Iterable[Measurement]:
        what = "insert" if op > 0 else "delete"
        update = contender.insert if op > 0 else contender.delete
        before = contender.arena_bytes() if isinstance(contender, Graphtide) else 0
        batch: list[Any] = []
        convert_seconds = seconds_of(lambda: batch.append(contender.convert(op, *edges)))
        update_seconds = seconds_of(lambda: update(batch[0]))
        if not contender.takes_raw_edges:
            yield Measurement(contender.name, what, repeat, self._batch, update_seconds)
        total = convert_seconds + update_seconds
        yield Measurement(contender.name, f"{what}, raw", repeat, self._batch, total)
        if before and op > 0:
            contender.note_memory()
            contender.growths += bool(repeat and contender.arena_bytes() > before)
        expected = self._base
        if op > 0:
            expected = (np.append(expected[0], edges[0]), np.append(expected[1], edges[1]))
        assert contender.num_edges() == expected[0].size, contender.name
        if is_checked:
            self._compare(contender, expected)

    def _compare(self, contender: Any, expected: Edges) -> None:
        size = self._source.vertices
        src, dst = contender.edges()
        if contender.name.endswith("undirected"):
            expected = np.minimum(*expected), np.maximum(*expected)
        same = np.array_equal(np.sort(src * size + dst), np.sort(expected[0] * size + expected[1]))
        assert same, f"{contender.name} holds other edges"

    def tidy_results(self, samples: list[Measurement]) -> list[NotedTable]:
        """Tables: batch ready, from raw edges, memory."""

        def rates(name: str, what: str) -> dict[int, float]:
            return millions_per_second(samples, name, what)

        names = [contender.name for contender in self.contenders]
        ready, raw = [], []
        for name in names:
            cells = []
            for what in ("insert", "delete"):
                found = rates(name, what)
                cells += [shown(found), ratio(found, rates(PLAIN, what))]
            ready.append([name, *cells])
            cells = []
            for what in ("insert, raw", "delete, raw"):
                found = rates(name, what)
                cells += [shown(found), *(ratio(found, rates(peer, what)) for peer in PEERS)]
            raw.append([name, *cells])
        memory = [
            [each.name, f"{each.memory[0]:.2f}", f"{each.memory[1]:.2f}", str(each.growths)]
            for each in self.contenders
            if isinstance(each, Graphtide)
        ]
        over = [f"over {peer}" for peer in PEERS]
        units = "Million updates a second, median (quartiles); ratios are medians within a repeat."
        return [
            NotedTable(
                "batch ready",
                ["", "insert", f"over {PLAIN}", "delete", f"over {PLAIN}"],
                ready,
                units + " n/a: it takes raw edges only.",
            ),
            NotedTable("from raw edges", ["", "insert", *over, "delete", *over], raw, units),
            NotedTable(
                "memory over the CSR of the stored entries",
                ["", "as built", "after the last insert", "inserts in which the arena grew"],
                memory,
            ),
        ]


def main() -> None:
    """Measure everything and print the tables."""
    flags = parser(__doc__)
    flags.add_argument("--edges", type=number, default="8M", help="edges of the base graph")
    flags.add_argument("--batch", type=number, default="1M", help="edges of a batch")
    flags.add_argument("--vertices", type=number, default="2**20")
    flags.add_argument("--rebuild-every", type=int, default=1, help="repeats (default 1)")
    flags.add_argument("--arena-bytes", type=number, help="of our graphs, which then do not grow")
    flags.add_argument("--spare", type=int, help="spare entries a row of the plain loop")
    flags.add_argument("--only", default="", help="only those of our graphs whose name matches")
    flags.add_argument("--no-peers", action="store_true", help="do without the extra [bench]")
    options = flags.parse_args()
    if not options.no_peers and not all(map(find_spec, ("graphblas", "networkit"))):
        flags.error(
            "python-graphblas and networkit are not installed; run pip install -e '.[bench]', or "
            "give --no-peers"
        )
    updates = Contenders(options)
    packages = (
        () if options.no_peers else ("python-graphblas", "suitesparse-graphblas", "networkit")
    )
    drive(options, updates.bench_once, updates.tidy_results, packages=packages)


if __name__ == "__main__":
    main()
