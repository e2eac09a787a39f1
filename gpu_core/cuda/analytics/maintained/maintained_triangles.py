"""Maintained triangles in CUDA: common neighbors of changed edges, by look-ups in the longer row.

Where there are many in an undirected graph, those in rows of hubs are made in shared memory
(`hub_pairs.py`); all others are binary searches (`parts/pairs.py`). What is found is added where it
is. Kernels: ``maintained_triangles.cu``. The host chooses by the number of look-ups.

Host twin: `host/analytics/maintained/maintained_triangles.py`. Not here: which of a triangle's
changed edges counts it, when, and its contribution
(`algorithms/maintained/maintained_triangles.py`).
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ....algorithms.maintained.maintained_triangles import Kept
from ....rows import Adjacencies, Rows
from ...device.declarations import constant
from ...device.device import Array, Device
from ...device.sorting.sorting import RadixSort
from ...device.stream_words import ticket_of
from ...grid import THREADS, blocks_for
from ...memory.scratch import PoolScratch
from ...memory.workspace import Workspace
from ..parts.pairs import Pairs, pairs_of_lengths
from ..parts.pairs import pairs_of as pairs_in_rows
from ..parts.row_arguments import both_ways, one_way
from ..triangles.triangles import DeviceCounts
from .hub_pairs import count_hub_pairs

_SOURCE: Final = "maintained_triangles.cu"
_LIST_THREADS: Final = constant(_SOURCE, "LIST_THREADS")
_LIST_ITEMS: Final = constant(_SOURCE, "LIST_ITEMS")

#: Look-ups of a repair in the time that a recount takes for an entry of the out-rows, and for a
#: triangle. On an H200 a look-up takes 17 ps in an R-MAT graph, where most are in rows of hubs, and
#: one in rows of both directions 65; a recount takes 60 and 28 ps (directed: 120 and 55).
_LOOK_UPS: Final = (3.0, 1.4)
_LOOK_UPS_DIRECTED: Final = (2.0, 0.9)
#: Look-ups of undirected pairs up to which all are binary searches.
MOST_SEARCHES = 1 << 22
#: Blocks a multiprocessor of a launch for what hubs have left.
_BLOCKS: Final = 16


class DirectedPairs(NamedTuple):
    """Pairs of vertices with changed edges of a directed graph."""

    pairs: Pairs
    #: uint32[k]: edges of each pair, and four times those that change.
    weights: Array

    @property
    def work(self) -> int:
        """Entries that are looked up."""
        return self.pairs.work


def pairs_of(workspace: Workspace, adjacencies: Adjacencies, keys: Array) -> Pairs | DirectedPairs:
    """Measure the work of some edges, all of which the rows have. Waits."""
    if not adjacencies.directed:
        return pairs_in_rows(workspace, adjacencies.out, keys)
    device = workspace.device
    keys, changed = _folded(workspace, keys, adjacencies.out.count)
    count = int(keys.size)
    lengths, weights = device.empty(count, np.uint32), device.empty(count, np.uint32)
    if count == 0:
        # Self loops alone.
        return DirectedPairs(Pairs(keys, changed, 0), weights)
    device.launch(
        _SOURCE, "measure_pairs", blocks_for(count), THREADS, keys, changed, np.int64(count),
        _rows_of_both(adjacencies), lengths, weights,
    )  # fmt: skip
    return DirectedPairs(pairs_of_lengths(workspace, keys, lengths), weights)


def _folded(workspace: Workspace, keys: Array, vertices: int) -> tuple[Array, Array]:
    """Pairs that edges between so many vertices join, self loops left out; as the host twin. Waits.

    Returns
    -------
    pairs : uint64[k]
    edges : uint32[k]
    """
    device, edges = workspace.device, np.int64(keys.size)
    bits = np.int64(vertices.bit_length())
    sort = RadixSort(device, PoolScratch(device), keys.size, 0, 2 * int(bits))
    device.launch(
        _SOURCE, "fold_edges", blocks_for(keys.size), THREADS, keys, edges, bits, sort.keys
    )
    folded, _ = sort.run(counted=False)
    blocks = blocks_for(keys.size, _LIST_ITEMS)
    before = device.empty(blocks + 1, np.int64)
    device.launch(
        _SOURCE, "count_folded", blocks, _LIST_THREADS, folded, edges, bits, before,
        ticket_of(device),
    )  # fmt: skip
    count = int(device.read_words(before[blocks:])[0])
    pairs, changed = device.empty(count, np.uint64), device.empty(count, np.uint32)
    device.launch(
        _SOURCE, "list_folded", blocks if count else 0, _LIST_THREADS, folded, edges, bits, before,
        pairs, changed,
    )  # fmt: skip
    return pairs, changed


def look_ups_of_recount(adjacencies: Adjacencies, triangles: int) -> float:
    """Look-ups in the time that a recount takes."""
    entry, triangle = _LOOK_UPS_DIRECTED if adjacencies.directed else _LOOK_UPS
    return entry * adjacencies.out.num_entries + triangle * triangles


def _rows_of_both(adjacencies: Adjacencies) -> Array:
    assert adjacencies.into is not None
    return both_ways(adjacencies.out, adjacencies.into)


def count_pairs(
    workspace: Workspace,
    adjacencies: Adjacencies,
    pairs: Pairs | DirectedPairs,
    kept: Kept,
    sign: int,
) -> None:
    """Add to ``kept`` what the edges make, or (``sign`` -1) take away what they break."""
    device = workspace.device
    if isinstance(pairs, Pairs):
        _count_undirected(device, adjacencies.out, pairs, kept.triangles, sign)
        return
    of_pairs, weights = pairs
    count = int(of_pairs.keys.size)
    device.launch(
        _SOURCE, "count_neighbors", blocks_for(count), THREADS, of_pairs.keys, weights,
        np.int64(count), np.int64(sign), kept.degree, kept.both_ways,
    )  # fmt: skip
    device.launch(
        _SOURCE, "count_common_directed", of_pairs.blocks, THREADS, *of_pairs.listed,
        weights, _rows_of_both(adjacencies), np.int64(kept.both_ways is not None), np.int64(sign),
        kept.triangles, kept.links,
    )  # fmt: skip


def _count_undirected(
    device: Device, rows: Rows, pairs: Pairs, triangles: Array, sign: int
) -> None:
    keys, starts, count = pairs.listed
    numbers = hub_pairs = changed = None
    changed_bits, blocks = 0, pairs.blocks
    # Hubs are found by arrays of all vertices.
    if pairs.work >= max(MOST_SEARCHES, rows.count):
        numbers, starts, hub_pairs, changed, changed_bits = count_hub_pairs(
            device, rows, pairs, triangles, sign
        )
        # How much is left is known on the device alone.
        blocks = min(blocks, _BLOCKS * device.multiprocessors)
    device.launch(
        _SOURCE, "count_common", blocks, THREADS, keys, starts, count, numbers, hub_pairs,
        one_way(rows), changed, np.int64(changed_bits), np.int64(sign), triangles,
    )  # fmt: skip


def resized(workspace: Workspace, counts: Array, count: int) -> Array:
    """Copy counts, with zeros for vertices that there were not."""
    copied = workspace.device.empty(count, counts.dtype)
    copied[: counts.size] = counts
    if counts.size < count:
        copied[counts.size :] = 0
    return copied


def counts_of(workspace: Workspace, rows: Rows, kept: Kept) -> DeviceCounts:
    """Counts as `triangles.count_triangles` returns them."""
    degree = rows.degree if kept.degree is None else kept.degree
    return DeviceCounts(degree, kept.triangles, kept.links, kept.both_ways)


def from_host(workspace: Workspace, counts: Kept) -> Kept:
    """Counts of a checkpoint as they are kept here."""
    types = Kept(np.uint64, np.uint64, np.uint32, np.uint32)
    return Kept(
        *(
            None if array is None else workspace.device.to_device(np.array(array, each))
            for array, each in zip(counts, types, strict=True)
        )
    )


def to_host(workspace: Workspace, counts: Array) -> npt.NDArray[np.int64]:
    """int64[vertex_count]: a copy for a checkpoint."""
    return workspace.device.to_host(counts).astype(np.int64)


def total(workspace: Workspace, triangles: Array) -> int:
    """Triangles of the graph."""
    device = workspace.device
    return int(device.read_words(triangles.sum(keepdims=True))[0]) // 3
