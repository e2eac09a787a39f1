"""Betweenness centrality in CUDA (Brandes): searches from many sources run level by level together.

How paths are counted, and in which order sums are taken: ``betweenness_centrality.cu``; how
launches are started that do the stages of a batch of sources: `frontier.py`.

Rows are read where they are (`rows.Rows`), those of in-neighbors that are not stored in a copy.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from ....rows import Adjacencies
from ...device.declarations import constant, structure, word_of, words_of
from ...device.device import Array
from ...device.packed_arguments import address
from ...memory.workspace import Workspace
from ..parts.compact_rows import THREADS, blocks_for, bytes_of, in_rows, in_rows_bytes
from ..parts.frontier import Groups

_SOURCE: Final = "betweenness_centrality.cu"

_UNREACHED: Final = np.uint32(constant(_SOURCE, "UNREACHED"))
_SEARCH: Final = structure(_SOURCE, "Search")
_BATCH: Final = structure(_SOURCE, "Batch")

#: Positions of a batch, of 32 bytes each: sources are as many as fit, at least one.
MOST_VERTICES = 1 << 26
#: Rows of a stage that is a small one: 32 for each warp of the launch on an H200.
SMALL_ROWS = 2048
_GROUPS: Final = Groups(first=2, most=16, large_levels=8, large_blocks=8, small_threads=THREADS)


def centrality(
    workspace: Workspace,
    adjacencies: Adjacencies,
    sources: npt.NDArray[np.uint32],
    *,
    endpoints: bool,
    scale: float,
    scale_of_sources: float,
) -> Array:
    """float64[vertex_count] on the device: betweenness by vertex index.

    Waits for all searches but the last.

    Parameters
    ----------
    adjacencies
        Rows of out-neighbors, and of in-neighbors where they are stored.
    sources
        uint32[k] in host memory, indices of different vertices.
    endpoints
        Whether the ends of a path are on it.
    scale, scale_of_sources
        What sums are multiplied by, of vertices and of sources.
    """
    device, out, count = workspace.device, adjacencies.out, adjacencies.out.count
    total = device.empty(count, np.float64)
    total.fill(0)
    if not sources.size:
        return total
    batch = min(sources.size, max(1, MOST_VERTICES // count))
    positions = batch * count
    need = bytes_of(
        (words_of(_SEARCH) + count + 1, np.uint64), (3 * positions, np.float64),
        (2 * positions + batch, np.uint32), (count, np.bool_),
    )  # fmt: skip
    with workspace.scratch(need + in_rows_bytes(device, adjacencies)) as scratch:
        into = in_rows(device, scratch, adjacencies)
        search = scratch.take(words_of(_SEARCH), np.uint64)
        levels = scratch.take(count + 1, np.uint64)
        of_positions = [scratch.take(positions, np.float64) for _ in range(3)]
        listed, distance = (scratch.take(positions, np.uint32) for _ in range(2))
        reached = scratch.take(batch, np.uint32)
        arrays = search, listed, levels, distance, *of_positions, reached
        given = np.array((*map(address, arrays), count), dtype=_BATCH)
        read = *out.walked, *into.walked, given
        small, large = ("small_batch_stages", *read, np.uint64(SMALL_ROWS)), ("batch_stage", *read)
        for first in range(0, sources.size, batch):
            some = device.to_device(sources[first : first + batch])
            number = np.uint64(some.size)
            search.fill(0)
            reached.fill(0)
            distance.fill(_UNREACHED)
            device.launch(
                _SOURCE, "begin_batch", blocks_for(some.size), THREADS, some, number, given
            )
            _GROUPS.start(device, _SOURCE, small, large, search, word_of(_SEARCH, "size"))
            device.launch(
                _SOURCE, "add_batch", blocks_for(count), THREADS, some, number, given,
                np.uint32(endpoints), total,
            )  # fmt: skip
        is_source = scratch.take(count, np.bool_)
        is_source.fill(False)
        is_source[device.to_device(sources)] = True
        device.launch(
            _SOURCE, "scale_sums", blocks_for(count), THREADS, is_source, np.uint64(count),
            np.float64(scale), np.float64(scale_of_sources), total,
        )  # fmt: skip
    return total
