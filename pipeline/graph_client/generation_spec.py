"""Specification of a generation: the checkpoint to restore, and the batches to come."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...config.settings import RunSettings
from ...gpu_core.kind import RowMeaning
from ..batch_window import is_raw
from ..graph_worker.actor_arguments import ActorArguments
from ..graph_worker.handover import RingSize, ring_size
from ..graph_worker.pinned import Arrays
from ..run_files import RunFiles
from ..state_machine.run_rules import RunRules
from ..workers.local_cluster import uses_gpu


@dataclass(frozen=True)
class GenerationSpec:
    """What a generation starts from, and what it must be prepared for."""

    arguments: ActorArguments
    #: What a row of the log means.
    meaning: RowMeaning
    #: The graph at the generation's boundary; None: an empty one.
    arrays: Arrays | None
    #: Rows of the largest batch to come.
    batch_rows: int
    #: Whether the run fails if workers cannot use a ring (``handover: ring``).
    must_have_ring: bool = False
    #: Whether the graph will be on a GPU; None: that is not known.
    on_gpu: bool | None = None
    #: Types of ids that rows will have, see `LogListing.id_types`.
    id_types: frozenset[tuple[str, str]] = frozenset()


def newest_spec(files: RunFiles, settings: RunSettings, rules: RunRules) -> GenerationSpec:
    """Specification of a generation that starts now."""
    graph = settings.graph
    boundary, arrays = files.newest_graph()
    arguments = ActorArguments(
        {
            **graph.graph_arguments(),
            "expected_edges": files.most_edges(),
            "time_unit": files.log.update_log.time_unit,
        },
        boundary,
        ring=_ring_size(files, settings, boundary, rules),
        raw=is_raw(settings),
        analytics=tuple({each.kind: None for each in files.results.analyses.values()}),
        maintain=_with_parameters(settings.maintain, settings),
        maintain_on_gpu=_with_parameters(settings.maintain_on_gpu, settings),
        state_hash=files.newest_hash(),
        window=files.newest_window(),
    )
    return GenerationSpec(
        arguments,
        meaning=graph.row_meaning(),
        arrays=arrays,
        batch_rows=files.log.largest_batch(boundary),
        must_have_ring=settings.handover == "ring",
        # Workers of a cluster of the user's may have a GPU where this machine has none.
        on_gpu=uses_gpu(settings) if settings.scheduler is None else None,
        id_types=files.log.listing.id_types,
    )


def _with_parameters(names: Iterable[str], settings: RunSettings) -> dict[str, Mapping[str, Any]]:
    return {name: settings.parameters.get(name, {}) for name in names}


def _ring_size(
    files: RunFiles, settings: RunSettings, boundary: int, rules: RunRules
) -> RingSize | None:
    rows = files.log.largest_batch(boundary)
    if settings.handover == "dask" or rows == 0:
        return None
    window = rules.window
    if not files.log.follows:
        window = min(window, files.log.batches - boundary)
    graph, raw = settings.graph, is_raw(settings)
    is_narrow = graph.ids == "dense" or (raw and files.log.listing.has_narrow_ids)
    id_bytes = 4 if is_narrow else 8
    return ring_size(window, rules.max_loads, rows, graph.row_meaning(), id_bytes=id_bytes, raw=raw)
