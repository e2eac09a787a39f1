"""Maintained results that look at the graph before each batch, also while they are stale."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...batch.protocols import ListedBatch
    from ...engine import Engine
    from ...image.accounts import Outcome


class Prepared(ABC):
    """An `engine.Maintained` that is called before and after each batch."""

    twin: str

    @abstractmethod
    def prepare(self, engine: Engine, batch: ListedBatch) -> ListedBatch:
        """Look at the rows that a batch will change.

        Returns the batch, or a copy of it in the engine's memory, which is applied next unless it
        is refused. ``batch_lock`` is held.
        """

    @abstractmethod
    def applied(self, engine: Engine, outcome: Outcome) -> None:
        """Take note that it was applied; not called if it was refused. ``batch_lock`` is held."""

    @abstractmethod
    def forget(self) -> None:
        """Become stale."""
