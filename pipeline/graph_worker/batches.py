"""A batch at two stages: as a CPU worker has loaded it, and as the graph has applied it."""

from dataclasses import dataclass, field

from dask.sizeof import sizeof

from ...gpu_core.report import BatchReport, BatchSource
from ...io.log.bad_rows import LeftOut
from ...io.log.batch_times import TimeRange
from ...io.parquet.page_checks import ChunkSum
from .handover import Payload


@dataclass(frozen=True)
class LoadedBatch:
    """A converted batch, as a CPU worker sends it."""

    payload: Payload
    #: Row group -> checksum of what was read of it.
    sums: dict[int, ChunkSum] = field(default_factory=dict)
    #: Rows that it is; None: of no log.
    source: BatchSource | None = None
    #: Seconds that ``read`` and ``convert`` took, and ``transfer`` as far as it was done there.
    seconds: dict[str, float] = field(default_factory=dict)
    #: Name of the worker that read it; empty outside of Dask.
    reader: str = ""
    #: Rows that are not in it.
    left_out: LeftOut | None = None
    #: Of the rows that insert an edge; None: there are none, or they have no times.
    times: TimeRange | None = None


@sizeof.register(LoadedBatch)
def _sizeof_loaded(loaded: LoadedBatch) -> int:
    # Dask would take it for a few bytes, and place and send it accordingly.
    left_out = loaded.left_out.table.nbytes if loaded.left_out else 0
    return int(loaded.payload.nbytes) + left_out


@dataclass(frozen=True)
class AppliedBatch:
    """Data of a batch that the next checkpoint writes beside the graph."""

    report: BatchReport
    #: Name of the worker that read it.
    reader: str
    #: Row group -> checksum of what was read of it.
    sums: dict[int, ChunkSum]
    #: Rows that were not applied.
    left_out: LeftOut | None = None
