"""Edges whose last time is a given one or earlier, found by a scan of all entries.

Kernel: ``expired.cu``. Host twin: ``host/queries/expired.py``, which knows rows that it need not
read; here all are read at the speed of the device's memory, 8 bytes an edge.
"""

from typing import Final

import numpy as np

from ...image.fields import Field
from ...image.view import ImageView
from ..analytics.parts.compact_rows import measure_rows
from ..device.compile import shape_argument
from ..device.declarations import constant
from ..device.device import Array, Device
from ..grid import THREADS, blocks_for
from ..memory.scratch import PoolScratch
from .paged_rows import list_pages
from .rows import locate

_SOURCE: Final = "expired.cu"
_TILE: Final = constant(_SOURCE, "TILE")

#: Entries for each that is expected to have expired; if more have, the scan is made again.
_SHARE: Final = 32
_LEAST_ROOM: Final = 1 << 12


def expired_edges(
    device: Device, arena: ImageView, until: int, *, directed: bool
) -> tuple[Array, Array]:
    """Find the edges whose last time is ``until`` or before; waits for the device.

    Parameters
    ----------
    arena
        An image of entries with times.
    until
        In the unit of those times.
    directed
        Else each edge has two entries, of which that in the row of its lower index is listed.

    Returns
    -------
    sources, targets
        uint32[m] each, on the device: vertex indices, in no order.
    """
    rows, entries = arena[Field.VERTEX_COUNT], arena.num_entries
    if entries == 0:
        nothing = device.empty(0, np.uint32)
        return nothing, nothing
    indptr = measure_rows(
        device, PoolScratch(device), locate(device, arena, "out", None, rows, None).degree
    )
    page_at = pages = None
    if arena.layout.is_paged:
        page_at, pages = list_pages(device, arena, "out", None, indptr, entries)
    room = max(entries // _SHARE, _LEAST_ROOM)
    while True:
        sources, targets = device.empty(room, np.uint32), device.empty(room, np.uint32)
        count = device.xp.zeros(1, np.int64)
        device.launch(
            _SOURCE, "list_expired", blocks_for(entries, _TILE), THREADS, arena.image,
            shape_argument(arena.shape("out")), indptr, np.int64(rows), np.int64(entries), page_at,
            pages, np.int64(until), np.int64(directed), np.int64(room), sources, targets, count,
        )  # fmt: skip
        found = int(device.read_words(count)[0])
        if found <= room:
            return sources[:found], targets[:found]
        room = found
