"""Choice of the analytics that a graph maintains: a part of `DynamicGraph`.

How they follow batches: `maintenance.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..engine import Engine
from ..maintenance import audit, maintain, maintain_only, maintained_by
from .graph_forms import GraphForms


class MaintainingGraph(GraphForms):
    """Maintained analytics of a graph that changes; a class of it sets ``_engine``."""

    _engine: Engine

    @property
    def maintained(self) -> tuple[str, ...]:
        """Names of the analytics that are maintained."""
        return tuple(self._engine.maintained)

    def maintain(self, analytic: str, **parameters: Any) -> None:
        """Compute an analytic now, and update its result with each batch from now on.

        ``clustering``: `clustering`, `triangles` and the averages use the maintained counts, and
        return the same bits as without. 8 bytes a vertex. A directed graph needs the reverse
        adjacency (``reverse=True``), takes 20 to 32 bytes a vertex, and maintains the coefficients
        of one definition, ``directed``; others are counted on request.

        ``pagerank``, without weights: `pagerank` and ``compute("pagerank")`` use the maintained
        ranks if they are called with this ``alpha``, this ``tol`` or a larger one, and no other
        argument that changes ranks. Their residual is within ``tol``, and ``error_bound`` is
        proven as for all ranks. On the host residuals are repaired with each batch, which pays
        after small batches; 17 bytes a vertex. On a GPU the earlier ranks are improved on request,
        by steps or, after few changes, by pushes; 8 to 40 bytes a vertex.

        ``weakly_connected_components``: the same components as without. A directed graph needs the
        reverse adjacency (``reverse=True``). 12 bytes a vertex.

        If a repair would take longer than to recompute, the result is recomputed on the next
        request instead. Epochs, copies, pickles, `save` and checkpoints contain the state.

        Parameters
        ----------
        analytic
            ``"clustering"``, ``"pagerank"`` or ``"weakly_connected_components"``.
        parameters
            Of the analytic: ``directed`` of clustering, ``alpha``, ``tol`` and ``max_iter`` of
            PageRank. If it is maintained with others, it starts over.

        Raises
        ------
        SettingsError
            There is no such analytic, or it cannot be maintained for this kind of graph, on this
            engine or with these parameters.
        ConvergenceError
            PageRank would take more than ``max_iter`` steps. On the host they go on until an eighth
            of ``tol``, so that batches may add to what is left.

        Notes
        -----
        Sources: Makkar, Bader, Green, "Exact and Parallel Triangle Counting in Dynamic Graphs",
        HiPC 2017; Zhang, Lofgren, Goel, "Approximate Personalized PageRank on Dynamic Graphs", KDD
        2016; Andersen, Chung, Lang, "Local Graph Partitioning using PageRank Vectors", FOCS 2006;
        McColl, Green, Bader, "A New Parallel Algorithm for Connected Components in Dynamic
        Graphs", HiPC 2013. ``docs/maintained.md`` has costs and limits.

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

    def maintain_only(self, analytics: Mapping[str, Mapping[str, Any]]) -> None:
        """Maintain these analytics and no others, as a run does of the graph of a checkpoint.

        What cannot be computed now, because it would take too many steps or there is no memory, is
        computed when it is asked for. Where one is refused, all stays as it is.

        Parameters
        ----------
        analytics
            Their names, with parameters as of `maintain`.

        Raises
        ------
        SettingsError
            As of `maintain`.
        """
        with self._engine.lock:
            maintain_only(self._engine, analytics)

    def unmaintain(self, analytic: str) -> None:
        """Stop maintaining an analytic: it is computed on request, as before.

        Raises
        ------
        SettingsError
            It is not maintained.
        """
        with self._engine.lock:
            maintained_by(self._engine, analytic)
            del self._engine.maintained[analytic]

    def audit(self) -> None:
        """Recompute all maintained results, and compare them with the kept ones, bit for bit.

        Of PageRank residuals are compared, which bound the error of ranks; on a GPU only if they
        have followed batches, as after pushes.

        Raises
        ------
        CorruptImageError
            They differ. The recomputed ones are kept from then on.
        """
        with self._engine.lock:
            audit(self._engine, self._ids.ids_of_keys)
