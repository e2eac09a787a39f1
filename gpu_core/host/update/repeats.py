"""Combined weights of edges that a batch inserts again (``on_repeat``), computed beforehand.

Part of   the apply path: map_ids -> **repeats** -> deltas -> plan -> arena -> commit, for graphs of
          another rule than ``on_repeat="last"``
CUDA twin ``cuda/update/assisted/repeats.py``

What the rules are, and what they come to: ``batch/net_effect/repeats.py``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...batch.net_effect.repeats import combined_weights
from ...batch.update_batch import UpdateBatch
from ..queries.host_graph import HostGraph
from .map_ids import Mapped


def with_combined_weights(engine: HostGraph, mapped: Mapped, batch: UpdateBatch) -> UpdateBatch:
    """The batch with the weights that its edges have once it is applied; changes nothing else."""
    sources = np.repeat(mapped.put_rows, np.diff(batch.put_indptr))
    there, old = engine.edge_property("weight", sources, mapped.put_columns)
    assert batch.put_weight is not None
    assert batch.put_reset is not None
    weight = combined_weights(
        batch.on_repeat, there, old, batch.put_reset, batch.put_weight,
        batch.repeat_puts, batch.repeat_weight,
    )  # fmt: skip
    return replace(batch, put_weight=weight)
