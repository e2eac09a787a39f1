"""Copies of graphs for other libraries: networkx, igraph, SciPy, Arrow, pandas, polars.

They are in canonical order, with users' ids. Timestamps come out as such, with their unit and,
where the form knows zones, their zone. The other library is imported when it is asked for, and none
but Arrow is a dependency of this package.

Not here: graphs made of those of other libraries (`from_libraries.py`), networkx functions that run
on graphtide (`networkx_backend.py`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...gpu_core.choices import choice_shown, is_among
from ...gpu_core.copies.snapshot import CanonicalEdges
from ...gpu_core.errors import SettingsError
from ...gpu_core.face.graph_reader import GraphReader
from ...gpu_core.table import Table
from .edge_table import edge_table, table_of
from .given_graph import check_graph

if TYPE_CHECKING:
    import igraph
    import networkx as nx
    import pandas as pd
    import polars as pl
    import scipy.sparse


def to_networkx(graph: GraphReader) -> "nx.Graph[int] | nx.DiGraph[int]":
    """Copy a graph to networkx: a Graph or DiGraph with properties as attributes.

    Nodes are users' ids. Timestamps become `numpy.datetime64`, in UTC if they have a zone.

    Raises
    ------
    SettingsError
        networkx is not installed, or ``graph`` is none.
    """
    check_graph(graph)
    networkx = _library("networkx")
    copy = networkx.DiGraph() if graph.directed else networkx.Graph()
    with graph.lock:  # both as of one moment
        own = graph.vertex_properties
        of_vertices = graph.vertex_values().columns if own else {"vertex": graph.vertices()}
        edges = graph.edges()
    vertices = of_vertices["vertex"].tolist()
    copy.add_nodes_from(vertices)
    for name in own:
        items = zip(vertices, of_vertices[name].tolist(), strict=True)
        networkx.set_node_attributes(copy, dict(items), name)
    names = list(edges.properties)
    columns = [_items(edges.properties[name]) for name in names]
    pairs = zip(edges.src.tolist(), edges.dst.tolist(), strict=True)
    if names:
        values = (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
        copy.add_edges_from((u, v, data) for (u, v), data in zip(pairs, values, strict=True))
    else:
        copy.add_edges_from(pairs)
    return copy


def to_scipy(graph: GraphReader, *, weight: str | None = "weight") -> "scipy.sparse.csr_array":
    """Copy a graph to a SciPy CSR array, rows in the order of ``graph.vertices()``.

    Parameters
    ----------
    graph
        The graph. An undirected one gives a symmetric matrix.
    weight
        Property of edges that is the value of an entry; ``"weight"`` is 1 without weights. None: 1.

    Returns
    -------
    scipy.sparse.csr_array
        [n, n]; entries of a row are in increasing order of columns.

    Raises
    ------
    SettingsError
        SciPy is not installed, or there is no such property.
    """
    check_graph(graph)
    sparse = _library("scipy.sparse", "scipy")
    csr = graph.to_csr()
    n = csr.vertices.size
    if weight is not None and is_among(weight, csr.properties):
        data = csr.properties[weight]
    elif is_among(weight, (None, "weight")):
        data = np.ones(csr.indices.size, dtype=np.float64)
    else:
        kept = ", ".join(csr.properties) or "none"
        msg = f"weight={choice_shown(weight)} is no property of {graph.records} records; "
        msg += f"they have {kept}"
        raise SettingsError(msg)
    return sparse.csr_array((data, csr.indices, csr.indptr), shape=(n, n))


def to_igraph(graph: GraphReader) -> "igraph.Graph":
    """Copy a graph to igraph: ids as the vertex attribute ``id``, properties as edge attributes.

    Vertices are in the order of ``graph.vertices()``. Timestamps are integers, in the graph's unit.

    Raises
    ------
    SettingsError
        igraph is not installed, or vertices have a property of that name.
    """
    check_graph(graph)
    igraph = _library("igraph")
    if "id" in graph.vertex_properties:
        msg = "vertices have a property 'id', which is what igraph's attribute of their ids is "
        msg += "called; take to_networkx() or export_edges(), or call the property something else"
        raise SettingsError(msg)
    csr = graph.to_csr()
    degrees, columns, properties = csr.each_edge_once()
    rows = np.repeat(np.arange(degrees.size), degrees)
    pairs = np.column_stack([rows, columns]).tolist()
    copy = igraph.Graph(csr.vertices.size, pairs, directed=graph.directed)
    copy.vs["id"] = csr.vertices.tolist()
    for name, column in csr.vertex_properties.items():
        copy.vs[name] = column.tolist()
    for name, column in properties.items():
        plain = column.view(np.int64) if column.dtype.kind == "M" else column
        copy.es[name] = plain.tolist()
    return copy


def to_arrow(source: GraphReader | Table) -> pa.Table:
    """Return the edges of a graph, or a result, as an Arrow table.

    A table of edges has ``src``, ``dst`` and the properties, sorted by (src, dst); that of a result
    its columns, without a copy.

    Raises
    ------
    SettingsError
        ``source`` is neither.
    """
    if isinstance(source, GraphReader):
        source = source.edges()
    if isinstance(source, CanonicalEdges):
        return edge_table(source)
    if not isinstance(source, Table):
        msg = f"source is a {type(source).__name__}, not a graph of graphtide, or a result of one"
        raise SettingsError(msg)
    return table_of(source.columns)


def to_pandas(source: GraphReader | Table) -> "pd.DataFrame":
    """Return the edges of a graph, or a result, as a pandas data frame; see `to_arrow`."""
    _library("pandas")
    return to_arrow(source).to_pandas()


def to_polars(source: GraphReader | Table) -> "pl.DataFrame":
    """Return the edges of a graph, or a result, as a polars data frame; see `to_arrow`.

    polars has no zones that are so many hours ahead of UTC (``+05:30``): such times are in UTC.
    """
    polars, table = _library("polars"), to_arrow(source)
    for position, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and (field.type.tz or "").startswith(("+", "-")):
            in_utc = table[field.name].cast(pa.timestamp(field.type.unit, "UTC"))
            table = table.set_column(position, field.name, in_utc)
    return polars.DataFrame(table)


def _items(column: npt.NDArray[Any]) -> list[Any]:
    """Python's numbers; times as NumPy's, because Python's know no nanoseconds."""
    return list(column) if column.dtype.kind == "M" else column.tolist()


def _library(module: str, package: str | None = None) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        name = package or module
        msg = f"{name} is not installed; run pip install {name}"
        raise SettingsError(msg) from error
