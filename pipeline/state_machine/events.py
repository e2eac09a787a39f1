"""Events: outcomes of the instructions of a run, the input of `Lifecycle.handle`.

An event of the graph names the generation that it is of; those of an earlier one are ignored.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class RunStarted:
    """The run begins; the first event, and only once."""


@dataclass(frozen=True)
class BatchesPlanned:
    """The log has grown: the number of batches planned now."""

    batches: int


@dataclass(frozen=True)
class LogFailed:
    """New files of the log cannot be used; planned batches can."""

    error: BaseException


@dataclass(frozen=True)
class StopRequested:
    """The user asks the run to end with the batches that it has begun to apply."""


@dataclass(frozen=True)
class GraphStarted:
    """A generation is running, with the batches before ``boundary`` applied."""

    generation: int
    boundary: int


@dataclass(frozen=True)
class GraphLost:
    """A generation is gone, with all it had in memory; ``reason`` is shown to the user."""

    generation: int
    reason: str


@dataclass(frozen=True)
class BatchLoaded:
    """A load has ended, with or without an error: another may begin."""

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
    """A graph cannot be started, analyzed or copied, or a batch left it broken: do not keep it."""

    generation: int
    error: BaseException


@dataclass(frozen=True)
class Analyzed:
    """Results of a boundary are here, for WriteResults.

    It comes after the GraphPinned of that boundary; those of several boundaries in any order.
    """

    generation: int
    boundary: int
    #: Whether they have columns to be written: arrays, which stay in memory until then.
    has_columns: bool


@dataclass(frozen=True)
class GraphPinned:
    """The graph of a boundary is pinned, and can be copied if a checkpoint is due.

    If results are due, it is reported when these are computed.
    """

    generation: int
    boundary: int
    #: Whether as an epoch, beside which batches can be applied.
    is_epoch: bool
    #: Pinned graphs that memory holds at most, as was found: beside so many there was none for it,
    #: so that it waited until the oldest was released. None: it did not wait.
    most_pinned: int | None = None


@dataclass(frozen=True)
class GraphCopied:
    """The copy of a pinned graph is here, for WriteCheckpoint."""

    generation: int
    boundary: int


@dataclass(frozen=True)
class Written:
    """The oldest outstanding WriteResults or WriteCheckpoint is on disk."""


@dataclass(frozen=True)
class WriteFailed:
    """A write failed; no later one is done either."""

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
    | GraphCopied
    | Written
    | WriteFailed
    | ClockTicked
)
