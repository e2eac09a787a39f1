"""``graphtide bench updates``: milliseconds a batch, ours beside a rebuild, exact at the end.

A graph of `workloads.py` is stored as a directed graph with dense ids, both directions of an edge
as entries of their own, without reverse adjacency unless a row says so. A batch is drawn, sorted
and laid out as CSR where the engine works, before the clock starts, unless a row says so. Inserts
meet no entry of the graph; the deletes take the same entries away again, so every repeat meets the
same graph. Ours and the rebuild take turns. The first round compiles, and is not kept.

After the last repeat the graph's entries are compared, all of them, with those that it must have.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...gpu_core.batch import UpdateBatch
from ...gpu_core.errors import SettingsError
from ...gpu_core.graph import DynamicGraph
from . import draws
from .arm import Arm, Row, check
from .clock import Lap
from .peers import Rebuild
from .report import print_conditions, print_header, print_rows
from .workloads import WORKLOADS, Keys, pack, unpack

#: Workload -> sizes of its batches, in entries.
SIZES = {
    "G1": [1_000_000],
    "G2": [1_000_000],
    "G3": [1_000_000],
    "G4": [1, 1_000, 100_000, 1_000_000, 10_000_000],
    "G5": [1_000_000, 10_000_000],
}
_MILLION = 1_000_000
_MOST_SMALLER = 12

#: How the graph of the plain rows is made.
_PLAIN = {"directed": True, "ids": "dense", "reverse": False}
#: What the rows with other settings change: the last is what a user gets who sets nothing.
_OTHERS: tuple[dict[str, Any], ...] = (
    {"reverse": True},
    {"ids": "any"},
    {"ids": "any", "reverse": True},
)


@dataclass
class Bench:
    """One workload, and how often each of its batches is repeated."""

    arm: Arm
    name: str
    keys: Keys
    scale: int
    repeats: int

    def graph(self, **settings: Any) -> DynamicGraph:
        """Make a graph that has the workload's entries."""
        graph = self.arm.graph(**{**_PLAIN, **settings})
        self._apply(graph, 1, self.keys)
        return graph

    def fresh(self, size: int, repeat: int, *, rmat: bool = False) -> Keys:
        """Draw entries that the workload has not."""
        arguments = (self.arm.xp, self.keys, self.scale, size, 1000 * repeat)
        return draws.new_keys(*arguments, rmat=rmat)

    def batch(self, graph: DynamicGraph, op: int, keys: Keys) -> Any:
        """Batch that puts (1) or deletes (-1) all of these entries."""
        return self.arm.batch(op, *unpack(self.arm.xp, keys), ids=graph.ids)

    def _apply(self, graph: DynamicGraph, op: int, keys: Keys) -> None:
        graph.apply(self.batch(graph, op, keys))

    def _timed(self, row: Row, repeat: int, what: str, call: Callable[[], Any]) -> None:
        lap = self.arm.clock.time(call)
        if repeat:
            row.add(what, lap)

    def initialisation(self) -> Row:
        """An empty graph takes all entries as one batch."""
        row, ratio = self._initialised(lambda graph: self.batch(graph, 1, self.keys))
        size = f"{self.keys.size:,}"
        row.batch = f"all {size} into an empty graph, which then takes {ratio:.2f} of their CSR"
        return row

    def initialisation_from_host(self) -> Row:
        """An empty graph takes all entries out of memory of the host that is not page-locked."""
        src, dst = (self.arm.to_host(ends) for ends in unpack(self.arm.xp, self.keys))
        batch = UpdateBatch.from_rows(None, src, dst)
        row, _ = self._initialised(lambda _: batch)
        row.batch = f"all {self.keys.size:,} into an empty graph, a CSR in host memory"
        return row

    def _initialised(self, batch_for: Callable[[DynamicGraph], Any]) -> tuple[Row, float]:
        """Fill empty graphs; returns the row, and the graph's bytes over those of the CSR."""
        row = Row(self.name, "")
        for repeat in range(min(self.repeats, 5) + 1):
            graph = self.arm.graph(**_PLAIN)
            batch = batch_for(graph)
            self._timed(row, repeat, "insert", partial(graph.apply, batch))
            ratio = graph.memory().graph_bytes / csr_bytes(self.keys)
            del graph
        return row, ratio

    def insert_and_delete(
        self, what: str, draw: Callable[[int], Keys], *, rebuild: bool = False, **settings: Any
    ) -> Row:
        """Insert the entries that ``draw(repeat)`` gives, delete them again, many times."""
        row, graph = Row(self.name, what), self.graph(**settings)
        peer = Rebuild(self.arm.xp, self.keys, self.scale)
        for repeat in range(self.repeats + 1):
            drawn = draw(repeat)
            put, delete = self.batch(graph, 1, drawn), self.batch(graph, -1, drawn)
            self._timed(row, repeat, "insert", partial(graph.apply, put))
            if repeat == self.repeats:
                self._check(graph, drawn, f"{what}, after inserts")
            self._timed(row, repeat, "delete", partial(graph.apply, delete))
            if rebuild:
                self._timed(row, repeat, "rebuild, insert", partial(peer.insert, drawn))
                self._timed(row, repeat, "rebuild, delete", partial(peer.delete, drawn))
        self._check(graph, None, f"{what}, after deletes")
        return row

    def _check(self, graph: DynamicGraph, drawn: Keys | None, what: str) -> None:
        xp, keys = self.arm.xp, self.keys
        if drawn is not None:
            keys = xp.sort(xp.concatenate([keys, drawn]))
        check(graph, self.arm.to_host(keys), f"{self.name}, {what}")

    def stress(self, size: int) -> Row:
        """Batches with repeats and with entries that the graph has already."""
        xp = self.arm.xp
        row, graph = Row(self.name, f"{size:,}, a tenth repeats, a tenth present"), self.graph()
        for repeat in range(self.repeats + 1):
            src, dst = draws.stress_pairs(xp, self.keys, self.scale, size, 1000 * repeat)
            drawn = xp.unique(pack(xp, src, dst))
            put = self.arm.batch(1, src, dst)
            delete = self.batch(graph, -1, drawn[~draws.is_key(xp, self.keys, drawn)])
            self._timed(row, repeat, "insert", partial(graph.apply, put))
            self._timed(row, repeat, "delete", partial(graph.apply, delete))
        self._check(graph, None, "stress")
        return row

    def raw_pairs(self, size: int) -> Row:
        """Unsorted pairs in host memory: copied, sorted, repeats dropped, applied, in one lap."""
        return self._raw(f"{size:,} raw pairs from host memory, sort included", size, 1)

    def raw_stream(self, size: int, batches: int = 8) -> Row:
        """The same many times in one lap: while one batch is applied, the next one is copied."""
        what = f"{size:,} raw pairs, each of a stream of {batches} such batches"
        return self._raw(what, size, batches)

    def _raw(self, what: str, size: int, batches: int) -> Row:
        xp, arm = self.arm.xp, self.arm
        row, graph = Row(self.name, what), self.graph()
        feed = graph.feed()

        def send(rows: Any) -> Any:
            return rows if feed is None else feed.send(rows)

        def apply(stream: list[Any]) -> None:
            ahead = send(stream[0])
            for rows in [*stream[1:], None]:
                now, ahead = ahead, None if rows is None else send(rows)
                graph.apply(now)

        for repeat in range(self.repeats + 1):
            drawn = self.fresh(size * batches, repeat)
            order = xp.argsort(xp.random.default_rng(repeat).random(drawn.size))
            halves = [arm.to_host(half) for half in unpack(xp, drawn[order])]
            pairs = [
                [arm.locked(part.astype(np.uint32)) for part in np.array_split(half, batches)]
                for half in halves
            ]
            for told, op in (("insert", 1), ("delete", -1)):
                top = (1 << self.scale) - 1
                stream = [arm.raw(op, src, dst, top) for src, dst in zip(*pairs, strict=True)]
                lap = arm.clock.time(partial(apply, stream))
                if repeat:
                    row.add(told, Lap(lap.device / batches, lap.caller / batches))
        self._check(graph, None, what)
        return row

    def hub(self, size: int) -> Iterator[Row]:
        """Batches with and without entries of a hub that has most vertices as neighbours."""
        xp = self.arm.xp
        neighbours = (1 << self.scale) * 3 // 4
        extra, many = max(neighbours // 100, 1), min(size, neighbours // 4)
        grown = draws.hub_keys(xp, self.keys, self.scale, 0, neighbours, 7)
        keys = xp.sort(xp.concatenate([self.keys, grown]))
        bench = Bench(self.arm, self.name, keys, self.scale, self.repeats)

        def some(repeat: int) -> Keys:
            return draws.hub_keys(xp, keys, self.scale, 0, extra, repeat)

        def others(repeat: int) -> Keys:
            return bench.fresh(size - extra, repeat)

        def both(repeat: int) -> Keys:
            return xp.unique(xp.concatenate([others(repeat), some(repeat)]))

        told = f"a hub of {neighbours:,}"
        yield bench.insert_and_delete(f"{size - extra:,} beside {told}", others)
        yield bench.insert_and_delete(f"the same and {extra:,} of {told}", both)
        yield bench.insert_and_delete(
            f"{many:,}, all of {told}",
            lambda repeat: draws.hub_keys(xp, keys, self.scale, 0, many, repeat),
        )


def csr_bytes(keys: Keys) -> int:
    """Bytes of a CSR with 32-bit offsets and neighbours that holds these entries."""
    return 4 * (keys.size + int(keys[-1] >> 32) + 2)


def rows_of(bench: Bench, *, smaller: int) -> Iterator[Row]:
    """Measure one workload; ``smaller`` takes bits off every size."""
    yield bench.initialisation()
    if bench.name == "G4":
        yield bench.initialisation_from_host()
    for full in SIZES[bench.name]:
        size = max(full >> smaller, 1)
        yield bench.insert_and_delete(f"{size:,}", partial(bench.fresh, size), rebuild=True)
    million = max(_MILLION >> smaller, 16)
    if bench.name == "G3":
        draw = partial(bench.fresh, million, rmat=True)
        yield bench.insert_and_delete(f"{million:,} drawn as R-MAT", draw, rebuild=True)
    if bench.name in ("G3", "G4"):
        yield bench.stress(million)
    if bench.name == "G4":
        yield from bench.hub(million)
        yield bench.raw_pairs(million)
        yield bench.raw_stream(million)
        for settings in _OTHERS:
            told = ", ".join(f"{key}={value}" for key, value in settings.items())
            draw = partial(bench.fresh, million)
            yield bench.insert_and_delete(f"{million:,}, {told}", draw, **settings)


def bench_updates(engine: str, names: Sequence[str], *, repeats: int, smaller: int) -> None:
    """Measure the workloads of these names (none: all) and print a table.

    Raises
    ------
    SettingsError
        A name is of no workload, or the sizes would vanish.
    GraphtideError
        The graph has other entries than it must have.
    """
    for name in names:
        if name not in SIZES:
            msg = f"workload {name!r} is unknown; use one of {', '.join(SIZES)}"
            raise SettingsError(msg)
    if not 0 <= smaller <= _MOST_SMALLER or repeats < 1:
        msg = f"--smaller is from 0 to {_MOST_SMALLER}, --repeats at least 1"
        raise SettingsError(msg)
    arm = Arm(engine)
    named = " ".join(names)
    print_conditions(arm, f"graphtide bench updates {named}".rstrip(), repeats, smaller)
    print_header()
    for name in names or SIZES:
        keys = WORKLOADS[name].keys(arm.xp, smaller=smaller)
        scale = WORKLOADS[name].scale - smaller
        print_rows(rows_of(Bench(arm, name, keys, scale, repeats), smaller=smaller))
