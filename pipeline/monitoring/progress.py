"""Progress of a run, for progress lines, status and log files."""

from dataclasses import asdict, dataclass
from typing import Any

from ..run_files import RunFiles
from .limits import Limit
from .picture import Picture


@dataclass(frozen=True)
class Progress:
    """Progress of a run."""

    #: Batches that are in the graph, and batches planned; both count from the log's beginning.
    batches_done: int
    batches_total: int
    #: Boundary of the newest whole checkpoint, likewise.
    batches_checkpointed: int
    #: Rows that this run has applied and that it is to apply, and rows applied a second since its
    #: first batch was asked for, but for the time in which it waited for files.
    rows_done: int
    rows_total: int
    rows_per_second: float
    num_vertices: int
    num_edges: int
    #: What goes on: ``start``, ``apply``, ``analytics``, ``checkpoint``, ``recover``, ``waiting``
    #: (for files) or ``end``.
    stage: str
    #: Address of Dask's dashboard, where one is on.
    dashboard: str | None = None
    #: How arena, memory and disk stand; nothing before there is a graph.
    limits: tuple[Limit, ...] = ()
    #: For dashboard, Prometheus and ``graphtide status``; None before the loop has begun.
    picture: Picture | None = None

    @property
    def seconds_left(self) -> float | None:
        """Time that the rows to come take at this rate; None where that is not known."""
        if not self.rows_per_second:
            return None
        return (self.rows_total - self.rows_done) / self.rows_per_second

    def begins_recovery(self, before: "Progress | None") -> bool:
        """Whether a graph is being made again since ``before``.

        Nothing else is published until it is there, so this is published at once.
        """
        return self.stage == "recover" and (before is None or before.stage != "recover")

    def values(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**asdict(self), "seconds_left": self.seconds_left}


#: How far a run is that waits for the first file of its log: there is no state yet.
WAITING_FOR_A_LOG = Progress(
    batches_done=0,
    batches_total=0,
    batches_checkpointed=0,
    rows_done=0,
    rows_total=0,
    rows_per_second=0.0,
    num_vertices=0,
    num_edges=0,
    stage="waiting",
)


def initial_progress(files: RunFiles) -> Progress:
    """Progress of a run that has applied nothing yet."""
    first = files.checkpointed
    num_vertices, num_edges = files.newest_size()
    return Progress(
        batches_done=first,
        batches_total=files.log.batches,
        batches_checkpointed=first,
        rows_done=0,
        rows_total=files.log.rows_before(files.log.batches) - files.log.rows_before(first),
        rows_per_second=0.0,
        num_vertices=num_vertices,
        num_edges=num_edges,
        stage="start",
    )
