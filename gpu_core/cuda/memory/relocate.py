"""Move every adjacency into another image: compaction and growth on the device.

Kernels: ``relocate.cu``. Host twin: `host/memory/relocate.py`; every run is placed on the same page
as there.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ...image.fields import CLASSES, Shape
from ..device.compile import shape_argument
from ..device.device import Device
from ..grid import THREADS, blocks_for

Int64s = npt.NDArray[np.int64]

_SOURCE = "relocate.cu"
#: Ranges of vertices that are counted by themselves.
_MOST_TILES = 1024


def count_runs(device: "Device", image: Any, shape: Shape, *, tight: bool) -> Int64s:
    """int64[CLASSES]: runs that the adjacencies of one direction take, by size class."""
    if shape.vertex_count == 0:
        return np.zeros(CLASSES, np.int64)
    counts: Int64s = device.read_words(_rank_tiles(device, image, shape, tight=tight)[2])
    return counts


def move_runs(
    device: "Device",
    old: Any,
    old_shapes: dict[str, Shape],
    new: Any,
    new_shapes: dict[str, Shape],
    counts: list[Int64s],
    following: Int64s,
    *,
    tight: bool,
) -> None:
    """Copy each run to page ``following[class]``, which moves on, and enter it in the record.

    Parameters
    ----------
    old, new
        The images; vertex records are copied already.
    old_shapes, new_shapes
        By direction.
    counts
        int64[CLASSES] for each direction: its runs, as `count_runs` says.
    following
        int64[CLASSES], in host memory.
    tight
        As for the counts: whether runs are the smallest that hold their rows, or of the size that
        they had.
    """
    for (direction, shape), runs in zip(old_shapes.items(), counts, strict=True):
        if shape.vertex_count == 0:
            continue
        images = (old, shape_argument(shape), new, shape_argument(new_shapes[direction]))
        begin = device.to_device(following)
        tiles, vertices, _, ranks = _rank_tiles(device, old, shape, tight=tight)
        device.launch(
            _SOURCE, "place_runs", tiles, THREADS, *images, np.int64(tight), np.int64(vertices),
            ranks, begin,
        )  # fmt: skip
        arguments = (*images, begin, device.to_device(runs))
        pages = int((runs << np.arange(CLASSES)).sum())
        pairs = pages * shape.page_words // 2
        device.launch(_SOURCE, "copy_runs", _blocks(pairs), THREADS, *arguments)
        device.launch(_SOURCE, "copy_first_words", _blocks(int(runs.sum())), THREADS, *arguments)
        following += runs << np.arange(CLASSES)


def move_pages(
    device: "Device",
    old: Any,
    old_shapes: dict[str, Shape],
    new: Any,
    new_shapes: dict[str, Shape],
    following: Int64s,
) -> None:
    """As `move_runs`, of a layout of pages: page by page to ``following[0]``, and linked again."""
    for direction, shape in old_shapes.items():
        if shape.vertex_count == 0:
            continue
        tiles, vertices, counts, ranks = _rank_tiles(device, old, shape, tight=False)
        device.launch(
            _SOURCE, "move_pages", tiles, THREADS, old, shape_argument(shape), new,
            shape_argument(new_shapes[direction]), np.int64(vertices), ranks,
            np.int64(following[0]),
        )  # fmt: skip
        following[0] += int(device.read_words(counts)[0])


def _rank_tiles(
    device: "Device", image: Any, shape: Shape, *, tight: bool
) -> tuple[int, int, Any, Any]:
    """Tiles, vertices of a tile, runs by class, and in the tiles before each by class and tile."""
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
    return tiles, vertices, counts, ranks


def _blocks(threads: int) -> int:
    """Blocks for ``threads`` threads, where more than that loop."""
    return min(blocks_for(threads), 1 << 16)
