"""Combined weights of edges that a batch inserts again (``on_repeat``), computed beforehand.

Part of   the apply path, before all else: **repeats** -> map ids -> deltas -> plan -> … -> commit,
          for graphs of another rule than ``on_repeat="last"``
Kernel    ``repeats.cu``
Twin      ``host/update/repeats.py``: the same bits for the same batch and graph

The rules, and their result: ``batch/net_effect/repeats.py``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ....batch.update_batch import UpdateBatch
from ....records import OnRepeat
from ...grid import THREADS, blocks_for
from ...queries.queries import find_entries
from ..batch import DeviceBatch, upload
from ..state import UpdatableGraph
from .map_ids import check_fits, look_up_ids


def with_combined_weights(graph: UpdatableGraph, batch: UpdateBatch | DeviceBatch) -> DeviceBatch:
    """The batch, on the device, with the weights that its edges have once it is applied.

    Raises
    ------
    BatchError
        The batch has ids of the other kind, or the graph would have too many vertex records.
    """
    device = graph.device
    if isinstance(batch, UpdateBatch):
        batch = upload(graph.staging, batch, dense=graph.kind.dense_ids)
    check_fits(graph, batch)
    puts = batch.put_indices.size
    if puts == 0:
        return batch
    mapped = look_up_ids(graph, batch)
    sources = mapped.put_rows[mapped.put_entry_rows]
    words = graph.record.words_of("weight")
    positions = [find_entries(graph, sources, mapped.put_columns, word=word) for word in words]
    weight = device.empty(puts * len(words), np.uint32)
    repeats = 0 if batch.repeat_puts is None else batch.repeat_puts.size
    device.launch(
        "repeats.cu", "combine_weights", blocks_for(puts), THREADS, graph.image,
        positions[0], positions[1] if len(words) > 1 else None, batch.put_reset, batch.put_weight,
        batch.repeat_puts, batch.repeat_weight, np.int64(repeats), np.int64(puts),
        np.int64(OnRepeat[batch.on_repeat.upper()]), weight,
    )  # fmt: skip
    combined = weight.view(np.dtype(graph.record.weights))
    return replace(batch, data={**batch.data, "put_weight": combined})
