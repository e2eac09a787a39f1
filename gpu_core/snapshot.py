"""Copies of the graph at one moment: CSR, the canonical list of edges, what a checkpoint keeps."""

import hashlib
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .engines import Engine

#: Items hashed at a time.
_CHUNK = 1 << 20


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


def state_hash(
    vertices: npt.NDArray[np.int64], edges: CanonicalEdges, *, directed: bool, records: str
) -> str:
    """SHA-256 of the canonical graph: the same for every layout, engine and history."""
    digest = hashlib.sha256(f"graphtide 1 directed={directed} records={records}".encode())
    columns = [vertices, edges.src, edges.dst, *edges.properties.values()]
    for column in columns:
        digest.update(str(column.size).encode())
        little = column.astype(column.dtype.newbyteorder("<"), copy=False)
        for start in range(0, little.size, _CHUNK):
            digest.update(np.ascontiguousarray(little[start : start + _CHUNK]).data)
    return digest.hexdigest()
