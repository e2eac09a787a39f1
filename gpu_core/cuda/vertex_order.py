"""The vertices of a graph in increasing order of users' ids, found on the device.

Not here: the order in host memory, for exports (`engine.CudaEngine.sorted_order`).
"""

from typing import TYPE_CHECKING

import numpy as np

from ..image import PRESENT_BIT, STATE_WORD, Field, Table
from .device import Array

if TYPE_CHECKING:
    from .engine import CudaEngine


def order_by_id(engine: "CudaEngine") -> Array | None:
    """Indices of the vertices, in increasing order of users' ids.

    Returns
    -------
    order : uint32[num_vertices] on the device, or None
        None where that is 0, 1, 2 …: nothing need be put in order.
    """
    xp, count = engine.device.xp, engine.vertex_count
    with engine.device.errors_named("putting vertices in order"):
        indices: Array | None = None
        if engine.num_vertices < count:
            states = engine.arena.vertex_table()[:, STATE_WORD]
            indices = xp.flatnonzero(states & np.uint32(PRESENT_BIT)).astype(np.uint32)
        if engine.arena[Field.DENSE_IDS]:
            return indices
        ids = id_table(engine) if indices is None else id_table(engine)[indices]
        if bool((ids[:-1] < ids[1:]).all()):
            return indices
        order = xp.argsort(ids).astype(np.uint32)
        return order if indices is None else indices[order]


def ids_in_order(engine: "CudaEngine", order: Array | None) -> Array:
    """int64[num_vertices], users' ids in increasing order; a new array on the device.

    Parameters
    ----------
    order
        Of `order_by_id`, for the graph as it is.
    """
    xp = engine.device.xp
    with engine.device.errors_named("putting vertices in order"):
        if engine.arena[Field.DENSE_IDS]:
            if order is None:
                return xp.arange(engine.vertex_count, dtype=np.int64)
            return order.astype(np.int64)
        return id_table(engine).copy() if order is None else id_table(engine)[order]


def id_table(engine: "CudaEngine") -> Array:
    """int64[vertex_count] on the device: the image's table of users' ids."""
    return engine.arena.table(Table.VERTEX_IDS).view(np.int64)[: engine.vertex_count]
