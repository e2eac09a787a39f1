"""The batch that deletes expired edges, built on the device."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...batch.raw_rows import RawRows
from ..queries.expired import expired_edges
from ..queries.vertex_order import id_table
from ..update.batch import DeviceBatch
from ..update.state import UpdatableGraph
from .raw_edges import begin_edges


def expired_batch(graph: UpdatableGraph, until: int) -> DeviceBatch:
    """Make the batch that deletes all edges whose last time is ``until`` or before.

    Parameters
    ----------
    graph
        A graph with times, whose lock is held.
    until
        In the graph's unit of time.
    """
    device, kind = graph.device, graph.kind
    sources, targets = expired_edges(device, graph.arena, until, directed=kind.directed)
    if not kind.dense_ids:
        ids = id_table(graph.arena)
        sources, targets = ids[sources], ids[targets]
    xp, count = device.xp, int(sources.size)
    # A delete has no time; the rows of a graph with times have a column of them.
    columns = {"src": sources, "dst": targets, "op": xp.full(count, -1, np.int8)}
    columns["ts"] = xp.zeros(count, np.int64)
    batch = begin_edges(device, RawRows(columns, None, kind, kind.dense_ids)).batch()
    return replace(batch, on_repeat=kind.on_repeat)
