"""Graphs made of those of other libraries: networkx, SciPy, plain pairs.

Further keyword arguments are those of the constructor of `DynamicGraph`. Records are ``simple``
unless asked otherwise. With ``records="weighted"`` or ``"semantic"`` weights are taken over, and
what has none gets 1. Types and times are taken of networkx' attributes, as `to_networkx` writes
them; elsewhere they become 0.

Not here: copies for other libraries (`to_libraries.py`), frames (`frames.py`).
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...gpu_core.choices import is_integer
from ...gpu_core.errors import SettingsError
from ...gpu_core.graph import DynamicGraph
from ...gpu_core.id_kinds import form_of
from ...gpu_core.names.user_ids import unsigned_ids
from ...gpu_core.properties.kinds import array_of, has_missing
from ...gpu_core.records import record_named
from ...gpu_core.times import check_zones, time_unit_named
from ..error_text import one_line

if TYPE_CHECKING:
    import networkx as nx
    import scipy.sparse

_OF_VERTICES = "vertex_properties"

#: int64, uint64, or names.
Ids = npt.NDArray[Any]


def from_edge_list(
    edges: Iterable[Any] | npt.NDArray[Any], *, weight: npt.ArrayLike | None = None, **settings: Any
) -> DynamicGraph:
    """Build a graph from pairs of ids.

    Parameters
    ----------
    edges
        An array of shape (m, 2), or an iterable of ``(src, dst)`` or ``(src, dst, weight)``. Ids
        are integers, or of the kind ``ids``. Repeated edges are combined by ``on_repeat``; by
        default the last counts.
    weight
        m weights, for records that have weights; excludes third items.
    **settings
        Arguments of `DynamicGraph`. Types and times of semantic records are 0.

    Raises
    ------
    SettingsError
        ``edges`` are no pairs of such ids, weights are given but not kept, or as `DynamicGraph`.
    BatchError
        A row breaks the rules of the graph, such as a weight that is no finite number.
    """
    _refuse_properties("from_edge_list", settings)
    src, dst, third = _pairs(edges, settings.get("ids", "any"))
    if third is not None and weight is not None:
        msg = "edges have weights as third items and weight= is given too; leave one of them out"
        raise SettingsError(msg)
    given = third if weight is None else np.asarray(weight)
    has_weight = record_named(settings.get("records", "simple")).has_weight
    if given is not None and not has_weight:
        msg = "weights are given, but records='simple' keeps none; use records='weighted'"
        raise SettingsError(msg)
    return _graph(src, dst, given, None, settings)


def from_networkx(
    G: "nx.Graph[int]",
    *,
    weight: str = "weight",
    **settings: Any,
) -> DynamicGraph:
    """Build a graph from a networkx graph, whose nodes must be integers, or what ``ids`` says.

    Parameters
    ----------
    G
        Any networkx graph. Parallel edges are combined by ``on_repeat``; by default the last
        counts. ``properties`` and ``vertex_properties`` are read from attributes of edges and
        nodes, and are missing if an attribute is absent. For semantic records all edges must have
        the attributes ``type``, ``first`` and ``last``; if no edge has ``last``, types and times
        are 0.
    weight
        Edge attribute that is the weight, for records with weights.
    **settings
        Arguments of `DynamicGraph`; ``directed`` is that of G by default. With ``directed=False``
        edges of a directed G in both directions become parallel edges. With ``directed=True`` an
        edge of an undirected G becomes one in each direction, a self loop one edge.

    Raises
    ------
    SettingsError
        G is no graph of networkx, a node is no such id, or as `DynamicGraph`.
    BatchError
        An attribute breaks the rules of the graph, such as a weight that is no finite number.
    """
    if not hasattr(G, "is_directed"):
        msg = (
            f"G is a {type(G).__name__}, not a graph of networkx; DynamicGraph.from_edges takes "
            f"arrays and frames"
        )
        raise SettingsError(msg)
    settings = {"directed": G.is_directed(), **settings}
    ids = settings.get("ids", "any")
    cure = "use networkx.convert_node_labels_to_integers first, or ids='string' for names"
    vertices = _ids(list(G.nodes), ids, cure)
    edges = list(G.edges(data=True))
    src, dst = (_ids([edge[end] for edge in edges], ids, cure) for end in (0, 1))
    attributes = [edge[2] for edge in edges]
    values = None
    if _takes_weights(settings):
        values = _numbers([each.get(weight, 1) for each in attributes])
    own = _attributes(attributes, settings.get("properties"))
    own |= _types_and_times(attributes, settings)
    of_vertices = _attributes([data for _, data in G.nodes(data=True)], settings.get(_OF_VERTICES))
    if settings["directed"] and not G.is_directed():
        # A self loop is the same in both directions, and would count as one inserted again.
        back = np.flatnonzero(src != dst)
        src, dst = np.concatenate([src, dst[back]]), np.concatenate([dst, src[back]])
        values = None if values is None else np.concatenate([values, values[back]])
        own = {name: [*each, *(each[row] for row in back)] for name, each in own.items()}
    return _graph(src, dst, values, vertices, settings, own, of_vertices)


def _types_and_times(
    edges: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """Columns ``type``, ``first`` and ``last`` of all edges; none where no edge has a last time."""
    if not record_named(settings.get("records", "simple")).has_times:
        return {}
    lacking = sum(edge.get("last") is None for edge in edges)
    if lacking == len(edges):
        return {}
    if lacking:
        msg = f"last is absent from {lacking:,} of {len(edges):,} edges; give it to all, or to none"
        raise SettingsError(msg)
    columns = {
        "type": [edge.get("type", 0) for edge in edges],
        "first": [edge.get("first", edge["last"]) for edge in edges],
        "last": [edge["last"] for edge in edges],
    }
    for name in ("first", "last"):
        check_zones(name, columns[name])
    return columns


def from_scipy(
    A: "scipy.sparse.sparray | scipy.sparse.spmatrix",
    *,
    vertices: npt.ArrayLike | None = None,
    **settings: Any,
) -> DynamicGraph:
    """Build a graph from a square sparse matrix: each stored entry is an edge, row to column.

    Parameters
    ----------
    A
        Any SciPy sparse array or matrix, n by n. Explicit zeros are edges. Duplicates are summed,
        as in SciPy.
    vertices
        n ids of the rows; without it 0 … n - 1. Every one becomes a vertex.
    **settings
        Arguments of `DynamicGraph`. Types and times of semantic records are 0. With
        ``directed=False`` an entry and its mirror entry are one edge; if they differ, the entry
        below the diagonal counts, whatever ``on_repeat`` is.

    Raises
    ------
    SettingsError
        A is no square sparse matrix, ``vertices`` are not n different ids, or as `DynamicGraph`.
    BatchError
        An entry breaks the rules of the graph, such as a weight that is no finite number.
    """
    _refuse_properties("from_scipy", settings)
    if not hasattr(A, "tocsr"):
        msg = f"A is a {type(A).__name__}, not a sparse matrix; use scipy.sparse.csr_array(A)"
        raise SettingsError(msg)
    if A.shape[0] != A.shape[1]:
        msg = f"the matrix is {A.shape[0]} by {A.shape[1]}; give a square one"
        raise SettingsError(msg)
    n = A.shape[0]
    ids = (
        np.arange(n, dtype=np.int64)
        if vertices is None
        else _ids(vertices, settings.get("ids", "any"))
    )
    if ids.size != n or np.unique(ids).size != n:
        msg = f"{np.unique(ids).size} different ids are given for {n} rows; give one for each row"
        raise SettingsError(msg)
    rows_of_entries = A.tocsr(copy=True)
    rows_of_entries.sum_duplicates()
    entries = rows_of_entries.tocoo()
    rows, columns = entries.row.astype(np.int64), entries.col.astype(np.int64)
    values = None
    if _takes_weights(settings):
        if np.iscomplexobj(entries.data):
            msg = "weights are complex; give real ones"
            raise SettingsError(msg)
        values = entries.data
    if not settings.get("directed", True):
        kept = _folded(rows, columns)
        rows, columns, values = rows[kept], columns[kept], None if values is None else values[kept]
    return _graph(ids[rows], ids[columns], values, ids, settings)


def _folded(rows: npt.NDArray[np.int64], columns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Entries that stand for an edge each: of two across the diagonal the lower one."""
    first, second = np.minimum(rows, columns), np.maximum(rows, columns)
    order = np.lexsort([rows > columns, second, first])
    is_last = np.ones(order.size, np.bool_)
    is_last[:-1] = (np.diff(first[order]) != 0) | (np.diff(second[order]) != 0)
    return np.sort(order[is_last])


def _graph(
    src: Ids,
    dst: Ids,
    weight: npt.NDArray[Any] | None,
    vertices: Ids | None,
    settings: dict[str, Any],
    own: Mapping[str, list[Any]] = MappingProxyType({}),
    of_vertices: Mapping[str, list[Any]] = MappingProxyType({}),
) -> DynamicGraph:
    """A graph with these vertices and edges, in two batches at most."""
    graph = DynamicGraph(**settings)

    def put_vertices() -> None:
        if vertices is not None and vertices.size:
            graph.insert_vertices(vertices, **of_vertices)

    def put_edges() -> None:
        if src.size and "last" in own:
            columns = {"src": src, "dst": dst, "weight": weight, **own}
            given = {
                name: _with_zone(array_of(name, each), settings)
                for name, each in columns.items()
                if each is not None
            }
            try:
                table = pa.table(given)
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                msg = f"attributes of edges are no columns: {one_line(error)}"
                raise SettingsError(msg) from error
            graph.insert_edges(table)
        elif src.size:
            times = np.zeros(src.size, np.int64) if record_named(graph.records).has_times else None
            graph.insert_edges(src, dst, weight=weight, ts=times, **own)

    # Edges first, where they may be: the first batch may decide on the size of pages.
    steps = (put_edges, put_vertices) if graph.kind.create_vertices else (put_vertices, put_edges)
    for step in steps:
        step()
    return graph


def _with_zone(column: npt.NDArray[Any], settings: Mapping[str, Any]) -> Any:
    """A column as it goes in; times, which are in UTC, with the zone of the graph if it has one."""
    zone = time_unit_named(settings["time_unit"]).zone if settings.get("time_unit") else None
    if column.dtype.kind != "M" or zone is None:
        return column
    given = pa.array(column)
    return given.cast(pa.timestamp(given.type.unit, zone))


def _numbers(values: list[Any]) -> npt.NDArray[Any]:
    """Weights as an array; whole ones are not made floats here, as large ones would be rounded."""
    try:
        array = array_of("weight", values)
        return array if array.dtype.kind in "iuf" else array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"weights are no numbers: {error}"
        raise SettingsError(msg) from None


def _takes_weights(settings: Mapping[str, Any]) -> bool:
    """Whether a graph keeps weights that it is given, rather than none, or counts of its own."""
    has_weight = record_named(settings.get("records", "simple")).has_weight
    return has_weight and settings.get("on_repeat") != "count"


def _attributes(
    items: Sequence[Mapping[str, Any]], kinds: Mapping[str, Any] | None
) -> dict[str, list[Any]]:
    """Values of some attributes, each of all items; NaN where one has none.

    One that no item lacks may be of a type that has no missing value.
    """
    found: dict[str, list[Any]] = {}
    for name, kind in dict(kinds or {}).items():
        lacking = sum(name not in each for each in items)
        if lacking and not has_missing(str(np.dtype(kind))):
            msg = (
                f"{name} is absent from {lacking:,} of {len(items):,} items, but {np.dtype(kind)} "
                f"has no missing value; give it to all, or use float64"
            )
            raise SettingsError(msg)
        found[name] = [each.get(name, np.nan) for each in items]
    return found


def _refuse_properties(what: str, settings: Mapping[str, Any]) -> None:
    if settings.get("properties") or settings.get(_OF_VERTICES):
        msg = f"{what} takes no properties; use DynamicGraph.from_edges, which takes their columns"
        raise SettingsError(msg)


def _pairs(
    edges: Iterable[Any] | npt.NDArray[Any], kind: str
) -> tuple[Ids, Ids, npt.NDArray[Any] | None]:
    """Sources, destinations and, of triples, third items."""
    if isinstance(edges, np.ndarray):
        if edges.ndim != 2 or edges.shape[1] != 2:
            msg = f"edges are an array of shape {edges.shape}; give shape (m, 2)"
            raise SettingsError(msg)
        ids = _ids(edges.reshape(-1), kind)
        return np.ascontiguousarray(ids[::2]), np.ascontiguousarray(ids[1::2]), None
    try:
        given = list(edges)
        for row in given:
            if isinstance(row, str | bytes):
                # Two characters are no two ids.
                msg = f"{row!r} is a text"
                raise TypeError(msg)
        rows = [tuple(row) for row in given]
    except TypeError as error:
        msg = f"edges are no pairs of ids: {error}; give [(1, 2), …]"
        raise SettingsError(msg) from None
    lengths = {len(row) for row in rows}
    if not lengths <= {2} and not lengths <= {3}:
        msg = f"edges have {', '.join(map(str, sorted(lengths)))} items; give all 2, or all 3"
        raise SettingsError(msg)
    src, dst = (_ids([row[end] for row in rows], kind) for end in (0, 1))
    third = _numbers([row[2] for row in rows]) if lengths == {3} else None
    return src, dst, third


def _ids(values: Any, kind: str, cure: str = "give int64 ids, or ids='string' for names") -> Ids:
    """Ids as int64; refuses what is not whole numbers, or does not fit. Of others as they are."""
    if form_of(kind) == "uint64":
        return unsigned_ids("ids", list(values))
    if form_of(kind) not in ("any", "dense"):
        return _objects(values)
    try:
        array = np.asarray(values)
    except ValueError:  # items of several kinds
        array = _objects(values)
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    is_too_large = array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max
    if array.ndim != 1 or array.dtype.kind not in "iu" or is_too_large:
        bad = next((each for each in values if not _is_id(each)), array.dtype)
        msg = f"vertex {bad!r} is no int64 id; {cure}"
        raise SettingsError(msg)
    return array.astype(np.int64)


def _objects(values: Any) -> npt.NDArray[np.object_]:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _is_id(value: object) -> bool:
    return is_integer(value) and -(2**63) <= value < 2**63
