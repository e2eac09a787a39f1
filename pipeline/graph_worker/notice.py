"""Notices: the actor's answer to a batch, and errors stripped of references to the graph.

An error refers to the frames that it passed, and so to the actor, its graph and its ring. Dask, and
cycles of errors, would keep all that for long after the run.
"""

import pickle
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...gpu_core.errors import GraphtideError


@dataclass(frozen=True)
class Memory:
    """How memory stands where the graph is."""

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
class Notice:
    """What the actor answers to a batch."""

    #: The graph has all batches before this one.
    boundary: int
    num_vertices: int
    num_edges: int
    #: None: as it was when the graph was lost, or before there was one.
    memory: Memory | None = None
    #: Stage -> seconds of all batches that this graph has applied (`gpu_core.report.STAGES`).
    seconds: Mapping[str, float] = field(default_factory=dict)
    #: The batch that ended it all, and why; None: there is none so far.
    failed_batch: int | None = None
    #: Pickled, since an error itself would keep the graph in memory: see `forget_frames`.
    pickled_error: bytes | None = None
    #: Whether the graph is no more what it was before the failed batch.
    is_broken: bool = False

    @property
    def error(self) -> BaseException | None:
        """Why the failed batch failed."""
        return pickle.loads(self.pickled_error) if self.pickled_error else None


class GraphStoppedError(GraphtideError):
    """A graph takes no more batches; its notice names the batch that ended it all, and why."""

    def __init__(self, notice: Notice) -> None:
        # Workers log it.
        super().__init__(f"batch {notice.failed_batch} cannot be applied: {notice.error}")
        self.notice = notice

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.notice,)


def pickled_error(error: Exception) -> bytes:
    """The error for a `Notice`, or its text where the client could not read it."""
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
