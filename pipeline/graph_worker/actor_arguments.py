"""Arguments of the actor, without the arrays of a checkpoint, which are sent apart from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..time_window import TimeWindow
from .handover import RingSize


@dataclass(frozen=True)
class ActorArguments:
    """Arguments of the actor of one generation (`actor.py`)."""

    #: Keyword arguments of `DynamicGraph`.
    graph_arguments: dict[str, Any]
    #: First batch to be applied.
    boundary: int = 0
    #: Size of the ring that batches may come through; None: they come by Dask.
    ring: RingSize | None = None
    #: Whether batches may come as rows, if the graph is on a GPU.
    raw: bool = False
    #: Analytics that the run computes results of.
    analytics: tuple[str, ...] = ()
    #: Analytics whose results are kept up to date by each batch -> their parameters.
    maintain: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Likewise those of which that holds if the graph is on a GPU.
    maintain_on_gpu: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: State hash that the restored graph must have; None: unknown.
    state_hash: str | None = None
    #: The sliding window at the boundary.
    window: TimeWindow = field(default_factory=TimeWindow)

    def maintained(self, engine: str) -> dict[str, Mapping[str, Any]]:
        """What a graph of this engine maintains -> its parameters."""
        return {**self.maintain, **(self.maintain_on_gpu if engine == "cuda" else {})}

    @property
    def is_dense(self) -> bool:
        """Whether ids are vertex indices."""
        return bool(self.graph_arguments.get("ids") == "dense")
