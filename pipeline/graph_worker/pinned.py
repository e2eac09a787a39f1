"""The graph of a boundary, pinned for results and a checkpoint, and its copy for the client."""

from dataclasses import dataclass, field

import numpy as np

from ...gpu_core.epoch import Epoch
from ...gpu_core.face.graph_reader import GraphReader
from ...gpu_core.report import BatchReport, BatchSource
from ...io.log.bad_rows import LeftOut
from ...io.parquet.page_checks import ChunkSum
from .shared_arrays import ArraysAddress

#: What ``DynamicGraph.checkpoint_arrays`` returns.
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Copy:
    """The graph between two batches, for a checkpoint."""

    #: The arrays, or where they lie in shared memory until they are let go of.
    arrays: Arrays | ArraysAddress
    #: Of the batches since the copy before, or since the start.
    reports: list[BatchReport]
    #: Names of the workers that read those batches, one each.
    readers: list[str]
    #: Row group -> checksum of what they read of it, one each.
    sums: list[dict[int, ChunkSum]]
    #: None where the arrays tell it (`checkpoint_hash`): then the graph goes on meanwhile.
    state_hash: str | None
    num_vertices: int
    num_edges: int
    #: Way of the hand-over -> batches that came by it, likewise.
    ways: dict[str, int]
    #: Batch -> rows of it that were left out, of those batches.
    left_out: dict[int, LeftOut] = field(default_factory=dict)
    #: What the manifest keeps of the window (`TimeWindow.kept`); None: there is none.
    window: dict[str, int | None] | None = None


@dataclass(frozen=True)
class Pinned:
    """The graph of a boundary, and what is told of it in its copy."""

    boundary: int
    #: An epoch; or the graph itself, to which no batch is applied meanwhile.
    graph: GraphReader
    #: Whether it is copied for a checkpoint, in the end.
    checkpoint: bool
    #: As of `Copy`, if it is.
    reports: list[BatchReport]
    readers: list[str]
    sums: list[dict[int, ChunkSum]]
    ways: dict[str, int]
    left_out: dict[int, LeftOut]
    #: Rows that the last batch before the boundary was; None: this actor has not applied it.
    source: BatchSource | None
    window: dict[str, int | None] | None = None

    def close(self) -> None:
        """Give back what was kept of the graph."""
        if isinstance(self.graph, Epoch):
            self.graph.close()
