"""Events: outcomes of the instructions of a run, the input of `Lifecycle.handle`.

An event of the graph names the generation that it is of; those of an earlier one are ignored.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class RunStarted:
    """The run begins; the first event, and only once."""


@dataclass(frozen=True)
class BatchesPlanned:
    """The log has more: so many batches are planned by now."""

    batches: int


@dataclass(frozen=True)
class LogFailed:
    """New files of the log cannot be used; what is planned already can."""

    error: BaseException


@dataclass(frozen=True)
class StopRequested:
    """The run is to end soon, and in order: with the batches that it has begun to apply."""


@dataclass(frozen=True)
class GraphStarted:
    """A generation is there, with the batches before ``boundary`` in it."""

    generation: int
    boundary: int


@dataclass(frozen=True)
class GraphLost:
    """A generation is gone, with all it had in memory; ``reason`` is for the error at the end."""

    generation: int
    reason: str


@dataclass(frozen=True)
class BatchLoaded:
    """A load has ended, well or not: another may begin."""

    generation: int
    batch_id: int


@dataclass(frozen=True)
class BatchesApplied:
    """A generation has all batches before ``boundary``; events may come out of order."""

    generation: int
    boundary: int


@dataclass(frozen=True)
class BatchFailed:
    """A batch cannot be read, converted or applied; the graph is as before it."""

    generation: int
    batch_id: int
    error: BaseException


@dataclass(frozen=True)
class GraphFailed:
    """A graph cannot be started, analyzed or copied, or it broke in a batch: not to be kept."""

    generation: int
    error: BaseException


@dataclass(frozen=True)
class Analyzed:
    """Results of a boundary are computed, and at hand for WriteResults; may come out of order.

    Behind the GraphPinned of that boundary.
    """

    generation: int
    boundary: int
    #: Whether columns of them are to be written: arrays, which wait in memory for the disk.
    has_columns: bool


@dataclass(frozen=True)
class GraphPinned:
    """The graph of a boundary was kept as it was, and is at hand for Capture if it is to be copied.

    If results are due, it is not told before these are computed.
    """

    generation: int
    boundary: int
    #: Whether as an epoch, beside which batches can be applied.
    is_epoch: bool
    #: Graphs beside which there was no room for it, so that it waited for the oldest of them to be
    #: released; None: there was room at once.
    room: int | None = None


@dataclass(frozen=True)
class Captured:
    """The graph of a boundary is copied, and at hand for WriteCheckpoint."""

    generation: int
    boundary: int


@dataclass(frozen=True)
class Written:
    """The oldest WriteResults or WriteCheckpoint that was not answered yet is on disk."""


@dataclass(frozen=True)
class WriteFailed:
    """Something could not be written; nothing that was asked for after it is written either."""

    error: BaseException


@dataclass(frozen=True)
class ClockTicked:
    """Time has passed; nothing else happened."""


Event = (
    RunStarted
    | BatchesPlanned
    | LogFailed
    | StopRequested
    | GraphStarted
    | GraphLost
    | BatchLoaded
    | BatchesApplied
    | BatchFailed
    | GraphFailed
    | Analyzed
    | GraphPinned
    | Captured
    | Written
    | WriteFailed
    | ClockTicked
)
