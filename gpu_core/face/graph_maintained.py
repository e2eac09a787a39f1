"""Choice of the analytics that a graph maintains: a part of `DynamicGraph`.

How they follow batches: `maintenance.py`.
"""

from __future__ import annotations

from typing import Any

from ..engine import Engine
from ..maintenance import audit, maintain, maintained_by
from .graph_forms import GraphForms


class MaintainingGraph(GraphForms):
    """Maintained analytics of a graph that changes; a class of it sets ``_engine``."""

    _engine: Engine

    @property
    def maintained(self) -> tuple[str, ...]:
        """Names of the analytics that follow each batch."""
        return tuple(self._engine.maintained)

    def maintain(self, analytic: str, **parameters: Any) -> None:
        """Compute an analytic now, and keep its result up with each batch from now on.

        ``clustering``: answers are the same, to the bit. `clustering`, `triangles` and what follows
        from them take the maintained counts. 8 bytes a vertex. A directed graph needs its
        in-neighbors (``reverse=True``), and maintains the coefficients of one definition,
        ``directed``; others are counted when they are asked for. 20 to 32 bytes a vertex.

        ``pagerank``, without weights: `pagerank` and ``compute("pagerank")`` with this ``alpha``,
        this ``tol`` or a larger one, and nothing else that changes ranks take the maintained ranks.
        Their residual is within ``tol``, and ``error_bound`` is proven as ever. On the host they
        are repaired, which pays after small batches; 17 bytes a vertex. On a GPU steps start from
        the ranks before on request, as with ``nstart``; 8 bytes a vertex, or 16.

        ``weakly_connected_components``; a directed graph needs its in-neighbors
        (``reverse=True``). Answers are the same, to the bit. 12 bytes a vertex.

        A batch that changes so much that a repair would take longer than to recompute is not
        followed; the next question recomputes then. Epochs, copies, pickles, `save` and
        checkpoints carry what is maintained.

        Parameters
        ----------
        analytic
            ``"clustering"``, ``"pagerank"`` or ``"weakly_connected_components"``.
        parameters
            Of the analytic: ``directed`` of clustering, ``alpha`` and ``tol`` of PageRank. One that
            is maintained with others starts over.

        Raises
        ------
        SettingsError
            There is no such analytic, it cannot be maintained of such a graph, by its engine, or
            with such parameters.
        ConvergenceError
            PageRank would take too many steps.

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph.from_edges([1, 2], [2, 3], directed=False)
        >>> graph.maintain("clustering")
        >>> _ = graph.insert_edges([3], [1])
        >>> graph.triangles()
        array([1, 1, 1])
        """
        with self._engine.lock:
            maintain(self._engine, analytic, parameters)

    def unmaintain(self, analytic: str) -> None:
        """Stop following batches: the analytic is computed on request, as before.

        Raises
        ------
        SettingsError
            It is not maintained.
        """
        with self._engine.lock:
            maintained_by(self._engine, analytic)
            del self._engine.maintained[analytic]

    def audit(self) -> None:
        """Recompute all that is maintained, and compare it with what was kept, bit for bit.

        Of PageRank the residuals are compared, which decide how exact ranks are; on a GPU, where
        none are kept, nothing.

        Raises
        ------
        CorruptImageError
            It differs. What was recomputed is kept from then on.
        """
        with self._engine.lock:
            audit(self._engine, self._ids.shown)
