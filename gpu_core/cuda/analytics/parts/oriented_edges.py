"""Oriented edges: each edge of the undirected simple graph once, from lower to higher degree.

The lower end is the vertex with fewer neighbors, or, where both have as many, with the smaller
index. So no vertex has more than ``sqrt(2 m)`` targets, hubs included, which bounds the work of
counting triangles.

Not here: what is done with it (`triangles.py`).

Source: see ``oriented_edges.cu``.
"""

from typing import Final, NamedTuple

import numpy as np

from ....errors import EngineError
from ....rows import Adjacencies, Rows
from ...device.device import Array, Device
from ...grid import THREADS, blocks_for
from ...memory.scratch import Scratch
from .compact_rows import (
    CompactRows,
    bytes_of,
    compact_rows,
    cut_windows,
    in_rows,
    in_rows_bytes,
    measure_rows,
    rows_bytes,
    windows_bytes,
)

_SOURCE: Final = "oriented_edges.cu"

#: Bits of the start of a row of targets; the other 24 are its length.
_START_BITS: Final = 40


class OrientedEdges(NamedTuple):
    """Rows of targets; see ``oriented_edges.cuh`` for the encoding."""

    #: uint64[vertex_count]
    rows: Array
    #: uint32, vertex indices; in no order within a row.
    targets: Array


class Cleared(NamedTuple):
    """Arrays that are filled with 0 by the same launch."""

    #: uint64[vertex_count]
    counts: Array
    #: The same again; None for an undirected graph.
    more_counts: Array | None
    #: uint32[4]
    sizes: Array


def oriented_edges_bytes(device: Device, adjacencies: Adjacencies) -> int:
    """Bytes of scratch that `oriented_edges` takes.

    Raises
    ------
    EngineError
        The graph is too large for the encoding.
    """
    count, entries = adjacencies.out.count, adjacencies.out.num_entries
    room = _room(adjacencies)
    if (adjacencies.directed and count >= 1 << 31) or room >= 1 << _START_BITS:
        msg = f"{count:,} vertices and {room:,} entries are too many to count triangles on a GPU"
        raise EngineError(msg)
    # Rows of an undirected graph are read where they are.
    need = windows_bytes(count, entries)
    if adjacencies.directed:
        need = 2 * rows_bytes(count, entries) + in_rows_bytes(device, adjacencies)
    return need + bytes_of((room, np.uint32), (count, np.uint64))


def _room(adjacencies: Adjacencies) -> int:
    """Entries that targets are written to: each row has room for all neighbors."""
    return adjacencies.out.num_entries * (2 if adjacencies.directed else 1)


def oriented_edges(
    device: Device,
    scratch: Scratch,
    adjacencies: Adjacencies,
    degree: Array,
    cleared: Cleared,
    both_ways: Array | None = None,
) -> OrientedEdges:
    """Point the edges upwards, in scratch.

    Parameters
    ----------
    degree
        uint32[vertex_count], filled in: neighbors in either direction, without the vertex itself.
    both_ways
        uint32[vertex_count] for a directed graph, filled in: those of them with edges both ways;
        None: not asked for.
    """
    out = adjacencies.out
    targets = OrientedEdges(
        scratch.take(out.count, np.uint64), scratch.take(_room(adjacencies), np.uint32)
    )
    if not adjacencies.directed:
        indptr = measure_rows(device, scratch, out.degree)
        _begin(device, indptr, None, degree, targets, cleared)
        windows = (indptr, *cut_windows(device, scratch, indptr, out.num_entries))
        # Each row is read once: where it lies, not out of a copy.
        _append_targets(device, out, windows, None, degree, targets)
        return targets
    own = compact_rows(device, scratch, out)
    other = compact_rows(device, scratch, in_rows(device, scratch, adjacencies))
    degree.fill(0)
    if both_ways is not None:
        both_ways.fill(0)
    # In this order: the second search looks at marked rows, and sees over the marks.
    _mark_mutual(device, other, own, degree, new_only=True)
    _mark_mutual(device, own, other, degree, both_ways, new_only=False)
    _begin(device, own.indptr, other.indptr, degree, targets, cleared)
    _append_targets(device, out, own.windows, own.indices, degree, targets)
    _append_targets(device, out, other.windows, other.indices, degree, targets, new_only=True)
    return targets


def _begin(
    device: Device,
    indptr: Array,
    other_indptr: Array | None,
    degree: Array,
    targets: OrientedEdges,
    cleared: Cleared,
) -> None:
    count = int(indptr.size) - 1
    device.launch(
        _SOURCE, "begin_targets", blocks_for(max(count, cleared.sizes.size)), THREADS, indptr,
        other_indptr, np.int64(count), degree, targets.rows, *cleared,
    )  # fmt: skip


def _append_targets(
    device: Device,
    rows: Rows,
    windows: tuple[Array, Array, Array],
    marked: Array | None,
    degree: Array,
    targets: OrientedEdges,
    *,
    new_only: bool = False,
) -> None:
    # Of a directed graph, another launch appends to the same rows.
    is_shared = marked is not None
    device.launch(
        _SOURCE, "orient_rows", int(windows[1].size) - 1, THREADS, rows.columns, rows.begin,
        np.int64(rows.step), *windows, marked, degree, np.int64(is_shared), np.int64(new_only),
        *targets,
    )  # fmt: skip


def _mark_mutual(
    device: Device,
    marked: CompactRows,
    other: CompactRows,
    degree: Array,
    both_ways: Array | None = None,
    *,
    new_only: bool,
) -> None:
    device.launch(
        _SOURCE, "mark_mutual", marked.blocks, THREADS, *marked.windows, marked.indices,
        other.indptr, other.indices, np.int64(new_only), degree, both_ways,
    )  # fmt: skip
