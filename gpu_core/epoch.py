"""Epoch: the graph as it was after one batch, while other threads apply the next ones.

An epoch is a copy of the words in use of the graph's image, in memory of its own, next to the
graph: on a GPU 31 M entries are copied in a fraction of a millisecond. It has every query,
algorithm and export of the graph, and shares nothing with it: no lock, and on a GPU no stream; but
ranks may be left to it (`DynamicGraph.pin`). It is accounted for in `DynamicGraph.memory`
(``pinned_bytes``) until it is closed.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from .engine import Pinned
from .errors import EpochClosedError
from .face.graph_forms import GraphForms
from .face.graph_reader import size_text
from .kind import ArenaSizes, GraphKind
from .names.user_ids import UserIds
from .printable import counted
from .properties.graph_values import GraphValues
from .times import TimeUnit


class Epoch(GraphForms):
    """The graph as it was at one moment, immutable; made by `DynamicGraph.pin`.

    It has every query, algorithm and export of the graph. Its memory is freed at the end of
    ``with``, or by `close`; later calls raise `EpochClosedError`.

    Attributes
    ----------
    batches
        Number of batches that the graph had applied, since it was created or restored.
    nbytes
        Memory of the copy in bytes.

    Examples
    --------
    >>> import graphtide
    >>> graph = graphtide.DynamicGraph()
    >>> _ = graph.insert_edges([1, 2], [2, 3])
    >>> with graph.pin() as epoch:
    ...     _ = graph.delete_vertices([2])
    ...     epoch.num_edges, graph.num_edges
    (2, 0)
    """

    def __init__(
        self,
        kind: GraphKind,
        pinned: Pinned,
        time_unit: TimeUnit | None,
        ids: UserIds,
        values: GraphValues | None,
        batches: int,
        sizes: ArenaSizes,
    ) -> None:
        self._kind = kind
        self._sizes = sizes
        self._values = values
        self._ids = ids
        #: The table of names is the graph's, which goes on to fill it.
        self._names_mark = None if ids.names is None else ids.names.mark()
        self._time_unit = time_unit
        self._pinned: Pinned | None = pinned
        self.batches = batches
        self.nbytes = pinned.nbytes

    def __reduce__(self) -> tuple[Any, ...]:
        msg = "an epoch is memory beside its graph; pickle or copy epoch.copy(), which is a graph"
        raise TypeError(msg)

    @property
    def _reader(self) -> Pinned:
        if self._pinned is None:
            msg = (
                f"the epoch after {counted(self.batches, 'batch')} was closed; pin the graph again"
            )
            raise EpochClosedError(msg)
        return self._pinned

    @property
    def is_closed(self) -> bool:
        """Whether it is closed."""
        return self._pinned is None

    def close(self) -> None:
        """Free its memory, after the calls that are using it; a second call does nothing.

        Results of algorithms remain valid.
        """
        pinned = self._pinned
        if pinned is not None:
            # A call that is at work in another thread reads both to its end.
            with pinned.lock:
                self._pinned = self._values = None
                pinned.close()

    def __enter__(self) -> Epoch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._pinned is None:
            return f"<Epoch after {counted(self.batches, 'batch')}, closed>"
        return (
            f"<Epoch after {counted(self.batches, 'batch')}, {self._described()}, "
            f"{size_text(self.nbytes)}>"
        )
