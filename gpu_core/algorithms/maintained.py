"""What can be maintained: results that follow each batch instead of being computed anew.

An analytic that can says so, ``Analytic.maintained``, and `DynamicGraph.maintain` asks for it. A
`Maintained` goes by rows, changed edges and arrays of its own. Who calls it, and when:
`gpu_core/maintenance.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ..engine import Reader

#: An array of the engine's array module.
Array = Any


class Maintained(Protocol):
    """A result that follows each batch, or *stale*: to be computed anew when somebody asks.

    ``reader`` is the graph, or an epoch of it, whose lock the caller holds.
    """

    #: Name of its twins in ``host/analytics`` and ``cuda/analytics``.
    twin: str

    @property
    def is_stale(self) -> bool:
        """Whether there is no state; `begin` makes one."""

    @property
    def nbytes(self) -> int:
        """Bytes of the state, where the engine works; 0 of a stale one."""

    def begin(self, reader: Reader) -> None:
        """Compute the state from nothing."""

    def follow(self, reader: Reader, edges: Array, *, is_added: bool) -> None:
        """Take one step of a batch, or become stale where `begin` costs less.

        Parameters
        ----------
        reader
            The graph that has all of ``edges``: before the batch where it removes them, after it
            where it adds them. A batch that does both removes first.
        edges
            Keys of the changed edges, at least one; see `gpu_core/changes.py`.
        """

    def forget(self) -> None:
        """Become stale."""

    def state(self, reader: Reader) -> Any:
        """What the analytic takes in place of its costly part; computed where it is stale."""

    def frozen(self) -> Maintained:
        """Copy it for an epoch of the graph as it is; shares arrays, which do not change then."""

    def arrays(self, reader: Reader) -> dict[str, npt.NDArray[np.generic]]:
        """The state as arrays of a checkpoint; nothing where it is stale."""

    def restore(self, reader: Reader, arrays: Mapping[str, npt.NDArray[np.generic]]) -> bool:
        """Take the state from such arrays; returns whether they are among these."""
