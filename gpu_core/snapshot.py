"""Copies of the graph at one moment: CSR, the canonical list of edges, what a checkpoint keeps."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from .batch.mean_degree import mean_degree
from .errors import SettingsError
from .kind import GraphKind
from .printable import counted
from .records import record_named
from .table import Table
from .times import first_at_or_after, time_unit_named

# Not imported: who writes or shows tables need not wait for Numba.
if TYPE_CHECKING:
    from .engine import Reader

#: Entries hashed at a time.
_CHUNK = 1 << 18

_Column = TypeVar("_Column", np.int32, np.uint32)


@dataclass(frozen=True, repr=False)
class CsrSnapshot:
    """Compressed sparse rows over the vertices in increasing order of users' ids.

    An undirected graph has each edge in both rows. ``scipy.sparse.csr_array((data, indices,
    indptr))`` takes the arrays as they are.
    """

    #: int64[n]: users' ids, increasing.
    vertices: npt.NDArray[np.int64]
    #: int64[n + 1]: where each row begins.
    indptr: npt.NDArray[np.int64]
    #: int32[m]: positions in ``vertices``, increasing within a row.
    indices: npt.NDArray[np.int32]
    #: Property columns, one item an entry: ``weight``, ``type``, ``first``, ``last`` where kept.
    properties: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict)
    directed: bool = True
    #: What ``first`` and ``last`` count, see `DynamicGraph.time_unit`; with a zone they are UTC.
    time_unit: str | None = None
    #: Properties of the user's own, one item a vertex; those of edges stand with the others.
    vertex_properties: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict)

    def __repr__(self) -> str:
        more = "".join(f", {name}" for name in self.properties)
        return (
            f"<CsrSnapshot {counted(self.vertices.size, 'vertex')}, indices of "
            f"{self.indices.size:,}{more}>"
        )

    def edges(self) -> CanonicalEdges:
        """Every edge once, in users' ids."""
        # Here: who writes or shows tables need not wait for Numba.
        from .rows_in_order import gathered

        degrees, columns, properties = self.each_edge_once()
        are_names = self.vertices.dtype != np.int64
        targets = self.vertices[columns] if are_names else gathered(self.vertices, columns)
        return CanonicalEdges(
            np.repeat(self.vertices, degrees), targets, properties, self.time_unit
        )

    def each_edge_once(
        self,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], dict[str, npt.NDArray[np.generic]]]:
        """Edges of each row (int64[n]), their ``indices`` and properties; see `fold`."""
        return fold(self.indptr, self.indices, self.properties, directed=self.directed)


@dataclass(frozen=True, repr=False)
class CanonicalEdges(Table):
    """Every edge once, sorted by (src, dst) in users' ids; undirected: ``src <= dst``."""

    #: int64[m]
    src: npt.NDArray[np.int64]
    #: int64[m]
    dst: npt.NDArray[np.int64]
    #: Property columns, one item an edge: ``weight``, ``type``, ``first``, ``last`` where kept.
    properties: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict)
    #: What ``first`` and ``last`` count, see `DynamicGraph.time_unit`; with a zone they are UTC.
    time_unit: str | None = None

    def __repr__(self) -> str:
        return f"<CanonicalEdges {counted(len(self), 'edge')}: {', '.join(self.columns)}>"

    @property
    def _time_mark(self) -> str:  # type: ignore[override]
        has_zone = self.time_unit is not None and time_unit_named(self.time_unit).zone is not None
        return "Z" if has_zone else ""

    @property
    def columns(self) -> Mapping[str, npt.NDArray[Any]]:
        """``src``, ``dst`` and the properties, by name."""
        return {"src": self.src, "dst": self.dst, **self.properties}

    def between(self, since: Any = None, until: Any = None) -> CanonicalEdges:
        """Edges whose last time is in a range; see `GraphReader.edges`."""
        if since is None and until is None:
            return self
        if "last" not in self.properties:
            msg = "these edges have no times; use a graph with records='semantic'"
            raise SettingsError(msg)
        unit = None if self.time_unit is None else time_unit_named(self.time_unit)
        last = self.properties["last"].view(np.int64)
        kept = np.ones(last.size, np.bool_)
        if since is not None:
            kept &= last >= first_at_or_after(since, unit)
        if until is not None:
            kept &= last < first_at_or_after(until, unit)
        properties = {name: column[kept] for name, column in self.properties.items()}
        return CanonicalEdges(self.src[kept], self.dst[kept], properties, self.time_unit)


def fold(
    indptr: npt.NDArray[np.int64],
    columns: npt.NDArray[_Column],
    properties: dict[str, npt.NDArray[np.generic]],
    *,
    directed: bool,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[_Column], dict[str, npt.NDArray[np.generic]]]:
    """Keep each edge once: of an undirected graph's two entries the one with row <= column.

    Columns increase within a row.

    Returns
    -------
    degrees : int64[n]
        Entries that are left of each row.
    columns, properties
        Those entries; of a directed graph the arrays as they came.
    """
    if directed:
        return np.diff(indptr), columns, properties
    # Here: who writes or shows tables need not wait for Numba.
    from .edges_once import edges_once

    degrees, once, sources = edges_once(
        indptr, columns.view(np.uint32), with_sources=bool(properties)
    )
    kept = {name: column.take(sources) for name, column in properties.items()}
    return degrees, once.view(columns.dtype), kept


#: What properties of the user's own begin with, among the arrays of a checkpoint.
EDGE_PREFIX, VERTEX_PREFIX = "edge property ", "vertex property "


def own_properties(
    arrays: Mapping[str, npt.NDArray[Any]], prefix: str
) -> dict[str, npt.NDArray[Any]]:
    """Properties of the user's own among the arrays of a checkpoint, by their names."""
    own = {name: array for name, array in arrays.items() if name.startswith(prefix)}
    return {name.removeprefix(prefix): array for name, array in own.items()}


def checkpoint_arrays(reader: Reader) -> dict[str, npt.NDArray[np.generic]]:
    """Everything that a restart needs, by vertex index; see `DynamicGraph.checkpoint_arrays`."""
    everyone = np.arange(reader.vertex_count, dtype=np.int64)
    indptr, columns, properties = reader.csr(everyone)
    degrees, columns, properties = fold(indptr, columns, properties, directed=reader.kind.directed)
    present = reader.present()
    return {
        "vertex_ids": np.where(present, reader.user_ids(), 0),
        "present": present,
        "out_degree": degrees.astype(np.uint32),
        "free_indices": reader.queued_vertices(),
        "dst_index": columns,
        **properties,
    }


def kept_mean_degree(arrays: Mapping[str, npt.NDArray[Any]], kind: GraphKind) -> float | None:
    """Mean degree by which the graph of such arrays has its pages; else that of its edges.

    None where it has none.
    """
    if "mean_degree" in arrays:
        return float(arrays["mean_degree"][0])
    return mean_degree(kind, np.flatnonzero(arrays["out_degree"]), arrays["dst_index"])


def state_hash(csr: CsrSnapshot, *, records: str) -> str:
    """SHA-256 of the canonical graph: the same for every layout, engine and history.

    Hashed are the vertices, the number of edges that `CanonicalEdges` has of each as source, then
    its other columns; it is never made as a whole.
    """
    # Here: who writes or shows tables need not wait for Numba.
    from .rows_in_order import gathered

    degrees, columns, properties = csr.each_edge_once()
    targets = (gathered(csr.vertices, piece) for piece in _pieces(columns))
    return _hash(
        csr.directed, records, csr.vertices, degrees, targets, properties, csr.vertex_properties
    )


def checkpoint_hash(arrays: Mapping[str, npt.NDArray[Any]], *, directed: bool, records: str) -> str:
    """`state_hash` of a graph from its `checkpoint_arrays`.

    It must be directed, or its ids must grow with the vertex indices, as dense ids do: else an edge
    of an undirected graph may stand in the row of its larger id.
    """
    # Here: who writes or shows tables need not wait for Numba.
    from .rows_in_order import gathered, order_of, rows_in_order

    present, ids, columns = arrays["present"], arrays["vertex_ids"], arrays["dst_index"]
    indices, degrees = np.flatnonzero(present), arrays["out_degree"]
    vertices = ids[indices]
    properties = {name: arrays[name] for name in record_named(records).properties}
    properties |= own_properties(arrays, EDGE_PREFIX)
    if np.array_equal(indices, vertices):
        targets = (piece.astype(np.int64) for piece in _pieces(columns))
    elif np.all(vertices[:-1] < vertices[1:]):
        targets = (gathered(ids, piece.view(np.int32)) for piece in _pieces(columns))
    else:
        order = order_of(vertices)
        indices, vertices = indices[order], vertices[order]
        starts = np.zeros(present.size + 1, np.int64)
        np.cumsum(degrees, out=starts[1:])
        ordered = rows_in_order(indices, starts, columns, with_sources=bool(properties))
        targets = (gathered(vertices, piece) for piece in _pieces(ordered.columns))
        properties = {name: column[ordered.sources] for name, column in properties.items()}
    of_vertices = own_properties(arrays, VERTEX_PREFIX)
    of_vertices = {name: column[indices] for name, column in of_vertices.items()}
    return _hash(directed, records, vertices, degrees[indices], targets, properties, of_vertices)


def _hash(
    directed: bool,
    records: str,
    vertices: npt.NDArray[np.int64],
    degrees: npt.NDArray[np.integer[Any]],
    targets: Iterable[npt.NDArray[np.int64]],
    properties: Mapping[str, npt.NDArray[np.generic]],
    of_vertices: Mapping[str, npt.NDArray[np.generic]],
) -> str:
    """SHA-256 of a graph in canonical order; ``targets`` are pieces of ``dst``."""
    # With the number of vertices, the degrees tell how many items each later column has.
    header = f"graphtide 2 directed={directed} records={records} vertices={vertices.size}"
    kept = record_named(records).properties
    hashed = [properties[name] for name in kept]
    # In an order that is not that in which they were asked for.
    for what, columns in (("properties", properties), ("vertex_properties", of_vertices)):
        own = sorted(columns.keys() - kept)
        hashed += [columns[name] for name in own]
        own = [f"{name}:{columns[name].dtype}" for name in own]
        header += f" {what}={','.join(own)}" if own else ""
    digest = hashlib.sha256(header.encode())
    with ThreadPoolExecutor(1, thread_name_prefix="graphtide-hash") as hasher:
        add = partial(_add_column, hasher, digest)
        add([vertices])
        add([degrees.astype(np.int64)])
        add(targets)
        for column in hashed:
            # What a time counts is no part of the hash, and NumPy gives no bytes of timestamps.
            add(_pieces(column.view(np.int64) if column.dtype.kind == "M" else column))
    return digest.hexdigest()


def _add_column(hasher: Executor, digest: Any, pieces: Iterable[npt.NDArray[Any]]) -> None:
    """Hash the pieces in order; the next one is made meanwhile, since hashing drops the GIL."""
    hashing: Future[None] | None = None
    for piece in pieces:
        little = piece.astype(piece.dtype.newbyteorder("<"), copy=False)
        if hashing is not None:
            hashing.result()
        hashing = hasher.submit(digest.update, np.ascontiguousarray(little).data)
    if hashing is not None:
        hashing.result()


def _pieces(column: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """A column in pieces that stay in the cache."""
    return (column[start : start + _CHUNK] for start in range(0, column.size, _CHUNK))
