"""Rules of a run: its limits, and when results and checkpoints are due. Made from settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RunRules:
    """Limits of a run's concurrency, and when results and checkpoints are due."""

    #: Batches that may be requested beyond those applied, ``>= 1``.
    window: int
    #: Batches that may be loaded at once, ``>= 1``.
    max_loads: int
    #: Name of each result -> batches between two of it; None: at the end only.
    analytics: Mapping[str, int | None] = field(default_factory=dict)
    #: Graphs that may be pinned at once, ``>= 1``.
    epochs: int = 1
    #: Longest time or number of batches between two checkpoints; None: no bound. There is always
    #: one at the end.
    checkpoint_seconds: float | None = None
    checkpoint_batches: int | None = None
    #: Generations that may be lost in a row without a new checkpoint between them.
    graph_restarts: int = 3
    #: Whether a new generation computes results again that a lost one has computed beyond the
    #: newest checkpoint. What is maintained has the bits that it would have had only if it is
    #: asked for after the same batches.
    repeats_results: bool = False
    #: Batches between two results of which all columns are written; None: they are of each result.
    columns_every: int | None = None

    def is_whole(self, name: str, boundary: int) -> bool:
        """Whether all columns of a result are written at a boundary where the log goes on."""
        return is_whole(boundary, self.analytics[name], self.columns_every)


def is_whole(boundary: int, every: int | None, columns_every: int | None) -> bool:
    """Whether a result is written whole that comes every so many batches, before the log's end.

    It is the first one at or after each multiple of ``columns_every``.
    """
    if every is None or columns_every is None:
        return True
    return boundary // columns_every > (boundary - every) // columns_every
