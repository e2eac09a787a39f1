"""What benchmarks of the graph share: the engine under test, one line of a table, exactness."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...gpu_core.batch import UpdateBatch
from ...gpu_core.engines import resolve_engine
from ...gpu_core.errors import GraphtideError
from ...gpu_core.graph import DynamicGraph
from .clock import Clock, Lap, spread
from .workloads import pack


@dataclass
class Row:
    """One line of the table: milliseconds by what was done."""

    workload: str
    batch: str
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


class Arm:
    """The engine under test: its arrays, its batches, its clock."""

    def __init__(self, engine: str) -> None:
        self.engine = resolve_engine(engine)
        if self.engine == "cuda":
            from ...gpu_core.cuda.device import current_device

            self.device = current_device()
            self.xp = self.device.xp
        else:
            self.xp = np
        self.clock = Clock(self.xp)

    def graph(self, **settings: Any) -> DynamicGraph:
        """Make an empty graph."""
        return DynamicGraph(engine=self.engine, **settings)

    def batch(
        self,
        op: int,
        src: Any,
        dst: Any,
        *,
        ids: str = "dense",
        directed: bool = True,
        below: int | None = None,
    ) -> Any:
        """A batch of rows that all insert (1) or delete (-1), from arrays of ``xp``.

        ``below`` is what no id reaches, if the caller knows it.
        """
        if self.engine == "cuda":
            from ...gpu_core.cuda.edge_order import Bounds
            from ...gpu_core.cuda.raw_edges import from_edges

            ops = None if op > 0 else self.xp.full(src.size, op, self.xp.int8)
            bounds = None if below is None else Bounds(0, below - 1, 0, below - 1)
            return from_edges(
                self.device, src, dst, ops, dense=ids == "dense", directed=directed, bounds=bounds
            )
        ops = None if op > 0 else np.full(src.size, op, np.int8)
        return UpdateBatch.from_rows(ops, src, dst, directed=directed)

    def locked(self, array: Any) -> Any:
        """Copy of a host array in page-locked memory; on the host engine the array itself."""
        if self.xp is np:
            return array
        memory = self.xp.cuda.alloc_pinned_memory(array.nbytes)
        copy = np.frombuffer(memory, array.dtype, array.size)
        copy[:] = array
        return copy

    def to_host(self, array: Any) -> Any:
        """NumPy copy of an array of ``xp``."""
        return array if self.xp is np else self.xp.asnumpy(array)


def check(graph: DynamicGraph, expected: Any, what: str) -> None:
    """Compare all entries of a directed graph with sorted keys in host memory."""
    edges = graph.edges()
    found = pack(np, edges.src, edges.dst)
    if not np.array_equal(found, expected):
        msg = (
            f"{what}: the graph has {found.size:,} entries where {expected.size:,} are expected, "
            f"{np.setxor1d(found, expected).size:,} of them others; please report this"
        )
        raise GraphtideError(msg)
