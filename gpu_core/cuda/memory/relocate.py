"""Move every adjacency into another image: compaction and growth on the device.

Kernels: ``relocate.cu``. Host twin: `host/memory/relocate.py`; every run is placed on the same page
as there.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...image.fields import CLASSES, Shape
from ...image.view import PlacedRows
from ..device.compile import shape_argument
from ..device.device import Array, Device
from ..grid import THREADS, blocks_for

Int64s = npt.NDArray[np.int64]

_SOURCE = "relocate.cu"
#: Ranges of vertices that are counted by themselves.
_MOST_TILES = 1024


def count_runs(device: Device, image: Array, shape: Shape, *, tight: bool) -> Int64s:
    """int64[CLASSES]: runs that the adjacencies of one direction take, by size class."""
    if shape.vertex_count == 0:
        return np.zeros(CLASSES, np.int64)
    counts: Int64s = device.read_words(_rank_tiles(device, image, shape, tight=tight).counts)
    return counts


def move_runs(
    device: Device,
    old: PlacedRows,
    new: PlacedRows,
    runs: Int64s,
    following: Int64s,
    *,
    tight: bool,
) -> None:
    """Copy each run of a direction to page ``following[class]``, which moves on, and enter it.

    Parameters
    ----------
    old, new
        Where the rows are, of a graph with a vertex record, and the image that they go to; vertex
        records are copied already.
    runs
        int64[CLASSES]: the runs, as `count_runs` says.
    following
        int64[CLASSES], in host memory.
    tight
        As for the counts: whether runs are the smallest that hold their rows, or of the size that
        they had.
    """
    images = (old.image, shape_argument(old.shape), new.image, shape_argument(new.shape))
    begin = device.to_device(following)
    tiles = _rank_tiles(device, *old, tight=tight)
    device.launch(
        _SOURCE, "place_runs", tiles.number, THREADS, *images, np.int64(tight),
        np.int64(tiles.vertices), tiles.ranks, begin,
    )  # fmt: skip
    arguments = (*images, begin, device.to_device(runs))
    pages = int((runs << np.arange(CLASSES)).sum())
    pairs = pages * old.shape.page_words // 2
    device.launch(_SOURCE, "copy_runs", _blocks(pairs), THREADS, *arguments)
    device.launch(_SOURCE, "copy_first_words", _blocks(int(runs.sum())), THREADS, *arguments)
    following += runs << np.arange(CLASSES)


def move_pages(device: Device, old: PlacedRows, new: PlacedRows, following: Int64s) -> None:
    """As `move_runs`, of a layout of pages: page by page to ``following[0]``, and linked again."""
    tiles = _rank_tiles(device, *old, tight=False)
    device.launch(
        _SOURCE, "move_pages", tiles.number, THREADS, old.image, shape_argument(old.shape),
        new.image, shape_argument(new.shape), np.int64(tiles.vertices), tiles.ranks,
        np.int64(following[0]),
    )  # fmt: skip
    following[0] += int(device.read_words(tiles.counts)[0])


class _RankedTiles(NamedTuple):
    """Ranges of vertices of one direction, and the runs that their rows take."""

    number: int
    #: Vertices of each, but for the last one.
    vertices: int
    #: int64[CLASSES], on the device: runs by size class.
    counts: Array
    #: uint32[CLASSES * number], on the device: runs before each tile, by class and tile.
    ranks: Array


def _rank_tiles(device: Device, image: Array, shape: Shape, *, tight: bool) -> _RankedTiles:
    """Count the runs of each tile, and add up those of the tiles before it."""
    vertices = -(-shape.vertex_count // _MOST_TILES)
    vertices = blocks_for(vertices) * THREADS
    tiles = -(-shape.vertex_count // vertices)
    ranks = device.empty(CLASSES * tiles, np.uint32)
    counts = device.empty(CLASSES, np.int64)
    device.launch(
        _SOURCE, "count_runs", tiles, THREADS, image, shape_argument(shape), np.int64(tight),
        np.int64(vertices), ranks,
    )  # fmt: skip
    device.launch(_SOURCE, "rank_tiles", 1, 32 * CLASSES, np.int64(tiles), ranks, counts)
    return _RankedTiles(tiles, vertices, counts, ranks)


def _blocks(threads: int) -> int:
    """Blocks for ``threads`` threads, where more than that loop."""
    return min(blocks_for(threads), 1 << 16)
