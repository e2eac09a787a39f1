"""Pinned graphs, of which results and checkpoints are made, and the queue of them."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Condition
from typing import Literal, Self

import numpy as np

from ...gpu_core.epoch import Epoch
from ...gpu_core.errors import EpochClosedError
from ...gpu_core.face.graph_reader import GraphReader
from ...gpu_core.graph import DynamicGraph
from ...gpu_core.id_kinds import are_names
from ...gpu_core.report import BatchSource
from .batch_results import BatchResults, SharedResults
from .batches import AppliedBatch
from .graph_status import GraphStatus
from .shared_arrays import ArraysAddress

#: What ``DynamicGraph.checkpoint_arrays`` returns.
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Copy:
    """The graph between two batches, for a checkpoint."""

    #: The arrays, or where they lie in shared memory until they are released.
    arrays: Arrays | ArraysAddress
    #: Since the copy before, or since the start.
    batches: list[AppliedBatch]
    #: None where the arrays give it (`checkpoint_hash`): then the graph goes on meanwhile.
    state_hash: str | None
    num_vertices: int
    num_edges: int
    #: Route of the hand-over -> batches that came by it, since the copy before or the start.
    routes: dict[str, int]
    #: What the manifest keeps of the window (`TimeWindow.kept`); None: there is none.
    window: dict[str, int | None] | None = None
    #: How the graph stood when the copy was made, which may be some batches on; None: unknown.
    status: GraphStatus | None = None


@dataclass(frozen=True)
class CopiedGraph:
    """Arrays of a graph that a checkpoint keeps, copied out of it."""

    #: Replaced one by one where they are moved to shared memory.
    arrays: Arrays
    #: As of `Copy`.
    state_hash: str | None
    num_vertices: int
    num_edges: int

    @classmethod
    def of(cls, graph: GraphReader) -> Self:
        """Copy a graph, which is not changed meanwhile."""
        state_hash = None if is_hashed_by_client(graph) else graph.state_hash()
        arrays: Arrays = graph.checkpoint_arrays()
        return cls(arrays, state_hash, int(graph.num_vertices), int(graph.num_edges))


def is_hashed_by_client(graph: GraphReader) -> bool:
    """Whether the client computes the state hash, from the copy, while it writes the files.

    It must be able to (`checkpoint_hash`). Of any ids on a GPU the engine does it all the same: a
    GPU puts rows in the order of the ids sooner than the client's cores do.
    """
    return graph.ids == "dense" or (graph.directed and graph.engine == "host")


def is_copied_at_once(graph: DynamicGraph) -> bool:
    """Whether batches wait no longer for the copy of a checkpoint than for an epoch.

    An epoch on the host is a copy of the whole image, both directions and the room between rows: of
    6.7 M edges with any ids it takes 170 to 250 ms of processor time, and then the copy of the
    checkpoint 190 to 230, where that takes 100 to 130 of the graph itself. Names, properties and
    what is maintained an epoch shares with the graph.
    """
    shares = are_names(graph.ids) or graph.properties or graph.vertex_properties or graph.maintained
    return graph.engine == "host" and not shares and is_hashed_by_client(graph)


#: What was pinned: an epoch, beside which batches are applied; the graph itself, so that batches
#: wait; or nothing, because the graph never was at that boundary.
PinnedAs = Literal["epoch", "graph", "missed"]


@dataclass(frozen=True)
class PinAnswer:
    """Answer to a `Pin`."""

    kept: PinnedAs
    #: As of `events.GraphPinned`.
    most_pinned: int | None = None
    #: Results of it, or their address in shared memory; None: none were requested.
    results: BatchResults | SharedResults | None = None


@dataclass(frozen=True)
class PinnedBoundary:
    """The graph of a boundary, and the data that a checkpoint of it needs."""

    boundary: int
    #: An epoch; or the graph itself, to which no batch is applied meanwhile; or its copy.
    graph: GraphReader | CopiedGraph
    #: Whether it is copied for a checkpoint, in the end.
    checkpoint: bool
    #: Rows that the last batch before the boundary was; None: this actor has not applied it.
    source: BatchSource | None
    window: dict[str, int | None] | None = None
    #: As of `Copy`, if it is copied.
    batches: list[AppliedBatch] = field(default_factory=list)
    routes: dict[str, int] = field(default_factory=dict)

    def close(self) -> None:
        """Release the epoch, if it is one."""
        if isinstance(self.graph, Epoch):
            self.graph.close()


class PinnedQueue:
    """Graphs that are pinned, the oldest first; one of them is read at a time.

    They are added by one thread and read by others, of which one that comes early waits.
    """

    def __init__(self) -> None:
        self._graphs: deque[PinnedBoundary] = deque()
        #: Whether the oldest is being read.
        self._is_read = False
        self._is_given_up = False
        #: How many were released.
        self.released = 0
        self._changed = Condition()

    def __len__(self) -> int:
        return len(self._graphs)

    def append(self, pinned: PinnedBoundary) -> None:
        """Add one after the others."""
        with self._changed:
            self._graphs.append(pinned)

    def has(self, graph: DynamicGraph) -> bool:
        """Whether this graph itself is among them, so that no batch may be applied to it."""
        with self._changed:
            return any(each.graph is graph for each in self._graphs)

    def wait_for_release(self, before: int) -> None:
        """Wait until more than ``before`` were released; after `give_up`, do not wait."""
        with self._changed:
            self._changed.wait_for(lambda: self.released > before or self._is_given_up)

    def give_up(self) -> None:
        """End all calls of `wait_for_release`, these and later ones."""
        with self._changed:
            self._is_given_up = True
            self._changed.notify_all()

    def clear(self) -> None:
        """Release all; none is to be read any more."""
        with self._changed:
            self._graphs.clear()
            self._changed.notify_all()

    @contextmanager
    def reading(self, boundary: int, *, checkpoint: bool) -> Iterator[PinnedBoundary]:
        """The graph of a boundary, once it is the oldest.

        It is released if this is what it was pinned for last: to be copied for a ``checkpoint``,
        if it was for one, and else for results; also where reading it fails.

        Raises
        ------
        EpochClosedError
            It was released by `clear`.
        """
        with self._changed:
            self._changed.wait_for(partial(self._is_turn_of, boundary))
            if not self._graphs:
                msg = f"the graph of boundary {boundary} was given up"
                raise EpochClosedError(msg)
            pinned, self._is_read = self._graphs[0], True
        is_last = True
        try:
            yield pinned
            is_last = pinned.checkpoint == checkpoint
        finally:
            if is_last:
                pinned.close()
            with self._changed:
                self._is_read = False
                # Not before `close`: who pins the next one asks whether there is one that has room.
                if is_last and self._graphs:  # `clear` may have been called meanwhile
                    self._graphs.popleft()
                    self.released += 1
                self._changed.notify_all()

    def _is_turn_of(self, boundary: int) -> bool:
        """Whether the graph of a boundary can be read now, or never will be."""
        is_there = any(each.boundary == boundary for each in self._graphs)
        assert is_there or not self._graphs, f"boundary {boundary} is not pinned"
        return not self._graphs or (self._graphs[0].boundary == boundary and not self._is_read)
