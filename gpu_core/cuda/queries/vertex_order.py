"""The vertices of a graph in increasing order of users' ids, found on the device.

Kernels: ``vertex_order.cu``. How many vertices there are is known, so of dense ids nothing is read
back and nothing waits.

Not here: the order in host memory, for exports (`engine.Engine.sorted_order`).
"""

from typing import Final

import numpy as np

from ...image.fields import Field, ImageTable
from ...image.view import ImageView
from ..device.compile import shape_argument
from ..device.declarations import constant
from ..device.device import Array, Device
from ..device.flags import all_set
from ..device.stream_words import ticket_of

_SOURCE: Final = "vertex_order.cu"

_THREADS: Final = constant(_SOURCE, "LIST_THREADS")
LISTED: Final = constant(_SOURCE, "LISTED")


def order_by_id(device: Device, arena: ImageView) -> Array | None:
    """Indices of the vertices, in increasing order of users' ids.

    Returns
    -------
    order : uint32[num_vertices] on the device, or None
        None where that is 0, 1, 2 …: nothing need be put in order.
    """
    xp, count = device.xp, arena[Field.VERTEX_COUNT]
    with device.errors_named("putting vertices in order"):
        indices: Array | None = None
        if arena[Field.NUM_VERTICES] < count:
            indices = _present(device, arena)
        if arena[Field.DENSE_IDS]:
            return indices
        ids = id_table(arena) if indices is None else id_table(arena)[indices]
        if all_set(ids[:-1] < ids[1:]):
            return indices
        order = xp.argsort(ids).astype(np.uint32)
        return order if indices is None else indices[order]


def _present(device: Device, arena: ImageView) -> Array:
    """uint32[num_vertices]: indices of the vertices that are in the graph, increasing."""
    count = np.int64(arena[Field.VERTEX_COUNT])
    order = device.empty(arena[Field.NUM_VERTICES], np.uint32)
    blocks = -(-int(count) // LISTED)
    words, before = device.empty(blocks * (LISTED // 32), np.uint32), device.empty(blocks, np.int64)
    device.launch(
        _SOURCE, "count_present", blocks, _THREADS, arena.image,
        shape_argument(arena.shape("out")), count, words, before, ticket_of(device),
    )  # fmt: skip
    device.launch(_SOURCE, "list_present", blocks, _THREADS, words, before, count, order)
    return order


def ids_in_order(device: Device, arena: ImageView, order: Array | None) -> Array | None:
    """int64[num_vertices], users' ids in increasing order; a new array on the device.

    None where these are 0, 1, 2 …: most callers do without the array.

    Parameters
    ----------
    order
        Of `order_by_id`, for the graph as it is.
    """
    with device.errors_named("putting vertices in order"):
        if arena[Field.DENSE_IDS]:
            return None if order is None else order.astype(np.int64)
        return id_table(arena).copy() if order is None else id_table(arena)[order]


def id_table(arena: ImageView) -> Array:
    """int64[vertex_count] on the device: the image's table of users' ids."""
    return arena.table(ImageTable.VERTEX_IDS).view(np.int64)[: arena[Field.VERTEX_COUNT]]
