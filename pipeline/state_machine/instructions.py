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
    """Keep the graph as it is when it stands at a boundary, and compute the results due there.

    Answered by GraphPinned, and by Analyzed behind it if there are results; by neither where a
    batch before the boundary cannot be applied. When all that it is kept for is there, it is
    released.

    The actor gets it as it is. No two that are equal are asked for at once.
    """

    generation: int
    #: First batch that the graph does not have.
    boundary: int
    #: Names of the results that are due.
    results: tuple[str, ...]
    #: Whether a checkpoint is due: the graph is copied when the results are there.
    checkpoint: bool
    #: Whether batches follow, or may, so that an epoch is wanted, if there is room for one.
    epoch: bool


@dataclass(frozen=True)
class Apply:
    """Hand a loaded batch to the graph; answered by BatchesApplied or BatchFailed."""

    generation: int
    batch_id: int
    #: Pin of the boundary before it that was asked for and not answered: it comes first.
    behind: Pin | None = None


@dataclass(frozen=True)
class Capture:
    """Copy the oldest graph that is pinned, for a checkpoint; answered by Captured."""

    generation: int
    boundary: int


@dataclass(frozen=True)
class WriteResults:
    """Write what Analyzed brought. Writes are done one by one, in the order of the instructions."""

    boundary: int


@dataclass(frozen=True)
class WriteCheckpoint:
    """Write the reports of the batches ``first … boundary - 1``, then what Captured brought."""

    first: int
    boundary: int


@dataclass(frozen=True)
class Discard:
    """Release everything that a generation has asked for."""

    generation: int


@dataclass(frozen=True)
class Finish:
    """The run is over; ``error`` is what ended it before its end."""

    error: BaseException | None = None


Instruction = (
    StartGraph | Load | Pin | Apply | Capture | WriteResults | WriteCheckpoint | Discard | Finish
)
