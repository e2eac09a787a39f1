"""What an actor is made of, but for the arrays of a checkpoint, which go another way."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..time_window import TimeWindow
from .handover import RingSize


@dataclass(frozen=True)
class ActorArguments:
    """Of one generation of the graph, see `actor.py`."""

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
    #: Those that follow each batch, with their parameters.
    maintain: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: That the graph made of a checkpoint must have; None: unknown.
    state_hash: str | None = None
    #: Beyond which edges leave, as it is at the boundary.
    window: TimeWindow = field(default_factory=TimeWindow)

    @property
    def is_dense(self) -> bool:
        """Whether ids are vertex indices."""
        return bool(self.graph_arguments.get("ids") == "dense")
