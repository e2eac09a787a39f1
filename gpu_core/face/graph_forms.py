"""A graph in other forms: another graph like it, files, objects of other libraries.

What other libraries and files are is known above this package (``io/``): methods of their names are
the functions of ``graphtide`` of those names.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import VertexNotFoundError
from ..kind import ArenaSizes
from ..names.user_ids import nth
from .arguments import Ids
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
        """Return a graph of its own with the same vertices, edges, and vertex indices.

        Parameters
        ----------
        **settings
            Arguments of `DynamicGraph` that may be others than here: ``engine``, ``device``,
            ``layout``, ``storage``, ``page_bytes``, ``mean_degree``, ``reverse``,
            ``arena_bytes``, ``max_arena_bytes``, ``arena_growth``, ``arena_grow_at``,
            ``expected_edges``.
        """
        return self._made_of(self.checkpoint_arrays(), **settings)

    def subgraph(self, vertices: Ids, **settings: Any) -> DynamicGraph:
        """Return a graph of some vertices and all edges among them.

        Parameters
        ----------
        vertices
            Ids [k]; one may come twice.
        **settings
            As of `copy`.

        Raises
        ------
        VertexNotFoundError
            A vertex is not in the graph.
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
        """Write the graph into a folder, for `DynamicGraph.load`; gives the folder.

        The folder is there when it is whole: a reader meanwhile, or after a crash, has the
        graph that was saved there before, or this one.

        Raises
        ------
        StateError
            Something is there that is no saved graph, or the disk refuses.
        """
        from ... import save_graph

        return save_graph(self, path)

    def export_edges(self, path: str | Path) -> int:
        """Write the edges in the format of the file's name; returns their number.

        ``.parquet``, ``.csv``, ``.tsv``, ``.txt``, ``.mtx`` (Matrix Market) or ``.graphml``.
        """
        from ... import export_edges

        return export_edges(self, str(path))

    # -- other libraries ---------------------------------------------------------------------

    def to_arrow(self) -> Any:
        """Edges as a `pyarrow.Table`: ``src``, ``dst`` and the properties."""
        from ... import to_arrow

        return to_arrow(self)

    def to_pandas(self) -> Any:
        """Edges as a `pandas.DataFrame`: ``src``, ``dst`` and the properties."""
        from ... import to_pandas

        return to_pandas(self)

    def to_polars(self) -> Any:
        """Edges as a `polars.DataFrame`: ``src``, ``dst`` and the properties."""
        from ... import to_polars

        return to_polars(self)

    def to_networkx(self) -> Any:
        """Copy the graph to a `networkx.Graph` or ``DiGraph``, with properties of edges."""
        from ... import to_networkx

        return to_networkx(self)

    def to_igraph(self) -> Any:
        """Copy the graph to an `igraph.Graph`, with ids as the vertex attribute ``id``."""
        from ... import to_igraph

        return to_igraph(self)

    def to_scipy(self, *, weight: str | None = "weight") -> Any:
        """Copy the graph to a `scipy.sparse.csr_array`, rows in the order of `vertices`."""
        from ... import to_scipy

        return to_scipy(self, weight=weight)
