"""Maintained results that look at the graph before each batch, also while they are stale."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...batch.protocols import ListedBatch
    from ...engine import Engine
    from ...image.accounts import Outcome


class Prepared(ABC):
    """An `engine.Maintained` that is told of each batch before and after it."""

    twin: str

    @abstractmethod
    def prepare(self, engine: Engine, batch: ListedBatch) -> ListedBatch:
        """Look at the rows that a batch will change; gives it, or the same where the engine works.

        ``batch_lock`` is held. The batch is applied next, unless it is refused.
        """

    @abstractmethod
    def applied(self, engine: Engine, outcome: Outcome) -> None:
        """Learn what came of it; not called where it was refused. ``batch_lock`` is held."""

    @abstractmethod
    def forget(self) -> None:
        """Become stale."""
