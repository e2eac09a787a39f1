"""The state hash: SHA-256 of the canonical graph, from a snapshot or from a checkpoint."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..records import record_named
from .checkpoint import EDGE_PREFIX, VERTEX_PREFIX, own_properties
from .snapshot import CsrSnapshot

#: Entries hashed at a time.
_CHUNK = 1 << 18


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
