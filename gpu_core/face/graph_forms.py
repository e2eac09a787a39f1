"""A graph in other forms: a copy, files, objects of other libraries.

Methods for files and other libraries call the functions of ``graphtide`` of the same name, which
are above this package (``io/``).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import VertexNotFoundError
from ..kind import ArenaSizes
from ..names.user_ids import nth
from .arguments.checks import Ids
from .graph_copies import arrays_of_subgraph, settings_of_copy
from .graph_reader import GraphReader

if TYPE_CHECKING:
    from ... import DynamicGraph


class GraphForms(GraphReader):
    """Conversions of a graph, or of an epoch of it."""

    #: Sizes that the user gave.
    _sizes: ArenaSizes = ArenaSizes()

    # -- another graph -----------------------------------------------------------------------

    def copy(self, **settings: Any) -> DynamicGraph:
        """Return an independent graph with the same vertices, edges, and vertex indices.

        Parameters
        ----------
        **settings
            Arguments of `DynamicGraph` that may differ from this graph's: ``engine``, ``device``,
            ``layout``, ``storage``, ``page_bytes``, ``mean_degree``, ``reverse``,
            ``arena_bytes``, ``max_arena_bytes``, ``arena_growth``, ``arena_grow_at``,
            ``expected_edges``.

        Raises
        ------
        SettingsError
            Another argument is given, or a value is not allowed.
        ArenaFullError
            There is no memory for the copy.
        """
        return self._made_of(self.checkpoint_arrays(), **settings)

    def subgraph(self, vertices: Ids, **settings: Any) -> DynamicGraph:
        """Return an independent graph of some vertices and all edges among them.

        Parameters
        ----------
        vertices
            Ids [k]; duplicates count once.
        **settings
            As of `copy`.

        Raises
        ------
        VertexNotFoundError
            A vertex is not in the graph.
        SettingsError
            As of `copy`.
        """
        ids = self._ids.keys("vertices", vertices)
        csr = self.csr_of_keys()
        chosen = np.isin(csr.vertices, ids)
        if np.unique(ids).size != np.count_nonzero(chosen):
            unknown = int(np.flatnonzero(~np.isin(ids, csr.vertices))[0])
            msg = f"vertex {nth(vertices, unknown)} is not in the graph; check with has_vertices()"
            raise VertexNotFoundError(msg)
        arrays = arrays_of_subgraph(self._kind, csr, chosen)
        return self._made_of(arrays | self._ids.arrays_of(csr.vertices[chosen]), **settings)

    def _made_of(self, arrays: dict[str, Any], **settings: Any) -> DynamicGraph:
        from ... import DynamicGraph

        where = self._reader.name, self._reader.ordinal
        wanted = settings_of_copy(self._kind, self._sizes, *where, settings)
        return DynamicGraph.from_checkpoint_arrays(arrays, **wanted)

    # -- files -------------------------------------------------------------------------------

    def save(self, path: str | Path) -> Path:
        """Write the graph to a folder, for `DynamicGraph.load`.

        The folder is replaced as a whole: a reader meanwhile, or after a crash, finds the graph
        that was saved there before, or this one.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        StateError
            The path has something that is no saved graph, or the disk cannot be written.
        """
        from ... import save_graph

        return save_graph(self, path)

    def export_edges(self, path: str | Path) -> int:
        """Write the edges to a file; see `graphtide.export_edges`.

        Parameters
        ----------
        path
            Its ending decides the format: ``.parquet``, ``.csv``, ``.tsv``, ``.txt``, ``.mtx``
            (Matrix Market) or ``.graphml``.

        Returns
        -------
        int
            Number of edges; an undirected edge counts once.

        Raises
        ------
        SettingsError
            The ending is unknown, or the format cannot hold the graph.
        """
        from ... import export_edges

        return export_edges(self, path)

    # -- other libraries ---------------------------------------------------------------------

    def to_arrow(self) -> Any:
        """Edges, sorted by (src, dst), as a `pyarrow.Table`: ``src``, ``dst``, properties."""
        from ... import to_arrow

        return to_arrow(self)

    def to_pandas(self) -> Any:
        """Edges, sorted by (src, dst), as a `pandas.DataFrame`: ``src``, ``dst``, properties."""
        from ... import to_pandas

        return to_pandas(self)

    def to_polars(self) -> Any:
        """Edges, sorted by (src, dst), as a `polars.DataFrame`: ``src``, ``dst``, properties."""
        from ... import to_polars

        return to_polars(self)

    def to_networkx(self) -> Any:
        """Copy the graph to a `networkx.Graph` or ``DiGraph``; see `graphtide.to_networkx`."""
        from ... import to_networkx

        return to_networkx(self)

    def to_igraph(self) -> Any:
        """Copy the graph to an `igraph.Graph`, with users' ids as the vertex attribute ``id``."""
        from ... import to_igraph

        return to_igraph(self)

    def to_scipy(self, *, weight: str | None = "weight") -> Any:
        """Copy the graph to a `scipy.sparse.csr_array` [n, n], in the order of `vertices`.

        Parameters
        ----------
        weight
            Property of edges that is the value of an entry; ``"weight"`` is 1 without weights.
            None: 1 each.

        Raises
        ------
        SettingsError
            There is no such property.
        """
        from ... import to_scipy

        return to_scipy(self, weight=weight)
