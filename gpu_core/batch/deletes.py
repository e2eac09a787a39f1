"""Batches that delete edges which the engine has found."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..id_kinds import form_of
from ..kind import RowMeaning
from .update_batch import UpdateBatch


def deleting_batch(
    meaning: RowMeaning, sources: npt.NDArray[np.int64], targets: npt.NDArray[np.int64]
) -> UpdateBatch:
    """Make the batch that deletes edges, each named once.

    Parameters
    ----------
    meaning
        What rows mean to the graph.
    sources, targets
        int64[m], as the engine knows them: keys, of ids that are no int64.
    """
    # No time of a delete is kept.
    ts = np.broadcast_to(np.int64(0), targets.shape) if meaning.record.has_times else None
    batch = UpdateBatch.of_rows(
        np.full(targets.size, -1, np.int8), sources, targets, replace(meaning, ids="any"), ts=ts
    )
    return batch if form_of(meaning.ids) in ("any", "dense") else replace(batch, ids=meaning.ids)
