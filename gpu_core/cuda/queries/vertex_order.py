"""The vertices of a graph in increasing order of users' ids, found on the device.

Not here: the order in host memory, for exports (`engine.Engine.sorted_order`).
"""

import numpy as np

from ...image.fields import PRESENT_BIT, STATE_WORD, Field, Table
from ...image.view import ImageView
from ..device.device import Array, Device
from ..device.flags import all_set


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
            states = arena.vertex_table()[:, STATE_WORD]
            indices = xp.flatnonzero(states & np.uint32(PRESENT_BIT)).astype(np.uint32)
        if arena[Field.DENSE_IDS]:
            return indices
        ids = id_table(arena) if indices is None else id_table(arena)[indices]
        if all_set(ids[:-1] < ids[1:]):
            return indices
        order = xp.argsort(ids).astype(np.uint32)
        return order if indices is None else indices[order]


def ids_in_order(device: Device, arena: ImageView, order: Array | None) -> Array:
    """int64[num_vertices], users' ids in increasing order; a new array on the device.

    Parameters
    ----------
    order
        Of `order_by_id`, for the graph as it is.
    """
    xp = device.xp
    with device.errors_named("putting vertices in order"):
        if arena[Field.DENSE_IDS]:
            if order is None:
                return xp.arange(arena[Field.VERTEX_COUNT], dtype=np.int64)
            return order.astype(np.int64)
        return id_table(arena).copy() if order is None else id_table(arena)[order]


def id_table(arena: ImageView) -> Array:
    """int64[vertex_count] on the device: the image's table of users' ids."""
    return arena.table(Table.VERTEX_IDS).view(np.int64)[: arena[Field.VERTEX_COUNT]]
