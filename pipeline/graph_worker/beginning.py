"""Start of a generation of the graph: the newest checkpoint, and the batches after it."""

from dataclasses import dataclass

from ...config.settings import RunSettings
from ...gpu_core.kind import RowMeaning
from ..batch_window import is_raw
from ..run_files import RunFiles
from ..workers.local_cluster import uses_gpu
from .actor_arguments import ActorArguments
from .handover import RingSize, ring_size
from .pinned import Arrays


@dataclass(frozen=True)
class Beginning:
    """Starting data of a generation, and what it is to be ready for."""

    arguments: ActorArguments
    #: What a row of the log means.
    meaning: RowMeaning
    #: The graph at the generation's boundary; None: an empty one.
    arrays: Arrays | None
    #: Rows of the largest batch to come.
    batch_rows: int
    #: Whether nothing but its ring will do.
    must_have_ring: bool = False
    #: Whether the graph will be on a GPU; None: that is not known.
    on_gpu: bool | None = None
    #: Types of ids that rows will have, see `LogListing.id_types`.
    id_types: frozenset[tuple[str, str]] = frozenset()


def newest_beginning(
    files: RunFiles, settings: RunSettings, window: int, max_loads: int | None
) -> Beginning:
    """Starting data of a generation now; window and loads as of `Lifecycle`."""
    graph = settings.graph
    boundary, arrays = files.newest_graph()
    arguments = ActorArguments(
        {
            **graph.graph_arguments(),
            "expected_edges": files.most_edges(),
            "time_unit": files.log.time_unit,
        },
        boundary,
        ring=_ring_size(files, settings, boundary, window, max_loads),
        raw=is_raw(settings),
        analytics=tuple({each.kind: None for each in files.results.analyses.values()}),
        maintain={name: settings.parameters.get(name, {}) for name in settings.maintain},
        state_hash=files.newest_hash(),
        window=files.newest_window(),
    )
    return Beginning(
        arguments,
        meaning=graph.row_meaning(),
        arrays=arrays,
        batch_rows=files.largest_batch(boundary),
        must_have_ring=settings.handover == "ring",
        # Workers of another cluster may have what this machine has not.
        on_gpu=uses_gpu(settings) if settings.scheduler is None else None,
        id_types=files.listing.id_types,
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
