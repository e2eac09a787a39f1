"""Copies of the graph at one moment: CSR, the canonical list of edges, what a checkpoint keeps."""

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from .engines import Engine

#: Entries hashed at a time.
_CHUNK = 1 << 18


@dataclass(frozen=True)
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

    def edges(self) -> "CanonicalEdges":
        """Every edge once, in users' ids."""
        rows = np.repeat(np.arange(self.vertices.size, dtype=np.int32), np.diff(self.indptr))
        columns, properties = self.indices, self.properties
        if not self.directed:
            once = rows <= columns
            rows, columns = rows[once], columns[once]
            properties = {name: column[once] for name, column in properties.items()}
        return CanonicalEdges(self.vertices[rows], self.vertices[columns], properties)


@dataclass(frozen=True)
class CanonicalEdges:
    """Every edge once, sorted by (src, dst) in users' ids; undirected: ``src <= dst``."""

    #: int64[m]
    src: npt.NDArray[np.int64]
    #: int64[m]
    dst: npt.NDArray[np.int64]
    #: Property columns, one item an edge: ``weight``, ``type``, ``first``, ``last`` where kept.
    properties: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.src.size)


def checkpoint_arrays(engine: Engine) -> dict[str, npt.NDArray[np.generic]]:
    """Everything that a restart needs, by vertex index; see `DynamicGraph.checkpoint_arrays`."""
    everyone = np.arange(engine.vertex_count, dtype=np.int64)
    indptr, columns, properties = engine.csr(everyone)
    rows = np.repeat(everyone.astype(np.uint32), np.diff(indptr))
    if not engine.directed:
        once = rows <= columns
        rows, columns = rows[once], columns[once]
        properties = {name: column[once] for name, column in properties.items()}
    present = engine.present()
    return {
        "vertex_ids": np.where(present, engine.user_ids(), 0),
        "present": present,
        "free_indices": engine.queued_vertices(),
        "src_index": rows,
        "dst_index": columns,
        **properties,
    }


def state_hash(csr: CsrSnapshot, *, records: str) -> str:
    """SHA-256 of the canonical graph: the same for every layout, engine and history.

    Hashed are the vertices, then the columns of `CanonicalEdges`, which is never made as a whole.
    """
    digest = hashlib.sha256(f"graphtide 1 directed={csr.directed} records={records}".encode())
    parts = list(_parts(csr))
    num_edges = (
        csr.indices.size if csr.directed else sum(int(_once(csr, *part).sum()) for part in parts)
    )
    with ThreadPoolExecutor(1, thread_name_prefix="graphtide-hash") as hasher:
        add = partial(_add_column, hasher, digest)
        add(csr.vertices.size, [csr.vertices])
        add(num_edges, (_sources(csr, *part) for part in parts))
        columns = {"dst": csr.indices, **csr.properties}
        for name, column in columns.items():
            pieces = (_of_edges(csr, column, *part) for part in parts)
            if name == "dst":
                pieces = (csr.vertices[piece] for piece in pieces)
            add(num_edges, pieces)
    return digest.hexdigest()


def _add_column(
    hasher: Executor, digest: Any, size: int, pieces: Iterable[npt.NDArray[Any]]
) -> None:
    """Hash the pieces in order; the next one is made meanwhile, since hashing drops the GIL."""
    digest.update(str(size).encode())
    hashing: Future[None] | None = None
    for piece in pieces:
        little = piece.astype(piece.dtype.newbyteorder("<"), copy=False)
        if hashing is not None:
            hashing.result()
        hashing = hasher.submit(digest.update, np.ascontiguousarray(little).data)
    if hashing is not None:
        hashing.result()


def _parts(csr: CsrSnapshot) -> Iterator[tuple[int, int]]:
    """Ranges of rows with about `_CHUNK` entries each: they stay in the cache."""
    starts = np.arange(0, csr.indices.size, _CHUNK)
    rows = np.unique(np.searchsorted(csr.indptr, starts, "right") - 1)
    return pairwise([*rows.tolist(), csr.vertices.size])


def _sources(csr: CsrSnapshot, low: int, high: int) -> npt.NDArray[np.int64]:
    counts = np.diff(csr.indptr[low : high + 1])
    return _of_part(csr, np.repeat(csr.vertices[low:high], counts), low, high)


def _of_edges(csr: CsrSnapshot, column: npt.NDArray[Any], low: int, high: int) -> npt.NDArray[Any]:
    return _of_part(csr, column[csr.indptr[low] : csr.indptr[high]], low, high)


def _of_part(csr: CsrSnapshot, values: npt.NDArray[Any], low: int, high: int) -> npt.NDArray[Any]:
    return values if csr.directed else values[_once(csr, low, high)]


def _once(csr: CsrSnapshot, low: int, high: int) -> npt.NDArray[np.bool_]:
    """Which entries of some rows stand for their edge: of two, the one in the upper triangle."""
    rows = np.repeat(np.arange(low, high), np.diff(csr.indptr[low : high + 1]))
    once: npt.NDArray[np.bool_] = rows <= csr.indices[csr.indptr[low] : csr.indptr[high]]
    return once
