"""Start of a generation of the graph: the newest checkpoint, and the batches after it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...config.settings import RunSettings
from ...gpu_core.kind import RowMeaning
from ..batch_window import is_raw
from ..run_files import RunFiles
from ..time_window import TimeWindow
from ..workers.local_cluster import uses_gpu
from .handover import RingSize, ring_size
from .pinned import Arrays


@dataclass(frozen=True)
class Beginning:
    """Starting data of a generation, and what it is to be ready for."""

    #: Keyword arguments of `DynamicGraph`.
    graph_arguments: dict[str, Any]
    #: What a row of the log means.
    meaning: RowMeaning
    #: First batch to be applied, and the graph before it; None: an empty one.
    boundary: int
    arrays: Arrays | None
    #: Rows of the largest batch to come.
    batch_rows: int
    #: Wanted for the hand-over of batches; None: they go by Dask.
    ring: RingSize | None = None
    #: Whether nothing else will do.
    must_have_ring: bool = False
    #: Whether a graph that is on a GPU converts batches there.
    raw: bool = False
    #: Whether the graph will be on a GPU; None: that is not known.
    on_gpu: bool | None = None
    #: Analytics that the run computes results of.
    analytics: tuple[str, ...] = ()
    #: Those that follow each batch, with their parameters.
    maintain: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Types of ids that rows will have, see `LogListing.id_types`.
    id_types: frozenset[tuple[str, str]] = frozenset()
    #: That the graph made of ``arrays`` must have; None: unknown.
    state_hash: str | None = None
    #: Beyond which edges leave, as it is at the boundary.
    window: TimeWindow = field(default_factory=TimeWindow)

    @property
    def is_dense(self) -> bool:
        """Whether ids are vertex indices."""
        return bool(self.graph_arguments.get("ids") == "dense")


def newest_beginning(
    files: RunFiles, settings: RunSettings, window: int, max_loads: int | None
) -> Beginning:
    """Starting data of a generation now; window and loads as of `Lifecycle`."""
    graph = settings.graph
    boundary, arrays = files.newest_graph()
    return Beginning(
        graph_arguments={
            **graph.graph_arguments(),
            "expected_edges": files.most_edges(),
            "time_unit": files.log.time_unit,
        },
        meaning=graph.row_meaning(),
        boundary=boundary,
        arrays=arrays,
        batch_rows=files.largest_batch(boundary),
        ring=_ring_size(files, settings, boundary, window, max_loads),
        must_have_ring=settings.handover == "ring",
        raw=is_raw(settings),
        # Workers of another cluster may have what this machine has not.
        on_gpu=uses_gpu(settings) if settings.scheduler is None else None,
        analytics=tuple({each.kind: None for each in files.results.analyses.values()}),
        maintain={name: settings.parameters.get(name, {}) for name in settings.maintain},
        id_types=files.listing.id_types,
        state_hash=files.newest_hash(),
        window=files.newest_window(),
    )


def _ring_size(
    files: RunFiles, settings: RunSettings, boundary: int, window: int, max_loads: int | None
) -> RingSize | None:
    rows = files.largest_batch(boundary)
    if settings.handover == "dask" or rows == 0:
        return None
    if not files.follows:
        window = min(window, files.batches - boundary)
    graph, raw = settings.graph, is_raw(settings)
    is_narrow = graph.ids == "dense" or (raw and files.listing.has_narrow_ids)
    id_bytes = 4 if is_narrow else 8
    return ring_size(
        window, max_loads or window, rows, graph.row_meaning(), id_bytes=id_bytes, raw=raw
    )
