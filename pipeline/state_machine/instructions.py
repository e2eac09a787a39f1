"""Instructions: what a run does next; output of `Lifecycle.handle`, executed by ``run_loop.py``.

Each says which event answers it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class StartGraph:
    """Restore the graph from the newest checkpoint; answered by GraphStarted."""

    generation: int


@dataclass(frozen=True)
class Load:
    """Read and convert a batch; answered by BatchLoaded. A failure is reported by its Apply."""

    generation: int
    batch_id: int


@dataclass(frozen=True)
class Pin:
    """Pin the graph at a boundary, and compute the results that are due there.

    Answered by GraphPinned, and then by Analyzed if there are results; by neither if a batch before
    the boundary cannot be applied. The graph is released when the results are computed, and the
    copy for the checkpoint is made.

    This is also the request that the actor gets. No two equal ones are outstanding at once.
    """

    generation: int
    #: First batch that the graph does not have.
    boundary: int
    #: Names of the results that are due.
    results: tuple[str, ...]
    #: Whether a checkpoint is due: the graph is copied when the results are there.
    checkpoint: bool
    #: Whether batches follow, or may: then as an epoch, if there is memory for one.
    epoch: bool


@dataclass(frozen=True)
class Apply:
    """Hand a loaded batch to the graph; answered by BatchesApplied or BatchFailed."""

    generation: int
    batch_id: int
    #: Pin of the boundary before it, requested and not answered yet: it must be made first.
    behind: Pin | None = None


@dataclass(frozen=True)
class CopyGraph:
    """Copy the oldest graph that is pinned, for a checkpoint; answered by GraphCopied."""

    generation: int
    boundary: int


@dataclass(frozen=True)
class WriteResults:
    """Write the results that Analyzed reported; writes are done in order of instructions."""

    boundary: int


@dataclass(frozen=True)
class WriteCheckpoint:
    """Write the reports of the batches ``first … boundary - 1``, then the copied graph."""

    first: int
    boundary: int


@dataclass(frozen=True)
class Discard:
    """Release all tasks of a generation."""

    generation: int


@dataclass(frozen=True)
class Finish:
    """The run is over; ``error`` is what ended it early."""

    error: BaseException | None = None


Instruction = (
    StartGraph | Load | Pin | Apply | CopyGraph | WriteResults | WriteCheckpoint | Discard | Finish
)
