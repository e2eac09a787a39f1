"""The graph that a log must come to, worked out by NumPy alone: what a run is compared with.

The vertices are cut into blocks. A process of its own reads the whole log for each block and keeps
the rows whose source lies there; of the rows of an edge the last one decides. So each key is sorted
once, by one core, beside others.

Here: simple records, ids ``0 … vertices - 1``, self loops dropped, no vertex rows.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ....gpu_core.copies.snapshot import CsrSnapshot
from ....gpu_core.copies.state_hash import state_hash
from ....io.log.columns.column_types import OP_BYTES
from ...processes import run_in_processes

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Expected:
    """The graph after the log."""

    num_vertices: int
    num_edges: int
    state_hash: str


def replay(files: Sequence[Path], vertices: int, *, directed: bool = True) -> Expected:
    """Replay the files in the order given; every id is below ``vertices``."""
    blocks = min(vertices, len(os.sched_getaffinity(0)))
    bounds = [vertices * block // blocks for block in range(blocks + 1)]
    of_block = partial(_replay_block, files, vertices, directed)
    found = run_in_processes(of_block, list(pairwise(bounds)))
    edges = keys = np.concatenate([keys for keys, _ in found])
    if not directed:
        # A CSR has each edge in both rows.
        turned = keys % vertices * vertices + keys // vertices
        keys = np.sort(np.concatenate([keys, turned]))
    is_there = np.logical_or.reduce([marks for _, marks in found])
    ids = np.flatnonzero(is_there)
    # Position of each id among those that are there.
    index = np.cumsum(is_there) - 1
    indptr = np.searchsorted(keys, np.append(ids, vertices) * vertices)
    columns = index[keys % vertices].astype(np.int32)
    csr = CsrSnapshot(ids, indptr, columns, directed=directed)
    return Expected(ids.size, edges.size, state_hash(csr, records="simple"))


def _replay_block(
    files: Sequence[Path], vertices: int, directed: bool, first: int, last: int
) -> tuple[Ints, Flags]:
    """Sorted edges, as ``source * vertices + target``, and vertices of the rows from this block."""
    keys, inserts = [np.empty(0, np.int64)], [np.empty(0, np.bool_)]
    is_there = np.zeros(vertices, np.bool_)
    for file in files:
        table = pq.read_table(file, columns=["op", "src", "dst"], use_threads=False)
        op = _ops(table["op"])
        src, dst = (table[name].to_numpy().astype(np.int64) for name in ("src", "dst"))
        if not directed:
            src, dst = np.minimum(src, dst), np.maximum(src, dst)
        mine = (src >= first) & (src < last) & (src != dst)
        op, src, dst = op[mine], src[mine], dst[mine]
        # An insert makes its end points even where a later row deletes the edge.
        is_there[src[op > 0]] = is_there[dst[op > 0]] = True
        keys.append(src * vertices + dst)
        inserts.append(op > 0)
    all_keys, is_insert = np.concatenate(keys), np.concatenate(inserts)
    # Stable: the rows of an edge stay in the order of the log.
    order = np.argsort(all_keys, kind="stable")
    all_keys, is_insert = all_keys[order], is_insert[order]
    is_last = np.append(all_keys[1:] != all_keys[:-1], True)[: all_keys.size]
    return all_keys[is_last & is_insert], is_there


def _ops(column: pa.ChunkedArray) -> npt.NDArray[np.int8]:
    """Ops of a log as 1 and -1, be they numbers or bytes."""
    if column.type == OP_BYTES:
        return np.frombuffer(column.combine_chunks().buffers()[1], np.int8, len(column))
    ops: npt.NDArray[np.int8] = column.to_numpy()
    return ops
