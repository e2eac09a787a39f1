"""Status of the graph: its progress and memory, and the error that stopped it.

It is the actor's reply to a batch.

The error is stripped of its frames. These refer to the actor, its graph and its ring, and Dask, or
a cycle of errors, would keep them in memory long after the run.
"""

import pickle
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...gpu_core.errors import GraphtideError


@dataclass(frozen=True)
class Memory:
    """Memory of the graph worker."""

    #: Pages of the arena that hold something, bytes of one, and bytes that the arena may grow to.
    pages_used: int
    page_bytes: int
    limit_bytes: int
    #: Bytes of host memory that the graph worker could still take.
    host_free_bytes: int
    #: Region of the arena -> bytes, as in `MemoryReport`, bytes of epochs beside it, and edges of
    #: the graph, all at one moment a little while ago.
    regions: Mapping[str, int] = field(default_factory=dict)
    pinned_bytes: int = 0
    num_edges: int = 0
    #: Pages of an adjacency, and bytes of all such, as of `MemoryDetail`; at a moment longer ago.
    adjacency_bytes: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class GraphStatus:
    """Status of the graph; the actor's reply to a batch."""

    #: The graph has all batches before this one.
    boundary: int
    num_vertices: int
    num_edges: int
    #: None: as it was when the graph was lost, or before there was one.
    memory: Memory | None = None
    #: Stage -> seconds of all batches that this graph has applied (`gpu_core.report.STAGES`).
    seconds: Mapping[str, float] = field(default_factory=dict)
    #: The batch that could not be applied; no later one is. None: all could.
    failed_batch: int | None = None
    #: Pickled, since an error itself would keep the graph in memory: see `forget_frames`.
    pickled_error: bytes | None = None
    #: Whether the failed batch left the graph in an unknown state; else it is as before that batch.
    is_broken: bool = False

    @property
    def error(self) -> BaseException | None:
        """Why the failed batch failed."""
        return pickle.loads(self.pickled_error) if self.pickled_error else None


class GraphStoppedError(GraphtideError):
    """The graph takes no more batches; its status names the batch that failed, and why."""

    def __init__(self, status: GraphStatus) -> None:
        # Workers log it.
        super().__init__(f"batch {status.failed_batch} cannot be applied: {status.error}")
        self.status = status

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status,)


def pickled_error(error: Exception) -> bytes:
    """The error for a `GraphStatus`, or its text where the client could not read it."""
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
    except Exception:
        pickled = pickle.dumps(GraphtideError(f"{type(error).__name__}: {error}"))
    forget_frames(error)
    return pickled


def forget_frames(error: BaseException) -> None:
    """Drop what the frames of an error refer to: the actor, with the graph and its ring.

    Errors tend to lie in a cycle with a frame that caught them. In an idle worker all that they
    refer to would outlive the run, until the garbage collector happens to look.
    """
    link: BaseException | None = error
    while link is not None:
        traceback.clear_frames(link.__traceback__)
        link = link.__context__
