"""Common neighbors of pairs of vertices, by binary search in tiles of equal size.

The shorter row of each pair is read, and each of its entries looked for in the longer one by binary
search. The entries of all shorter rows, put end to end, are cut into tiles of a block: a pair of
hubs is spread over many. Kernels: ``pairs.cu``, and those that have ``pairs.cuh``.

The host waits once, for the number of look-ups.
"""

from typing import Final, NamedTuple

import numpy as np

from ....rows import Rows
from ...device.declarations import constant
from ...device.device import Array
from ...grid import THREADS, blocks_for
from ...memory.scratch import PoolScratch
from ...memory.workspace import Workspace
from .compact_rows import measure_rows

_SOURCE: Final = "pairs.cu"

_PAIR_ENTRIES: Final = constant("pairs.cuh", "PAIR_ENTRIES")


class Pairs(NamedTuple):
    """Pairs of vertices whose common neighbors are to be found."""

    #: uint64[k], k >= 1: one vertex above 32 bits, the other below; of edges as of
    #: `gpu_core/changes.py`.
    keys: Array
    #: int64[k + 1]: entries of the shorter rows before each pair.
    starts: Array
    #: Entries that are looked up: the last of ``starts``.
    work: int

    @property
    def blocks(self) -> int:
        """Blocks of a launch over all entries."""
        return blocks_for(self.work, _PAIR_ENTRIES)

    @property
    def listed(self) -> tuple[Array, Array, np.int64]:
        """Arguments of such a kernel."""
        return self.keys, self.starts, np.int64(self.keys.size)


def pairs_of(workspace: Workspace, rows: Rows, keys: Array) -> Pairs:
    """Measure the work of some pairs. Waits."""
    device, count = workspace.device, int(keys.size)
    lengths = device.empty(count, np.uint32)
    device.launch(
        _SOURCE, "shorter_lengths", blocks_for(count), THREADS, keys, np.int64(count),
        rows.degree, lengths,
    )  # fmt: skip
    return pairs_of_lengths(workspace, keys, lengths)


def pairs_of_lengths(workspace: Workspace, keys: Array, lengths: Array) -> Pairs:
    """Put the work of pairs end to end; ``lengths`` (uint32[k]) are of the shorter rows. Waits."""
    device = workspace.device
    starts = measure_rows(device, PoolScratch(device), lengths)
    return Pairs(keys, starts, int(device.read_words(starts[keys.size :])[0]))
