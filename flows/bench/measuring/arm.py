"""Shared parts of benchmarks of the graph: the engine under test, a workload on it, exactness."""

import statistics
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from ....gpu_core.batch.raw_rows import RawRows
from ....gpu_core.batch.update_batch import UpdateBatch
from ....gpu_core.choices import one_of
from ....gpu_core.engines import resolve_engine
from ....gpu_core.errors import GraphtideError, SettingsError
from ....gpu_core.graph import DynamicGraph
from ....gpu_core.kind import row_meaning
from ....gpu_core.layouts import LAYOUTS
from . import draws
from .clock import Clock, Lap, spread
from .workloads import Keys, pack, rmat_pairs, uniform_pairs, unpack

#: How a graph is made unless a row says otherwise.
PLAIN: dict[str, Any] = {"directed": True, "ids": "dense", "reverse": False}
#: Bits that may be taken off every size; then the smallest workload has 2^8 vertices.
_MOST_SMALLER = 12


@dataclass
class MeasuredRow:
    """One line of a table: milliseconds by what was done."""

    #: What was measured, where the table has a column for it.
    label: str = ""
    laps: dict[str, list[Lap]] = field(default_factory=dict)

    def add(self, what: str, lap: Lap) -> None:
        """Keep one measurement."""
        self.laps.setdefault(what, []).append(lap)

    def device(self, what: str) -> str:
        """Median and quartiles on the device's clock."""
        return spread([lap.device for lap in self.laps[what]]) if what in self.laps else ""

    def caller(self, what: str) -> str:
        """Median and quartiles as the caller sees it."""
        return spread([lap.caller for lap in self.laps[what]]) if what in self.laps else ""

    def median(self, what: str, clock: Literal["device", "caller"] = "device") -> float:
        """Median of what was done, in milliseconds on the clock of the device or the caller."""
        return statistics.median(getattr(lap, clock) for lap in self.laps[what])


class Arm:
    """The engine under test: its arrays, its batches, its clock."""

    def __init__(self, engine: str, layout: str = "runs") -> None:
        one_of("layout", layout, LAYOUTS)
        self.engine, self.layout = resolve_engine(engine), layout
        if self.engine == "cuda":
            from ....gpu_core.cuda.device.devices import open_device
            from ....gpu_core.cuda.device.staging import Staging

            self.device = open_device()
            #: What an `UpdateBatch` that is only copied goes through.
            self.staging = Staging(self.device)
            self.xp = self.device.xp
        else:
            self.xp = np
        self.clock = Clock(self.xp)

    @property
    def options(self) -> list[str]:
        """What a command is given to take this engine again: by itself it takes a GPU."""
        return ["--engine host"] if self.engine == "host" else []

    def graph(self, **settings: Any) -> DynamicGraph:
        """Make an empty graph."""
        return DynamicGraph(engine=self.engine, layout=self.layout, **settings)

    def batch(
        self, op: Any, src: Any, dst: Any, *, ids: str = "dense", directed: bool = True
    ) -> Any:
        """A batch from arrays of ``xp``: rows that all insert (1) or delete (-1), or int8 ops."""
        if isinstance(op, int):
            ops = None if op > 0 else self.xp.full(src.size, op, self.xp.int8)
        else:
            ops = op
        if self.engine == "cuda":
            from ....gpu_core.cuda.convert.raw_edges import begin_edges

            columns = {"src": src, "dst": dst} | ({} if ops is None else {"op": ops})
            rows = RawRows(columns, None, row_meaning(directed=directed), dense=ids == "dense")
            return begin_edges(self.device, rows).batch()
        return UpdateBatch.from_rows(ops, src, dst, directed=directed)

    def locked(self, array: Any) -> Any:
        """Copy of a host array in page-locked memory; where the host works, the array itself."""
        if self.xp is np:
            return array
        memory = self.xp.cuda.alloc_pinned_memory(array.nbytes)
        copy = np.frombuffer(memory, array.dtype, array.size)
        copy[:] = array
        return copy

    def to_host(self, array: Any) -> Any:
        """NumPy copy of an array of ``xp``."""
        return array if self.xp is np else self.xp.asnumpy(array)


@dataclass
class Bench:
    """One workload on an engine, and how often each of its measurements is repeated."""

    arm: Arm
    name: str
    keys: Keys
    #: Binary logarithm of the number of vertices.
    scale: int
    repeats: int

    def graph(self, **settings: Any) -> DynamicGraph:
        """Make a graph that has the workload's entries."""
        graph = self.arm.graph(**{**PLAIN, **settings})
        graph.apply(self.batch(graph, 1, self.keys))
        return graph

    def fresh(self, size: int, repeat: int, *, rmat: bool = False) -> Keys:
        """Draw entries that the workload has not.

        Raises
        ------
        SettingsError
            They are more than half of those; to find the last ones would take long, or forever.
        """
        xp, count = self.arm.xp, 1 << self.scale
        absent = count * (count - 1) - self.keys.size
        if 2 * size > absent:
            msg = (
                f"{self.name} lacks {absent:,} entries of {count:,} vertices, of which {size:,} "
                f"cannot be drawn; lower --repeats or --smaller"
            )
            raise SettingsError(msg)
        is_known = partial(draws.is_key, xp, self.keys)
        draw = partial(rmat_pairs if rmat else uniform_pairs, xp, self.scale)
        return draws.new_keys(xp, is_known, draw, size, 1000 * repeat)

    def batch(self, graph: DynamicGraph, op: int, keys: Keys) -> Any:
        """Batch that puts (1) or deletes (-1) all of these entries."""
        return self.arm.batch(op, *unpack(self.arm.xp, keys), ids=graph.ids)

    def timed(self, row: MeasuredRow, repeat: int, what: str, call: Callable[[], Any]) -> None:
        """Time a call; the first round compiles, and is not kept."""
        lap = self.arm.clock.time(call)
        if repeat:
            row.add(what, lap)

    def measured(
        self, calls: Mapping[str, Callable[[], Any]], *, has_warm_up: bool = True
    ) -> MeasuredRow:
        """Time calls by turns, in as many rounds as were asked for, and one before that compiles.

        Parameters
        ----------
        calls
            By what they do.
        has_warm_up
            Whether there is that round, which calls of other packages do not need.
        """
        row = MeasuredRow()
        for repeat in range(0 if has_warm_up else 1, self.repeats + 1):
            for what, call in calls.items():
                self.timed(row, repeat, what, call)
        return row

    def check(self, graph: DynamicGraph, drawn: Keys | None, what: str) -> None:
        """Compare a graph with the workload's entries and those that were drawn."""
        xp, keys = self.arm.xp, self.keys
        if drawn is not None:
            keys = xp.sort(xp.concatenate([keys, drawn]))
        check(graph, self.arm.to_host(keys), f"{self.name}, {what}")


def check(graph: DynamicGraph, expected: Any, what: str) -> None:
    """Compare all entries of a directed graph with sorted keys in host memory.

    Raises
    ------
    GraphtideError
        They are not the same.
    """
    edges = graph.edges()
    found = pack(np, edges.src, edges.dst)
    if not np.array_equal(found, expected):
        msg = (
            f"{what}: the graph has {found.size:,} entries where {expected.size:,} are expected, "
            f"{np.setxor1d(found, expected).size:,} of them others; please report this"
        )
        raise GraphtideError(msg)


def check_arguments(
    names: Iterable[str], known: Collection[str], *, repeats: int, smaller: int
) -> None:
    """Refuse what no benchmark of workloads can do.

    Raises
    ------
    SettingsError
        A name is not known, or a number is out of range.
    """
    for name in names:
        if name not in known:
            msg = f"workload {name!r} is unknown; use one of {', '.join(known)}"
            raise SettingsError(msg)
    if not 0 <= smaller <= _MOST_SMALLER or repeats < 1:
        msg = f"--smaller is from 0 to {_MOST_SMALLER}, --repeats at least 1"
        raise SettingsError(msg)
